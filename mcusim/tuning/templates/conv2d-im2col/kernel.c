/* CONV_2D by im2col: the patches of COLUMNS pixels are laid out in scratch, bytes outside of the image as the zero point,
   then TILE_C channels at a time meet them all. As halves (HALVES) the input offset is added once a column. */
#include <kernels.h>

enum { TAPS = KERNEL_H * KERNEL_W * IN_C, PITCH = TAPS + 4, BLOCK_ROWS = COLUMNS };
#if HALVES
typedef int16_t value;
#define VALUE_HALVES
#else
typedef int8_t value;
#endif
typedef int8_t weight;
#include <matrix_block.h>

INLINE void channels(const struct conv_call *c, const int8_t *filter, const value *in, int32_t columns, int8_t *out) {
    for (int32_t channel = 0; channel < OUT_C; channel += TILE_C)
        block(c, in, filter + channel * TAPS, columns, channel, out);
}

static __attribute__((noinline)) void one_column(const struct conv_call *c, const int8_t *filter, const value *in,
                                                 int8_t *out) {
    channels(c, filter, in, 1, out);
}

INLINE void filled(int8_t *to, int32_t count, int8_t byte) {
    while (count-- > 0) *to++ = byte;
}

/* The patch whose upper left corner is at (top, left), as bytes. */
static __attribute__((noinline)) void patch(const struct conv_call *c, const int8_t *input, int32_t top, int32_t left,
                                            int8_t *to) {
    const int8_t zero = (int8_t)-c->input_offset;
    for (int32_t y = top; y < top + KERNEL_H * DILATION_H; y += DILATION_H) {
        const int8_t *const row = input + y * IN_W * IN_C;
        if (y < 0 || y >= c->in_h) {
            filled(to, KERNEL_W * IN_C, zero);
            to += KERNEL_W * IN_C;
        } else if (DILATION_W == 1 && left >= 0 && left + KERNEL_W <= IN_W) {
            copied(row + left * IN_C, to, KERNEL_W * IN_C);
            to += KERNEL_W * IN_C;
        } else {
            for (int32_t x = left; x < left + KERNEL_W * DILATION_W; x += DILATION_W, to += IN_C) {
                if (x < 0 || x >= IN_W) filled(to, IN_C, zero);
                else copied(row + x * IN_C, to, IN_C);
            }
        }
    }
}

INLINE void column(const struct conv_call *c, const int8_t *input, int32_t top, int32_t left, value *to) {
#if HALVES
    int8_t *const bytes = (int8_t *)(to + PITCH) - TAPS - 1; /* at the column's end: what is widened is not read again */
    patch(c, input, top, left, bytes);
    widened(bytes, to, TAPS, twice(c->input_offset));
#else
    patch(c, input, top, left, to);
#endif
}

int32_t tuned_conv_im2col(const struct conv_call *c) {
    value *const columns = c->scratch;
    const int8_t *filter = c->filter, *input = c->input;
    int8_t *out = c->output;
#ifdef FILTER_overlay
    int8_t *const held = (int8_t *)(((uintptr_t)(columns + COLUMNS * PITCH) + 7) & ~(uintptr_t)7);
    copied(filter, held, OUT_C * TAPS);
    filter = held;
#endif
    int32_t filling = 0;
    for (int32_t i = 0; i < c->batch; i++, input += c->in_h * IN_W * IN_C) {
        for (int32_t y = 0; y < c->out_h; y++) {
            for (int32_t x = 0; x < OUT_W; x++) {
                column(c, input, y * STRIDE_H - c->pad_top, x * STRIDE_W - PAD_LEFT, columns + filling * PITCH);
                if (++filling == COLUMNS) {
                    channels(c, filter, columns, COLUMNS, out);
                    out += COLUMNS * OUT_C, filling = 0;
                }
            }
        }
    }
    for (int32_t i = 0; i < filling; i++) one_column(c, filter, columns + i * PITCH, out + i * OUT_C);
    return 0;
}

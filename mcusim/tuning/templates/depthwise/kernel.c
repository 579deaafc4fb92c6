/* DEPTHWISE_CONV_2D with one filter a channel: TILE_X pixels of a row times WIDTH channels are summed in registers, tap by
   tap. Four channels are a word; its even and odd bytes meet those of the filter by SMLABB and SMLATT. Rows of the call
   (in_h, out_h, pad_top) are read from it; pixels whose filter hangs over an edge are computed one by one. */
#include <tuned.h>

enum { STEP = STRIDE_W * IN_C, IN_ROW = IN_W * IN_C, ROW = KERNEL_W * IN_C };
enum { FIRST = (PAD_LEFT + STRIDE_W - 1) / STRIDE_W, WHOLE = IN_W + PAD_LEFT - KERNEL_W };
enum { FITTING = WHOLE < 0 ? 0 : WHOLE / STRIDE_W + 1, LAST = FITTING < OUT_W ? FITTING : OUT_W };
enum { FOURS = WIDTH == 4 ? IN_C / 4 * 4 : 0 }; /* channels from there on are computed one by one */

#ifdef FILTER_halves
typedef int16_t weight; /* of each tap fours of channels: even ones, odd ones; then the rest */
#else
typedef int8_t weight;
#endif

struct place { const int8_t *input; const weight *filter; };

#if WIDTH == 4
INLINE void four(struct place at, int32_t rows, int32_t columns, int32_t pixels, int32_t offset, int32_t sum[TILE_X][4]) {
    const uint32_t pair = twice(offset);
    REPEATED(ROWS)
    for (; rows; rows--, at.input += IN_ROW, at.filter += ROW) {
        const int8_t *in = at.input;
        const weight *w = at.filter;
        REPEATED(UNROLL)
        for (int32_t n = columns; n; n--, in += IN_C, w += IN_C) {
#ifdef FILTER_halves
            const uint32_t even_w = word(w), odd_w = word(w + 2);
#else
            const uint32_t y = word(w), even_w = even_bytes(y), odd_w = odd_bytes(y);
#endif
            REPEATED(4)
            for (int32_t i = 0; i < pixels; i++) {
                const uint32_t x = word(in + i * STEP), even = even_bytes_and(x, pair), odd = odd_bytes_and(x, pair);
                sum[i][0] = smlabb(even, even_w, sum[i][0]);
                sum[i][1] = smlabb(odd, odd_w, sum[i][1]);
                sum[i][2] = smlatt(even, even_w, sum[i][2]);
                sum[i][3] = smlatt(odd, odd_w, sum[i][3]);
            }
        }
    }
}
#endif

INLINE void one(struct place at, int32_t rows, int32_t columns, int32_t pixels, int32_t offset, int32_t sum[TILE_X]) {
    REPEATED(ROWS)
    for (; rows; rows--, at.input += IN_ROW, at.filter += ROW) {
        const int8_t *in = at.input;
        const weight *w = at.filter;
        REPEATED(UNROLL)
        for (int32_t n = columns; n; n--, in += IN_C, w += IN_C) {
            REPEATED(4)
            for (int32_t i = 0; i < pixels; i++) sum[i] += (in[i * STEP] + offset) * *w;
        }
    }
}

INLINE int8_t finished(const struct conv_call *c, int32_t sum, int32_t channel) {
    const int32_t result = requantised(sum, c->multiplier[channel], c->shift[channel]) + c->output_offset;
    return (int8_t)clamped(result, c->least, c->most);
}

/* A block from `channel` on, of taps from `at` on, which is of channel 0. */
INLINE void block(const struct conv_call *c, struct place at, int32_t rows, int32_t columns, int32_t pixels,
                  int32_t channel, int8_t *out) {
    const int32_t offset = c->input_offset;
    at.input += channel, at.filter += channel, out += channel;
#if WIDTH == 4
    if (channel < FOURS) {
        int32_t sum[TILE_X][4];
        REPEATED(4)
        for (int32_t j = 0; j < 4; j++) {
            const int32_t start = c->bias ? c->bias[channel + j] : 0;
            REPEATED(4)
            for (int32_t i = 0; i < pixels; i++) sum[i][j] = start;
        }
        four(at, rows, columns, pixels, offset, sum);
        REPEATED(4)
        for (int32_t i = 0; i < pixels; i++)
            REPEATED(4)
            for (int32_t j = 0; j < 4; j++) out[i * OUT_C + j] = finished(c, sum[i][j], channel + j);
        return;
    }
#endif
    int32_t sum[TILE_X];
    REPEATED(4)
    for (int32_t i = 0; i < pixels; i++) sum[i] = c->bias ? c->bias[channel] : 0;
    one(at, rows, columns, pixels, offset, sum);
    REPEATED(4)
    for (int32_t i = 0; i < pixels; i++) out[i * OUT_C] = finished(c, sum[i], channel);
}

struct row { /* of the output */
    const int8_t *input;
    const weight *filter;
    int8_t *output;
    int32_t above, taps; /* rows of the filter that hang over the edge, and those that do not */
};

INLINE void inside(const struct conv_call *c, const struct row *r, int32_t x, int32_t pixels, int32_t channel) {
    const struct place at = {r->input + (x * STRIDE_W - PAD_LEFT) * IN_C, r->filter + r->above * ROW};
    block(c, at, r->taps, KERNEL_W, pixels, channel, r->output + x * OUT_C);
}

static __attribute__((noinline)) void edge(const struct conv_call *c, const struct row *r, int32_t x, int32_t channel) {
    const int32_t left = x * STRIDE_W - PAD_LEFT, begin = left < 0 ? -left : 0;
    const int32_t end = left + KERNEL_W > IN_W ? IN_W - left : KERNEL_W;
    const struct place at = {r->input + (left + begin) * IN_C, r->filter + r->above * ROW + begin * IN_C};
    block(c, at, end > begin ? r->taps : 0, end - begin, 1, channel, r->output + x * OUT_C);
}

INLINE int32_t next(int32_t channel) { return channel < FOURS ? channel + 4 : channel + 1; }

INLINE struct row row_of(const struct conv_call *c, const int8_t *input, const weight *filter, int8_t *output, int32_t y) {
    const int32_t top = y * STRIDE_H - c->pad_top, above = top < 0 ? -top : 0;
    const int32_t end = top + KERNEL_H > c->in_h ? c->in_h - top : KERNEL_H;
    const struct row r = {input + (top + above) * IN_ROW, filter, output + y * OUT_W * OUT_C, above,
                          end > above ? end - above : 0};
    return r;
}

INLINE void pixels_of(const struct conv_call *c, const struct row *r, int32_t channel) {
    int32_t x = 0;
    for (; x < FIRST && x < OUT_W; x++) edge(c, r, x, channel);
    for (; x + TILE_X <= LAST; x += TILE_X) inside(c, r, x, TILE_X, channel);
    for (; x < OUT_W; x++) edge(c, r, x, channel);
}

INLINE void edges(const struct conv_call *c, const struct row *r, int32_t x) {
    for (int32_t channel = 0; channel < OUT_C; channel = next(channel)) edge(c, r, x, channel);
}

static void image(const struct conv_call *c, const int8_t *input, const weight *filter, int8_t *output) {
#ifdef ORDER_c_y_x
    for (int32_t channel = 0; channel < OUT_C; channel = next(channel))
        for (int32_t y = 0; y < c->out_h; y++) {
            const struct row r = row_of(c, input, filter, output, y);
            pixels_of(c, &r, channel);
        }
#else
    for (int32_t y = 0; y < c->out_h; y++) {
        const struct row r = row_of(c, input, filter, output, y);
#ifdef ORDER_y_c_x
        for (int32_t channel = 0; channel < OUT_C; channel = next(channel)) pixels_of(c, &r, channel);
#else
        int32_t x = 0;
        for (; x < FIRST && x < OUT_W; x++) edges(c, &r, x);
        for (; x + TILE_X <= LAST; x += TILE_X)
            for (int32_t channel = 0; channel < OUT_C; channel = next(channel)) inside(c, &r, x, TILE_X, channel);
        for (; x < OUT_W; x++) edges(c, &r, x);
#endif
    }
#endif
}

int32_t tuned_depthwise(const struct conv_call *c) {
    const weight *filter = c->filter;
#ifdef FILTER_halves
    for (int32_t n = 0; n < KERNEL_H * KERNEL_W; n++)
        widened((const int8_t *)c->filter + n * IN_C, (int16_t *)c->scratch + n * IN_C, IN_C, 0);
    filter = c->scratch;
#elif defined(FILTER_overlay)
    copied(c->filter, c->scratch, KERNEL_H * KERNEL_W * IN_C);
    filter = c->scratch;
#endif
    for (int32_t i = 0; i < c->batch; i++)
        image(c, (const int8_t *)c->input + i * c->in_h * IN_ROW, filter,
              (int8_t *)c->output + i * c->out_h * OUT_W * OUT_C);
    return 0;
}

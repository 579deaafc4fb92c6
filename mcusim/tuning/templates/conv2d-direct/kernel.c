/* CONV_2D without im2col: TILE_X pixels of a row times TILE_C channels are summed in registers, tap by tap of the filter.

   Rows of the call (in_h, out_h, pad_top) are read from it, so that a tile of rows is the same code; all other sizes are
   constants. Pixels whose filter hangs over an edge are computed one by one, with fewer taps. */
#include <tuned.h>

enum { TAPS = KERNEL_H * KERNEL_W * IN_C, ROW = KERNEL_W * IN_C, STEP = STRIDE_W * IN_C, IN_ROW = IN_W * IN_C };
enum { FIRST = (PAD_LEFT + STRIDE_W - 1) / STRIDE_W, WHOLE = IN_W + PAD_LEFT - KERNEL_W };
enum { FITTING = WHOLE < 0 ? 0 : WHOLE / STRIDE_W + 1, LAST = FITTING < OUT_W ? FITTING : OUT_W };
/* pixels from FIRST to below LAST have all columns of the filter */

#ifdef FILTER_halves
typedef int16_t weight; /* two words for four taps: even ones, odd ones */
#else
typedef int8_t weight;
#endif

struct place { const int8_t *input; const weight *filter; }; /* of a block's first tap */

/* `count` taps in a run, into the sums of a block. */
INLINE void run(struct place at, int32_t count, int32_t pixels, int32_t offset, int32_t sum[TILE_X][TILE_C]) {
    const int8_t *in = at.input;
    const weight *w = at.filter;
#if WIDTH == 4
    const uint32_t pair = twice(offset);
    REPEATED(UNROLL)
    for (int32_t n = count >> 2; n; n--, in += 4, w += 4) {
        uint32_t even[TILE_X], odd[TILE_X];
        REPEATED(4)
        for (int32_t i = 0; i < pixels; i++) {
            const uint32_t x = word(in + i * STEP);
            even[i] = even_bytes_and(x, pair), odd[i] = odd_bytes_and(x, pair);
        }
        REPEATED(8)
        for (int32_t j = 0; j < TILE_C; j++) {
#ifdef FILTER_halves
            const uint32_t even_w = word(w + j * TAPS), odd_w = word(w + j * TAPS + 2);
#else
            const uint32_t y = word(w + j * TAPS), even_w = even_bytes(y), odd_w = odd_bytes(y);
#endif
            REPEATED(4)
            for (int32_t i = 0; i < pixels; i++) sum[i][j] = smlad(odd[i], odd_w, smlad(even[i], even_w, sum[i][j]));
        }
    }
    count &= 3;
#endif
    in += count, w += count;
    REPEATED(UNROLL)
    for (int32_t n = -count; n; n++) {
        REPEATED(4)
        for (int32_t i = 0; i < pixels; i++) {
            const int32_t x = in[i * STEP + n] + offset;
            REPEATED(8)
            for (int32_t j = 0; j < TILE_C; j++) sum[i][j] += x * w[j * TAPS + n];
        }
    }
}

/* A block: `rows` x `columns` taps of the filter from `at` on, its outputs at `out`. */
INLINE void block(const struct conv_call *c, struct place at, int32_t rows, int32_t columns, int32_t pixels,
                  int32_t channel, int8_t *out) {
    int32_t sum[TILE_X][TILE_C];
    const int32_t offset = c->input_offset;
    REPEATED(8)
    for (int32_t j = 0; j < TILE_C; j++) {
        const int32_t start = c->bias ? c->bias[channel + j] : 0;
        REPEATED(4)
        for (int32_t i = 0; i < pixels; i++) sum[i][j] = start;
    }
    for (; rows; rows--, at.input += IN_ROW, at.filter += ROW) {
#ifdef RUN_row
        run(at, columns * IN_C, pixels, offset, sum);
#else
        struct place tap = at;
        for (int32_t n = columns; n; n--, tap.input += IN_C, tap.filter += IN_C) run(tap, IN_C, pixels, offset, sum);
#endif
    }
    REPEATED(8)
    for (int32_t j = 0; j < TILE_C; j++) {
        const int32_t multiplier = c->multiplier[channel + j], shift = c->shift[channel + j];
        REPEATED(4)
        for (int32_t i = 0; i < pixels; i++) {
            const int32_t value = requantised(sum[i][j], multiplier, shift) + c->output_offset;
            out[i * OUT_C + j] = (int8_t)clamped(value, c->least, c->most);
        }
    }
}

struct row { /* of the output: its pixels, and the rows of input and filter that it needs */
    const int8_t *input;
    int8_t *output;
    int32_t above, taps; /* rows of the filter that hang over the edge, and those that do not */
};

INLINE void inside(const struct conv_call *c, const struct row *r, const weight *filter, int32_t x, int32_t pixels,
                   int32_t channel) {
    const struct place at = {r->input + (x * STRIDE_W - PAD_LEFT) * IN_C, filter + r->above * ROW};
    block(c, at, r->taps, KERNEL_W, pixels, channel, r->output + x * OUT_C + channel);
}

static __attribute__((noinline)) void edge(const struct conv_call *c, const struct row *r, const weight *filter, int32_t x,
                                           int32_t channel) {
    const int32_t left = x * STRIDE_W - PAD_LEFT, begin = left < 0 ? -left : 0;
    const int32_t end = left + KERNEL_W > IN_W ? IN_W - left : KERNEL_W;
    const struct place at = {r->input + (left + begin) * IN_C, filter + r->above * ROW + begin * IN_C};
    block(c, at, end > begin ? r->taps : 0, end - begin, 1, channel, r->output + x * OUT_C + channel);
}

/* The weights of the block of channels that begins at `channel`. */
INLINE const weight *weights(const struct conv_call *c, int32_t channel) {
#if FILTER == 0
    return (const weight *)c->filter + channel * TAPS;
#else
    (void)channel;
    return c->scratch;
#endif
}

#if FILTER != 0
static __attribute__((noinline)) void copy(const struct conv_call *c, int32_t channel) {
    const int8_t *from = (const int8_t *)c->filter + channel * TAPS;
#if defined(FILTER_halves) && defined(RUN_row)
    for (int32_t n = 0; n < TILE_C * KERNEL_H; n++) widened(from + n * ROW, (int16_t *)c->scratch + n * ROW, ROW, 0);
#elif defined(FILTER_halves)
    for (int32_t n = 0; n < TILE_C * KERNEL_H * KERNEL_W; n++)
        widened(from + n * IN_C, (int16_t *)c->scratch + n * IN_C, IN_C, 0);
#else
    copied(from, c->scratch, TILE_C * TAPS);
#endif
}
#endif

INLINE struct row row_of(const struct conv_call *c, const int8_t *input, int8_t *output, int32_t y) {
    const int32_t top = y * STRIDE_H - c->pad_top, above = top < 0 ? -top : 0;
    const int32_t end = top + KERNEL_H > c->in_h ? c->in_h - top : KERNEL_H;
    const struct row r = {input + (top + above) * IN_ROW, output + y * OUT_W * OUT_C, above, end > above ? end - above : 0};
    return r;
}

INLINE void channels_of(const struct conv_call *c, const struct row *r, int32_t x, int32_t pixels) {
    for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) inside(c, r, weights(c, channel), x, pixels, channel);
}

INLINE void pixels_of(const struct conv_call *c, const struct row *r, int32_t channel) {
    const weight *filter = weights(c, channel);
    int32_t x = 0;
    for (; x < FIRST && x < OUT_W; x++) edge(c, r, filter, x, channel);
    for (; x + TILE_X <= LAST; x += TILE_X) inside(c, r, filter, x, TILE_X, channel);
    for (; x < OUT_W; x++) edge(c, r, filter, x, channel);
}

static void image(const struct conv_call *c, const int8_t *input, int8_t *output) {
#ifdef ORDER_c_y_x
    for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) {
#if FILTER != 0
        copy(c, channel);
#endif
        for (int32_t y = 0; y < c->out_h; y++) {
            const struct row r = row_of(c, input, output, y);
            pixels_of(c, &r, channel);
        }
    }
#else
    for (int32_t y = 0; y < c->out_h; y++) {
        const struct row r = row_of(c, input, output, y);
#ifdef ORDER_y_c_x
        for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) pixels_of(c, &r, channel);
#else
        int32_t x = 0;
        for (; x < FIRST && x < OUT_W; x++)
            for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) edge(c, &r, weights(c, channel), x, channel);
        for (; x + TILE_X <= LAST; x += TILE_X) channels_of(c, &r, x, TILE_X);
        for (; x < OUT_W; x++)
            for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) edge(c, &r, weights(c, channel), x, channel);
#endif
    }
#endif
}

int32_t tuned_conv(const struct conv_call *c) {
    for (int32_t i = 0; i < c->batch; i++)
        image(c, (const int8_t *)c->input + i * c->in_h * IN_ROW, (int8_t *)c->output + i * c->out_h * OUT_W * OUT_C);
    return 0;
}

/* CONV_2D of 1x1 filters, stride 1: input and output are matrices of as many rows as there are pixels. TILE_P pixels times
   TILE_C channels are summed in registers. */
#include <kernels.h>

#ifdef FILTER_halves
typedef int16_t weight; /* two words for four taps: even ones, odd ones */
#define WEIGHT_HALVES
#else
typedef int8_t weight;
#endif
#ifdef PIXELS_halves
typedef int16_t value; /* likewise, the input offset added */
#define VALUE_HALVES
#else
typedef int8_t value;
#endif
enum { TAPS = IN_C, PITCH = IN_C, BLOCK_ROWS = TILE_P };
#include <matrix_block.h>

#ifdef ORDER_p_c
INLINE void channels(const struct conv_call *c, const int8_t *input, int8_t *output, int32_t pixels) {
#ifdef PIXELS_halves
    int16_t *const in = c->scratch;
    const uint32_t pair = twice(c->input_offset);
    for (int32_t i = 0; i < pixels; i++) widened(input + i * IN_C, in + i * IN_C, IN_C, pair);
#else
    const int8_t *const in = input;
#endif
    const weight *w = c->filter;
    for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) block(c, in, w + channel * IN_C, pixels, channel, output);
}
#endif

static __attribute__((noinline)) void one(const struct conv_call *c, const int8_t *input, int8_t *output, int32_t channel) {
#ifdef ORDER_p_c
    (void)channel;
    channels(c, input, output, 1);
#else
    block(c, input, FILTER ? c->scratch : (const weight *)c->filter + channel * IN_C, 1, channel, output);
#endif
}

int32_t tuned_conv_1x1(const struct conv_call *c) {
    const int32_t count = c->batch * c->out_h * OUT_W;
    const int8_t *input = c->input;
    int8_t *output = c->output;
#ifdef ORDER_p_c
    int32_t p = 0;
    for (; p + TILE_P <= count; p += TILE_P) channels(c, input + p * IN_C, output + p * OUT_C, TILE_P);
    for (; p < count; p++) one(c, input + p * IN_C, output + p * OUT_C, 0);
#else
    for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) {
        const weight *w = (const weight *)c->filter + channel * IN_C;
#if FILTER != 0
        const int8_t *from = (const int8_t *)c->filter + channel * IN_C;
        w = c->scratch;
#ifdef FILTER_halves
        for (int32_t j = 0; j < TILE_C; j++) widened(from + j * IN_C, (int16_t *)c->scratch + j * IN_C, IN_C, 0);
#else
        copied(from, c->scratch, TILE_C * IN_C);
#endif
#endif
        int32_t p = 0;
        for (; p + TILE_P <= count; p += TILE_P) block(c, input + p * IN_C, w, TILE_P, channel, output + p * OUT_C);
        for (; p < count; p++) one(c, input + p * IN_C, output + p * OUT_C, channel);
    }
#endif
    return 0;
}

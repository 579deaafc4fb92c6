/* FULLY_CONNECTED: TILE_C outputs at a time; as halves (INPUT_halves) a row of the input is widened once. */
#include <tuned.h>

#ifdef INPUT_halves
typedef int16_t value;
#else
typedef int8_t value;
#endif

INLINE void sums(const value *in, const int8_t *w, int32_t offset, int32_t filter_offset, int32_t sum[TILE_C]) {
    int32_t n = 0;
#if WIDTH == 4
    const uint32_t pair = twice(offset), filter_pair = twice(filter_offset);
    (void)pair;
    REPEATED(UNROLL)
    for (; n + 4 <= IN_C; n += 4) {
#ifdef INPUT_halves
        const uint32_t even = word(in + n), odd = word(in + n + 2);
#else
        const uint32_t x = word(in + n), even = even_bytes_and(x, pair), odd = odd_bytes_and(x, pair);
#endif
        REPEATED(8)
        for (int32_t j = 0; j < TILE_C; j++) {
            const uint32_t y = word(w + j * IN_C + n);
            const uint32_t even_w = even_bytes_and(y, filter_pair), odd_w = odd_bytes_and(y, filter_pair);
            sum[j] = smlad(odd, odd_w, smlad(even, even_w, sum[j]));
        }
    }
#endif
#ifdef INPUT_halves
    offset = 0;
#endif
    REPEATED(UNROLL)
    for (; n < IN_C; n++) {
        const int32_t x = in[n] + offset;
        REPEATED(8)
        for (int32_t j = 0; j < TILE_C; j++) sum[j] += x * (w[j * IN_C + n] + filter_offset);
    }
}

int32_t tuned_fully_connected(const struct conv_call *c) {
    const int8_t *input = c->input;
    int8_t *out = c->output;
    for (int32_t row = 0; row < c->batch; row++, input += IN_C, out += OUT_C) {
#ifdef INPUT_halves
        value *const in = c->scratch;
        widened(input, in, IN_C, twice(c->input_offset));
#else
        const value *const in = input;
#endif
        for (int32_t channel = 0; channel < OUT_C; channel += TILE_C) {
            int32_t sum[TILE_C];
            REPEATED(8)
            for (int32_t j = 0; j < TILE_C; j++) sum[j] = c->bias ? c->bias[channel + j] : 0;
            sums(in, (const int8_t *)c->filter + channel * IN_C, c->input_offset, c->filter_offset, sum);
            REPEATED(8)
            for (int32_t j = 0; j < TILE_C; j++) {
                const int32_t result = requantised_once(sum[j], c->multiplier[channel + j], c->shift[channel + j]);
                out[channel + j] = (int8_t)clamped(result + c->output_offset, c->least, c->most);
            }
        }
    }
    return 0;
}

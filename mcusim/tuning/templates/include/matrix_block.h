/* A block of BLOCK_ROWS pixels times TILE_C channels, its sums in registers: what kernels have whose pixels lie as rows of a
   matrix. To be defined before: `value` and `weight`, types of pixels and filter, with VALUE_HALVES and WEIGHT_HALVES
   where they are halves as `widened` writes them (of pixels with the input offset added); TAPS, values of a row, and
   PITCH, values from row to row. */
#ifndef MCUSIM_MATRIX_BLOCK_H
#define MCUSIM_MATRIX_BLOCK_H
#include <tuned.h>

INLINE void sums(const value *in, const weight *w, int32_t rows, int32_t offset, int32_t sum[BLOCK_ROWS][TILE_C]) {
    int32_t n = 0;
#if WIDTH == 4
    const uint32_t pair = twice(offset);
    (void)pair;
    REPEATED(UNROLL)
    for (; n + 4 <= TAPS; n += 4) {
        uint32_t even[BLOCK_ROWS], odd[BLOCK_ROWS];
        REPEATED(4)
        for (int32_t i = 0; i < rows; i++) {
#ifdef VALUE_HALVES
            even[i] = word(in + i * PITCH + n), odd[i] = word(in + i * PITCH + n + 2);
#else
            const uint32_t x = word(in + i * PITCH + n);
            even[i] = even_bytes_and(x, pair), odd[i] = odd_bytes_and(x, pair);
#endif
        }
        REPEATED(8)
        for (int32_t j = 0; j < TILE_C; j++) {
#ifdef WEIGHT_HALVES
            const uint32_t even_w = word(w + j * TAPS + n), odd_w = word(w + j * TAPS + n + 2);
#else
            const uint32_t y = word(w + j * TAPS + n), even_w = even_bytes(y), odd_w = odd_bytes(y);
#endif
            REPEATED(4)
            for (int32_t i = 0; i < rows; i++) sum[i][j] = smlad(odd[i], odd_w, smlad(even[i], even_w, sum[i][j]));
        }
    }
#endif
#ifdef VALUE_HALVES
    offset = 0;
#endif
    REPEATED(UNROLL)
    for (; n < TAPS; n++) {
        REPEATED(4)
        for (int32_t i = 0; i < rows; i++) {
            const int32_t x = in[i * PITCH + n] + offset;
            REPEATED(8)
            for (int32_t j = 0; j < TILE_C; j++) sum[i][j] += x * w[j * TAPS + n];
        }
    }
}

/* Channels from `channel` on, whose filters are at `w`; `out` is the first pixel's channel 0. */
INLINE void block(const struct conv_call *c, const value *in, const weight *w, int32_t rows, int32_t channel, int8_t *out) {
    int32_t sum[BLOCK_ROWS][TILE_C];
    REPEATED(8)
    for (int32_t j = 0; j < TILE_C; j++) {
        const int32_t start = c->bias ? c->bias[channel + j] : 0;
        REPEATED(4)
        for (int32_t i = 0; i < rows; i++) sum[i][j] = start;
    }
    sums(in, w, rows, c->input_offset, sum);
    REPEATED(8)
    for (int32_t j = 0; j < TILE_C; j++) {
        const int32_t multiplier = c->multiplier[channel + j], shift = c->shift[channel + j];
        REPEATED(4)
        for (int32_t i = 0; i < rows; i++) {
            const int32_t result = requantised(sum[i][j], multiplier, shift) + c->output_offset;
            out[i * OUT_C + channel + j] = (int8_t)clamped(result, c->least, c->most);
        }
    }
}
#endif

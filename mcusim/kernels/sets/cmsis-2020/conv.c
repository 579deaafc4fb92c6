/* CONV_2D of 2020: patches of two output pixels as q15 columns in scratch, two filters at a time over both. 1 x 1 filters of
   stride 1 without padding whose in_c is a multiple of 4 go without scratch. Dilated ones, and those with more elements in a
   filter or more filters than 16 bits count, are the reference set's. Counts are of 16 bits, as the library has them: what
   -Os makes of a loop depends on it.

   Scratch: 2 columns * 2 bytes * in_c * filter_h * filter_w; none for 1 x 1 as above and dilated ones. */
#include "dsp.h"

int32_t cmsis_conv_1x1(const struct conv_call *c);
int32_t reference_conv(const struct conv_call *c);

/* Four bytes on, in their order, as two q15x2. */
INLINE const int8_t *four_on(const int8_t *at, uint32_t *first, uint32_t *last) {
    in_order(word_on(&at), first, last);
    return at;
}

static __attribute__((noinline)) int8_t *two_columns(const struct conv_call *c, const int16_t *columns, uint16_t depth,
                                                     int8_t *out0) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t *multiplier = c->multiplier, *shift = c->shift, *bias = c->bias;
    const int8_t *a0 = c->filter;
    int8_t *out1 = out0 + c->out_c;
    for (uint16_t rows = c->out_c / 2; rows; rows--) {
        const int16_t *b0 = columns, *b1 = b0 + depth;
        const int8_t *a1 = a0 + depth;
        int32_t s00 = 0, s01 = 0, s10 = 0, s11 = 0;
        if (bias) s00 = s01 = *bias++, s10 = s11 = *bias++;
        for (uint16_t n = depth / 4; n; n--) {
            uint32_t a01, a02, a11, a12, x0 = pair_on(&b0), x1 = pair_on(&b1);
            a0 = four_on(a0, &a01, &a02);
            a1 = four_on(a1, &a11, &a12);
            s00 = smlad(a01, x0, s00);
            s01 = smlad(a01, x1, s01);
            s10 = smlad(a11, x0, s10);
            s11 = smlad(a11, x1, s11);
            x0 = pair_on(&b0);
            x1 = pair_on(&b1);
            s00 = smlad(a02, x0, s00);
            s01 = smlad(a02, x1, s01);
            s10 = smlad(a12, x0, s10);
            s11 = smlad(a12, x1, s11);
        }
        for (uint16_t n = depth & 3; n; n--) {
            const int8_t w0 = *a0++;
            const int16_t x0 = *b0++;
            const int8_t w1 = *a1++;
            const int16_t x1 = *b1++;
            s00 += w0 * x0;
            s01 += w0 * x1;
            s10 += w1 * x0;
            s11 += w1 * x1;
        }
        *out0++ = finished(&f, s00, *multiplier, *shift);
        *out1++ = finished(&f, s01, *multiplier, *shift);
        multiplier++, shift++;
        *out0++ = finished(&f, s10, *multiplier, *shift);
        *out1++ = finished(&f, s11, *multiplier, *shift);
        multiplier++, shift++;
        a0 += depth;
    }
    if (c->out_c & 1) {
        const int16_t *b0 = columns, *b1 = b0 + depth;
        int32_t s0 = bias ? *bias : 0, s1 = s0;
        for (uint16_t n = depth / 4; n; n--) {
            uint32_t a01, a02, x0 = pair_on(&b0), x1 = pair_on(&b1);
            a0 = four_on(a0, &a01, &a02);
            s0 = smlad(a01, x0, s0);
            s1 = smlad(a01, x1, s1);
            x0 = pair_on(&b0);
            x1 = pair_on(&b1);
            s0 = smlad(a02, x0, s0);
            s1 = smlad(a02, x1, s1);
        }
        for (uint16_t n = depth & 3; n; n--) {
            const int8_t w = *a0++;
            s0 += w * *b0++;
            s1 += w * *b1++;
        }
        *out0++ = finished(&f, s0, *multiplier, *shift);
        *out1++ = finished(&f, s1, *multiplier, *shift);
    }
    return out1;
}

static __attribute__((noinline)) void last_column(const struct conv_call *c, const int16_t *column, uint16_t depth,
                                                  int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int8_t *a = c->filter;
    for (int32_t i = 0; i < c->out_c; i++) {
        const int16_t *b = column;
        int32_t sum = c->bias ? c->bias[i] : 0;
        for (uint16_t n = depth / 4; n; n--) {
            uint32_t first, last;
            a = four_on(a, &first, &last);
            sum = smlad(first, pair_on(&b), sum);
            sum = smlad(last, pair_on(&b), sum);
        }
        for (uint16_t n = depth & 3; n; n--) sum += *a++ * *b++;
        *out++ = finished(&f, sum, c->multiplier[i], c->shift[i]);
    }
}

static __attribute__((noinline)) void image_by_columns(const struct conv_call *c, const int8_t *input, int8_t *out) {
    const uint16_t channels = (uint16_t)c->in_c, depth = (uint16_t)(channels * c->filter_h * c->filter_w);
    const int32_t rows = c->in_h, width = c->in_w;
    int16_t *const start = c->scratch, *to = start;
    for (int32_t i = 0; i < c->out_h; i++) {
        for (int32_t j = 0; j < c->out_w; j++) {
            const int32_t y0 = i * c->stride_h - c->pad_top, x0 = j * c->stride_w - c->pad_left;
            for (int32_t y = y0; y < y0 + c->filter_h; y++) {
                for (int32_t x = x0; x < x0 + c->filter_w; x++, to += channels) {
                    if (y < 0 || y >= rows || x < 0 || x >= width) {
                        memset(to, 0, 2 * (size_t)channels);
                    } else {
                        cmsis_widen(input + (y * width + x) * channels, to, channels, c->input_offset);
                    }
                }
            }
            if (to != start + 2 * depth) continue;
            out = two_columns(c, start, depth, out);
            to = start;
        }
    }
    if (to != start) last_column(c, start, depth, out);
}

int32_t cmsis_2020_conv(const struct conv_call *c) {
    const int8_t *input = c->input;
    int8_t *out = c->output;
    const int32_t depth = c->in_c * c->filter_h * c->filter_w, dilated = c->dilation_h != 1 || c->dilation_w != 1;
    if (dilated || depth > UINT16_MAX || c->out_c > UINT16_MAX) return reference_conv(c);
    if (c->filter_h == 1 && c->filter_w == 1 && c->stride_h == 1 && c->stride_w == 1 && c->pad_top == 0 &&
        c->pad_left == 0 && c->in_c % 4 == 0 && c->out_h == c->in_h && c->out_w == c->in_w) {
        return cmsis_conv_1x1(c);
    }
    for (int32_t i = 0; i < c->batch; i++) {
        image_by_columns(c, input, out);
        input += c->in_h * c->in_w * c->in_c;
        out += c->out_h * c->out_w * c->out_c;
    }
    return 0;
}

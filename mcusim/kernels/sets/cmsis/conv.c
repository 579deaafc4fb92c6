/* CONV_2D: patches of two output pixels are laid out as q15 columns in scratch, the input offset added on the way; then
   two filters at a time meet both columns, four products of each to two SMLAD.

   Scratch: 2 columns * 2 bytes * in_c * filter_h * filter_w; none for 1 x 1 filters of stride 1 without padding whose
   in_c is a multiple of 4, nor for dilated ones. Any filter, stride, padding and channel count; dilation goes through
   plain loops. */
#include "dsp.h"

int32_t cmsis_conv_1x1(const struct conv_call *c);

struct columns {
    const int16_t *first, *second;
    int32_t depth; /* elements of one */
};

/* Two filters over two columns: sums of filter 0 over both, then of filter 1 over both. */
INLINE void block_2x2(const struct columns *k, const int8_t *a0, int32_t *sum) {
    const int8_t *a1 = a0 + k->depth;
    const int16_t *b0 = k->first, *b1 = k->second;
    int32_t s00 = sum[0], s01 = sum[1], s10 = sum[2], s11 = sum[3];
    for (int32_t n = k->depth >> 2; n; n--) {
        uint32_t a01, a02, a11, a12, x0 = pair_on(&b0), x1 = pair_on(&b1);
        in_order(word_on(&a0), &a01, &a02);
        in_order(word_on(&a1), &a11, &a12);
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
    for (int32_t n = k->depth & 3; n; n--) {
        const int32_t w0 = *a0++, w1 = *a1++, x0 = *b0++, x1 = *b1++;
        s00 += w0 * x0;
        s01 += w0 * x1;
        s10 += w1 * x0;
        s11 += w1 * x1;
    }
    sum[0] = s00, sum[1] = s01, sum[2] = s10, sum[3] = s11;
}

/* One filter over one column. */
INLINE int32_t dot(const int8_t *a, const int16_t *b, int32_t depth, int32_t sum) {
    for (int32_t n = depth >> 2; n; n--) {
        uint32_t first, last;
        in_order(word_on(&a), &first, &last);
        sum = smlad(first, pair_on(&b), sum);
        sum = smlad(last, pair_on(&b), sum);
    }
    for (int32_t n = depth & 3; n; n--) sum += *a++ * *b++;
    return sum;
}

static __attribute__((noinline)) int8_t *two_pixels(const struct conv_call *c, const struct columns *k, int8_t *out0) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t *multiplier = c->multiplier, *shift = c->shift, *bias = c->bias;
    const int32_t depth = k->depth, channels = c->out_c;
    const int8_t *filter = c->filter;
    int8_t *out1 = out0 + channels;
    for (int32_t n = channels >> 1; n; n--) {
        int32_t sum[4] = {0, 0, 0, 0};
        if (bias) sum[0] = sum[1] = bias[0], sum[2] = sum[3] = bias[1], bias += 2;
        block_2x2(k, filter, sum);
        filter += 2 * depth;
        *out0++ = finished(&f, sum[0], multiplier[0], shift[0]);
        *out1++ = finished(&f, sum[1], multiplier[0], shift[0]);
        *out0++ = finished(&f, sum[2], multiplier[1], shift[1]);
        *out1++ = finished(&f, sum[3], multiplier[1], shift[1]);
        multiplier += 2, shift += 2;
    }
    if (channels & 1) {
        const int32_t start = bias ? *bias : 0;
        *out0++ = finished(&f, dot(filter, k->first, depth, start), *multiplier, *shift);
        *out1++ = finished(&f, dot(filter, k->second, depth, start), *multiplier, *shift);
    }
    return out1;
}

static __attribute__((noinline)) void one_pixel(const struct conv_call *c, const struct columns *k, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int8_t *filter = c->filter;
    for (int32_t i = 0; i < c->out_c; i++, filter += k->depth) {
        const int32_t sum = dot(filter, k->first, k->depth, c->bias ? c->bias[i] : 0);
        *out++ = finished(&f, sum, c->multiplier[i], c->shift[i]);
    }
}

/* The patch whose upper left corner is at (y0, x0), as a column. */
INLINE int16_t *column(const struct conv_call *c, const int8_t *input, int32_t y0, int32_t x0, int16_t *to) {
    const int32_t channels = c->in_c, rows = c->in_h, width = c->in_w, offset = c->input_offset;
    const int32_t bottom = y0 + c->filter_h, right = x0 + c->filter_w;
    for (int32_t y = y0; y < bottom; y++) {
        for (int32_t x = x0; x < right; x++, to += channels) {
            if (y < 0 || y >= rows || x < 0 || x >= width) {
                memset(to, 0, 2 * (size_t)channels);
            } else {
                cmsis_widen(input + (y * width + x) * channels, to, channels, offset);
            }
        }
    }
    return to;
}

static void image(const struct conv_call *c, const int8_t *input, int8_t *out) {
    const int32_t depth = c->in_c * c->filter_h * c->filter_w;
    int16_t *const start = c->scratch, *const full = start + 2 * depth;
    const struct columns k = {start, start + depth, depth};
    int16_t *to = start;
    for (int32_t y = 0; y < c->out_h; y++) {
        for (int32_t x = 0; x < c->out_w; x++) {
            to = column(c, input, y * c->stride_h - c->pad_top, x * c->stride_w - c->pad_left, to);
            if (to == full) {
                out = two_pixels(c, &k, out);
                to = start;
            }
        }
    }
    if (to != start) one_pixel(c, &k, out);
}

/* A dilated filter at one output element, by plain loops. */
INLINE int32_t dilated_sum(const struct conv_call *c, const int8_t *input, const int8_t *filter, int32_t y0, int32_t x0) {
    const int32_t channels = c->in_c;
    int32_t sum = 0;
    for (int32_t i = 0, y = y0; i < c->filter_h; i++, y += c->dilation_h) {
        for (int32_t j = 0, x = x0; j < c->filter_w; j++, x += c->dilation_w, filter += channels) {
            if (y < 0 || y >= c->in_h || x < 0 || x >= c->in_w) continue;
            const int8_t *pixel = input + (y * c->in_w + x) * channels;
            for (int32_t n = 0; n < channels; n++) sum += (pixel[n] + c->input_offset) * filter[n];
        }
    }
    return sum;
}

static void dilated_image(const struct conv_call *c, const int8_t *input, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t depth = c->in_c * c->filter_h * c->filter_w;
    for (int32_t y = 0; y < c->out_h; y++) {
        for (int32_t x = 0; x < c->out_w; x++) {
            for (int32_t i = 0; i < c->out_c; i++) {
                const int8_t *filter = (const int8_t *)c->filter + i * depth;
                int32_t sum = c->bias ? c->bias[i] : 0;
                sum += dilated_sum(c, input, filter, y * c->stride_h - c->pad_top, x * c->stride_w - c->pad_left);
                *out++ = finished(&f, sum, c->multiplier[i], c->shift[i]);
            }
        }
    }
}

int32_t cmsis_conv(const struct conv_call *c) {
    const int32_t dilated = c->dilation_h != 1 || c->dilation_w != 1;
    if (c->filter_h == 1 && c->filter_w == 1 && c->stride_h == 1 && c->stride_w == 1 && c->pad_top == 0 &&
        c->pad_left == 0 && c->in_c % 4 == 0 && c->out_h == c->in_h && c->out_w == c->in_w) {
        return cmsis_conv_1x1(c);
    }
    const int8_t *input = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++) {
        (dilated ? dilated_image : image)(c, input, out);
        input += c->in_h * c->in_w * c->in_c;
        out += c->out_h * c->out_w * c->out_c;
    }
    return 0;
}

/* Depthwise 3 x 3 without scratch: four channels at a time straight from the input, a word of input and a word of weights
   for each of the nine taps, whose bytes are multiplied one by one. Padding of at most 1 to the left: only the first and
   the third column of taps can be outside. */
#include "dsp.h"

struct window { /* the taps of an output pixel that are inside: `rows` from the upper left one on; left 0 and right 3: all */
    const int8_t *input, *filter;
    int32_t rows, left, right;
};

INLINE void tap(const int8_t *input, const int8_t *filter, int32_t offset, int32_t *sum) {
    const uint32_t x = word(input), w = word(filter);
    sum[0] += ((int8_t)x + offset) * (int8_t)w;
    sum[1] += ((int8_t)(x >> 8) + offset) * (int8_t)(w >> 8);
    sum[2] += ((int8_t)(x >> 16) + offset) * (int8_t)(w >> 16);
    sum[3] += ((int8_t)(x >> 24) + offset) * (int8_t)(w >> 24);
}

INLINE void four_channels(const struct conv_call *c, const struct window *w, int32_t channel, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t channels = c->in_c, row = channels * c->in_w, offset = c->input_offset;
    const int8_t *input = w->input + channel, *filter = w->filter + channel;
    const int32_t *bias = c->bias, *multiplier = c->multiplier + channel, *shift = c->shift + channel;
    int32_t sum[4] = {0, 0, 0, 0};
    if (bias) bias += channel, sum[0] = bias[0], sum[1] = bias[1], sum[2] = bias[2], sum[3] = bias[3];
    for (int32_t n = w->rows; n > 0; n--, input += row, filter += 3 * channels) {
        if (w->left == 0) tap(input, filter, offset, sum);
        tap(input + channels, filter + channels, offset, sum);
        if (w->right == 3) tap(input + 2 * channels, filter + 2 * channels, offset, sum);
    }
    for (int32_t i = 0; i < 4; i++) out[i] = finished(&f, sum[i], multiplier[i], shift[i]);
}

INLINE int8_t one_channel(const struct conv_call *c, const struct window *w, int32_t channel) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t channels = c->in_c, row = channels * c->in_w, offset = c->input_offset;
    const int8_t *input = w->input + channel, *filter = w->filter + channel;
    int32_t sum = c->bias ? c->bias[channel] : 0;
    for (int32_t n = w->rows; n > 0; n--, input += row, filter += 3 * channels) {
        if (w->left == 0) sum += (input[0] + offset) * filter[0];
        sum += (input[channels] + offset) * filter[channels];
        if (w->right == 3) sum += (input[2 * channels] + offset) * filter[2 * channels];
    }
    return finished(&f, sum, c->multiplier[channel], c->shift[channel]);
}

int32_t cmsis_depthwise_3x3(const struct conv_call *call) {
    const struct conv_call copy = *call, *const c = &copy; /* its members stay in registers: stores of bytes cannot change them */
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->out_h; i++) {
        const int32_t y = i * c->stride_h - c->pad_top, top = larger(0, -y);
        for (int32_t j = 0; j < c->out_w; j++) {
            const int32_t x = j * c->stride_w - c->pad_left;
            const struct window w = {(const int8_t *)c->input + ((y + top) * c->in_w + x) * c->in_c,
                                     (const int8_t *)c->filter + top * 3 * c->in_c,
                                     smaller(3, c->in_h - y) - top, larger(0, -x), smaller(3, c->in_w - x)};
            int32_t channel = 0;
            for (; channel <= c->in_c - 4; channel += 4, out += 4) four_channels(c, &w, channel, out);
            for (; channel < c->in_c; channel++) *out++ = one_channel(c, &w, channel);
        }
    }
    return 0;
}

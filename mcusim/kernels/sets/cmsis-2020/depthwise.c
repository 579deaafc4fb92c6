/* DEPTHWISE_CONV_2D of 2020: by columns wherever the depth multiplier is 1, 3 x 3 too; four outputs of an input channel at a
   time where it is a multiple of 4; else plain loops inside the bounds. Dilated ones are the reference set's.

   Scratch: 2 bytes * in_c * filter_h * filter_w where in_c = out_c and the batch is 1; else none. */
#include "dsp.h"

int32_t cmsis_depthwise_columns(const struct conv_call *c);
int32_t reference_depthwise(const struct conv_call *c);

struct place { /* of a patch: its upper left corner, and the taps of it that are inside */
    const int8_t *input;
    int32_t y, x, top, bottom, left, right;
};

INLINE struct place place_at(const struct conv_call *c, const int8_t *input, int32_t i, int32_t j) {
    const int32_t y = i * c->stride_h - c->pad_top, x = j * c->stride_w - c->pad_left;
    return (struct place){input, y, x, larger(0, -y), smaller(c->filter_h, c->in_h - y), larger(0, -x),
                          smaller(c->filter_w, c->in_w - x)};
}

INLINE int8_t one_output(const struct conv_call *c, const struct place *p, int32_t from, int32_t channel) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int8_t *filter = c->filter;
    int32_t sum = c->bias ? c->bias[channel] : 0;
    for (int32_t i = p->top; i < p->bottom; i++) {
        for (int32_t j = p->left; j < p->right; j++) {
            const int32_t at = ((p->y + i) * c->in_w + p->x + j) * c->in_c + from;
            sum += (p->input[at] + c->input_offset) * filter[(i * c->filter_w + j) * c->out_c + channel];
        }
    }
    return finished(&f, sum, c->multiplier[channel], c->shift[channel]);
}

INLINE void four_outputs(const struct conv_call *c, const struct place *p, int32_t from, int32_t channel, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t *bias = c->bias, *multiplier = c->multiplier + channel, *shift = c->shift + channel;
    int32_t sum[4] = {0, 0, 0, 0};
    if (bias) bias += channel, sum[0] = bias[0], sum[1] = bias[1], sum[2] = bias[2], sum[3] = bias[3];
    for (int32_t i = p->top; i < p->bottom; i++) {
        const int8_t *filter = (const int8_t *)c->filter + (i * c->filter_w + p->left) * c->out_c + channel;
        const int8_t *row = p->input + ((p->y + i) * c->in_w + p->x) * c->in_c + from;
        for (int32_t j = p->left; j < p->right; j++, filter += c->out_c) {
            const int32_t x = row[j * c->in_c] + c->input_offset;
            sum[0] += x * filter[0];
            sum[1] += x * filter[1];
            sum[2] += x * filter[2];
            sum[3] += x * filter[3];
        }
    }
    for (int32_t n = 0; n < 4; n++) out[n] = finished(&f, sum[n], multiplier[n], shift[n]);
}

static __attribute__((noinline)) void image_by_fours(const struct conv_call *c, const int8_t *input, int8_t *out) {
    for (int32_t i = 0; i < c->out_h; i++) {
        for (int32_t j = 0; j < c->out_w; j++) {
            const struct place p = place_at(c, input, i, j);
            for (int32_t from = 0, channel = 0; channel < c->out_c; from++) {
                for (int32_t n = 0; n < c->depth_multiplier; n += 4, channel += 4, out += 4) {
                    four_outputs(c, &p, from, channel, out);
                }
            }
        }
    }
}

static __attribute__((noinline)) void image_one_by_one(const struct conv_call *c, const int8_t *input, int8_t *out) {
    for (int32_t i = 0; i < c->out_h; i++) {
        for (int32_t j = 0; j < c->out_w; j++) {
            const struct place p = place_at(c, input, i, j);
            for (int32_t from = 0, channel = 0; from < c->in_c; from++) {
                for (int32_t n = 0; n < c->depth_multiplier; n++, channel++) *out++ = one_output(c, &p, from, channel);
            }
        }
    }
}

int32_t cmsis_2020_depthwise(const struct conv_call *c) {
    const int8_t *input = c->input;
    int8_t *out = c->output;
    if (c->dilation_h != 1 || c->dilation_w != 1) return reference_depthwise(c);
    if (c->depth_multiplier == 1 && c->batch == 1) return cmsis_depthwise_columns(c);
    for (int32_t i = 0; i < c->batch; i++) {
        (c->depth_multiplier % 4 == 0 ? image_by_fours : image_one_by_one)(c, input, out);
        input += c->in_h * c->in_w * c->in_c;
        out += c->out_h * c->out_w * c->out_c;
    }
    return 0;
}

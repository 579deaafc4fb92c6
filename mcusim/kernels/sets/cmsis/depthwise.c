/* DEPTHWISE_CONV_2D: which of the three functions runs, and the plain one: any depth multiplier, dilation and batch.

   Scratch, as the library's wrapper asks for it: 2 bytes * in_c * filter_h * filter_w where in_c = out_c and the batch is
   1, which the 3 x 3 function does not touch; else none. */
#include "dsp.h"

int32_t cmsis_depthwise_3x3(const struct conv_call *c);
int32_t cmsis_depthwise_columns(const struct conv_call *c);

INLINE int32_t plain_sum(const struct conv_call *c, const int8_t *input, int32_t y0, int32_t x0, int32_t channel) {
    const int8_t *filter = (const int8_t *)c->filter + channel;
    int32_t sum = c->bias ? c->bias[channel] : 0;
    for (int32_t i = 0, y = y0; i < c->filter_h; i++, y += c->dilation_h) {
        for (int32_t j = 0, x = x0; j < c->filter_w; j++, x += c->dilation_w, filter += c->out_c) {
            if (y < 0 || y >= c->in_h || x < 0 || x >= c->in_w) continue;
            sum += (input[(y * c->in_w + x) * c->in_c] + c->input_offset) * *filter;
        }
    }
    return sum;
}

static int8_t *plain_pixel(const struct conv_call *c, const int8_t *input, int32_t y0, int32_t x0, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    for (int32_t i = 0, channel = 0; i < c->in_c; i++, input++) {
        for (int32_t j = 0; j < c->depth_multiplier; j++, channel++) {
            const int32_t sum = plain_sum(c, input, y0, x0, channel);
            *out++ = finished(&f, sum, c->multiplier[channel], c->shift[channel]);
        }
    }
    return out;
}

static int32_t plain(const struct conv_call *c) {
    const int8_t *input = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, input += c->in_h * c->in_w * c->in_c) {
        for (int32_t y = 0; y < c->out_h; y++) {
            for (int32_t x = 0; x < c->out_w; x++) {
                out = plain_pixel(c, input, y * c->stride_h - c->pad_top, x * c->stride_w - c->pad_left, out);
            }
        }
    }
    return 0;
}

/* 3 x 3 with no patch that lacks its middle column, or both outer ones behind the right edge. */
INLINE int32_t fits_3x3(const struct conv_call *c) {
    const int32_t last = (c->out_w - 1) * c->stride_w - c->pad_left;
    return c->filter_h == 3 && c->filter_w == 3 && c->pad_top <= 1 && c->pad_left <= 1 && last + 1 < c->in_w;
}

int32_t cmsis_depthwise(const struct conv_call *c) {
    if (c->depth_multiplier != 1 || c->batch != 1 || c->dilation_h != 1 || c->dilation_w != 1) return plain(c);
    return fits_3x3(c) ? cmsis_depthwise_3x3(c) : cmsis_depthwise_columns(c);
}

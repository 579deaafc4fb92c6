/* Depthwise by columns: the whole patch of an output pixel, all its channels, is widened to q15 into scratch; then four
   channels at a time, two taps to one SMLAD of each channel, weights and inputs brought side by side by PKHBT and PKHTB. */
#include "dsp.h"

/* The patch at (y0, x0): rows outside are cleared at once, pixels outside one by one. */
INLINE void patch(const struct conv_call *c, int32_t y0, int32_t x0) {
    const int32_t channels = c->in_c, width = c->filter_w, row = width * channels, offset = c->input_offset;
    const int32_t top = larger(0, -y0), bottom = smaller(c->filter_h, c->in_h - y0);
    int16_t *to = c->scratch;
    if (top != 0) {
        memset(to, 0, 2 * (size_t)(row * top));
        to += row * top;
    }
    for (int32_t y = top; y < bottom; y++) {
        for (int32_t j = 0, x = x0; j < width; j++, x++, to += channels) {
            if (x < 0 || x >= c->in_w) {
                memset(to, 0, 2 * (size_t)channels);
            } else {
                cmsis_widen((const int8_t *)c->input + ((y0 + y) * c->in_w + x) * channels, to, channels, offset);
            }
        }
    }
    if (c->filter_h != bottom) memset(to, 0, 2 * (size_t)(row * (c->filter_h - bottom)));
}

/* Two taps of four channels: inputs x (four q15 at each tap) and weights w, the taps `next` elements apart. */
INLINE void two_taps(const int16_t *x, const int8_t *w, int32_t next, int32_t *sum) {
    const uint32_t w0 = word(w), w1 = word(w + next);
    const uint32_t even0 = sxtb16(w0), odd0 = sxtb16(ror8(w0)), even1 = sxtb16(w1), odd1 = sxtb16(ror8(w1));
    uint32_t x0 = word(x), x1 = word(x + next);
    sum[0] = smlad(lows(x1, x0), lows(even1, even0), sum[0]);
    sum[1] = smlad(highs(x1, x0), lows(odd1, odd0), sum[1]);
    x0 = word(x + 2), x1 = word(x + next + 2);
    sum[2] = smlad(lows(x1, x0), highs(even1, even0), sum[2]);
    sum[3] = smlad(highs(x1, x0), highs(odd1, odd0), sum[3]);
}

INLINE void four_channels(const struct conv_call *c, const struct finish *f, int32_t channel, int32_t taps, int8_t *out) {
    const int32_t channels = c->in_c, *bias = c->bias;
    const int32_t *multiplier = c->multiplier + channel, *shift = c->shift + channel;
    const int16_t *x = (const int16_t *)c->scratch + channel;
    const int8_t *w = (const int8_t *)c->filter + channel;
    int32_t sum[4] = {0, 0, 0, 0};
    if (bias) bias += channel, sum[0] = bias[0], sum[1] = bias[1], sum[2] = bias[2], sum[3] = bias[3];
    for (int32_t n = taps >> 1; n; n--, x += 2 * channels, w += 2 * channels) two_taps(x, w, channels, sum);
    if (taps & 1) {
        for (int32_t i = 0; i < 4; i++) sum[i] += w[i] * x[i];
    }
    for (int32_t i = 0; i < 4; i++) out[i] = finished(f, sum[i], multiplier[i], shift[i]);
}

static int8_t *pixel(const struct conv_call *c, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t taps = c->filter_h * c->filter_w, channels = c->in_c;
    int32_t channel = 0;
    for (; channel <= channels - 4; channel += 4, out += 4) four_channels(c, &f, channel, taps, out);
    for (; channel < channels; channel++) {
        const int16_t *x = (const int16_t *)c->scratch + channel;
        const int8_t *w = (const int8_t *)c->filter + channel;
        int32_t sum = c->bias ? c->bias[channel] : 0;
        for (int32_t i = 0; i < taps; i++) sum += w[i * channels] * x[i * channels];
        *out++ = finished(&f, sum, c->multiplier[channel], c->shift[channel]);
    }
    return out;
}

int32_t cmsis_depthwise_columns(const struct conv_call *c) {
    int8_t *out = c->output;
    for (int32_t y = 0; y < c->out_h; y++) {
        for (int32_t x = 0; x < c->out_w; x++) {
            patch(c, y * c->stride_h - c->pad_top, x * c->stride_w - c->pad_left);
            out = pixel(c, out);
        }
    }
    return 0;
}

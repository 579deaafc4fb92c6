/* 1 x 1 convolution of stride 1: a matrix by a matrix, without scratch. Two filters at a time, their part of the input
   offset (offset times the sum of weights) in the start of the sum; two pixels at a time, four sums, sixteen channels in
   one turn of the loop. Channels behind the last sixteen, and the last filter of an odd number, go one by one: with fewer
   than 16 input channels nothing runs on SMLAD. */
#include "dsp.h"

struct four {
    int32_t s00, s01, s10, s11; /* pixel, filter */
};

INLINE void step(const int8_t **filter, const int8_t **pixel, int32_t next, struct four *s, int32_t pixels) {
    uint32_t w = word_on(filter), x = word_on(pixel), v = word(*filter + next);
    const uint32_t w_even = sxtb16(w), w_odd = sxtb16_8(w), v_even = sxtb16(v), v_odd = sxtb16_8(v);
    uint32_t even = sxtb16(x), odd = sxtb16_8(x);
    s->s00 = smlad(even, w_even, s->s00);
    s->s00 = smlad(odd, w_odd, s->s00);
    s->s01 = smlad(even, v_even, s->s01);
    s->s01 = smlad(odd, v_odd, s->s01);
    if (pixels == 1) return;
    x = word(*pixel + next);
    even = sxtb16(x), odd = sxtb16_8(x);
    s->s10 = smlad(even, w_even, s->s10);
    s->s11 = smlad(even, v_even, s->s11);
    s->s10 = smlad(odd, w_odd, s->s10);
    s->s11 = smlad(odd, v_odd, s->s11);
}

/* One or two pixels under two filters; returns behind the first pixel. */
INLINE const int8_t *block(const int8_t *filter, const int8_t *pixel, int32_t depth, struct four *sums, int32_t pixels) {
    struct four s = *sums;
    int32_t n = 0;
    for (; n <= depth - 16; n += 16) {
        step(&filter, &pixel, depth - 4, &s, pixels);
        step(&filter, &pixel, depth - 4, &s, pixels);
        step(&filter, &pixel, depth - 4, &s, pixels);
        step(&filter, &pixel, depth - 4, &s, pixels);
    }
    for (; n < depth; n++, filter++, pixel++) {
        const int32_t w0 = filter[0], w1 = filter[depth], x0 = pixel[0];
        s.s00 += x0 * w0;
        s.s01 += x0 * w1;
        if (pixels == 1) continue;
        const int32_t x1 = pixel[depth];
        s.s10 += x1 * w0;
        s.s11 += x1 * w1;
    }
    *sums = s;
    return pixel;
}

INLINE int32_t start_of(const struct conv_call *c, const int8_t *filter, int32_t channel) {
    int32_t sum = 0;
    for (int32_t i = 0; i < c->in_c; i++) sum += filter[i];
    return sum * c->input_offset + (c->bias ? c->bias[channel] : 0);
}

static void two_filters(const struct conv_call *c, const int8_t *filter, int32_t channel, int32_t pixels) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t *const multiplier = c->multiplier + channel, *const shift = c->shift + channel;
    const int32_t depth = c->in_c, next = c->out_c;
    const int32_t start0 = start_of(c, filter, channel), start1 = start_of(c, filter + depth, channel + 1);
    const int8_t *pixel = c->input;
    int8_t *out = (int8_t *)c->output + channel;
    for (int32_t n = pixels >> 1; n; n--) {
        struct four s = {start0, start1, start0, start1};
        pixel = block(filter, pixel, depth, &s, 2) + depth;
        out[0] = finished(&f, s.s00, multiplier[0], shift[0]);
        out[1] = finished(&f, s.s01, multiplier[1], shift[1]);
        out += next;
        out[0] = finished(&f, s.s10, multiplier[0], shift[0]);
        out[1] = finished(&f, s.s11, multiplier[1], shift[1]);
        out += next;
    }
    if (pixels & 1) {
        struct four s = {start0, start1, 0, 0};
        block(filter, pixel, depth, &s, 1);
        out[0] = finished(&f, s.s00, multiplier[0], shift[0]);
        out[1] = finished(&f, s.s01, multiplier[1], shift[1]);
    }
}

static void last_filter(const struct conv_call *c, const int8_t *filter, int32_t channel, int32_t pixels) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t multiplier = c->multiplier[channel], shift = c->shift[channel], offset = c->input_offset;
    const int32_t start = c->bias ? c->bias[channel] : 0, depth = c->in_c, next = c->out_c;
    const int8_t *pixel = c->input;
    int8_t *out = (int8_t *)c->output + channel;
    for (; pixels; pixels--, out += next) {
        int32_t sum = start;
        for (int32_t i = 0; i < depth; i++) sum += (*pixel++ + offset) * filter[i];
        *out = finished(&f, sum, multiplier, shift);
    }
}

int32_t cmsis_conv_1x1(const struct conv_call *c) {
    const int32_t pixels = c->batch * c->in_h * c->in_w;
    const int8_t *filter = c->filter;
    int32_t channel = 0;
    for (; channel <= c->out_c - 2; channel += 2, filter += 2 * c->in_c) two_filters(c, filter, channel, pixels);
    if (channel < c->out_c) last_filter(c, filter, channel, pixels);
    return 0;
}

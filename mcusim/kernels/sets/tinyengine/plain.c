/* What is seldom needed, once for all shapes: filters whose sums are not quick, the last filter of an odd number, and ranges
   of outputs that are not those of a byte. */
#include "columns.h"

void tinyengine_plain_filters(const struct conv_call *c, const uint32_t *x, int32_t depth, int8_t *out0, int8_t *out1) {
    const struct conv_call copy = *c;
    const struct finish f = plain_finish(c);
    filters(0, &copy, &f, x, depth, out0, out1);
}

void tinyengine_last_filter(const struct conv_call *c, int32_t quick, const uint32_t *x, int32_t depth, int8_t *out0,
                          int8_t *out1) {
    const struct finish f = plain_finish(c);
    const int32_t last = c->out_c - 1, bias = c->bias ? c->bias[last] : 0;
    const int8_t *filter = (const int8_t *)c->filter + last * depth;
    const struct rescale r = rescale_of(quick, c->multiplier[last], c->shift[last]);
    int32_t sum0 = bias, sum1 = bias;
    for (int32_t left = depth; left > 0; left -= 4, x += 4, filter += 4) {
        const uint32_t w = left < 4 ? part_of_word(filter, left) : word(filter);
        const uint32_t even = even_bytes(w), odd = odd_bytes(w);
        sum0 = smlad(odd, x[1], smlad(even, x[0], sum0));
        sum1 = smlad(odd, x[3], smlad(even, x[2], sum1));
    }
    out1[last] = finished(quick, &f, sum1, &r);
    out0[last] = finished(quick, &f, sum0, &r);
}

void tinyengine_range(const struct conv_call *c) {
    const int32_t least = c->least, most = c->most;
    const uint32_t lows = ((uint32_t)least & 0xFF) * 0x01010101u, highs = ((uint32_t)most & 0xFF) * 0x01010101u;
    int32_t n = c->batch * c->out_h * c->out_w * c->out_c;
    int8_t *out = c->output;
    if (least <= -128 && most >= 127) return;
    for (; n >= 4; n -= 4, out += 4) *(any_word *)out = smaller_bytes(larger_bytes(word(out), lows), highs);
    for (; n > 0; n--, out++) *out = (int8_t)smaller_bytes(larger_bytes((uint32_t)*out, lows), highs);
}

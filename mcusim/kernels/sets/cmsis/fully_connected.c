/* FULLY_CONNECTED: a vector by two filter rows at a time, the input offset added by SXTAB16 as the vector is widened. No
   scratch. A filter with an offset of its own goes through plain loops. Sums are rounded once, as LiteRT does here and only
   here; the library rounds twice. */
#include "dsp.h"
#include "fixed_point.h"

INLINE int8_t rounded_once(const struct finish *f, int32_t sum, int32_t multiplier, int32_t shift) {
    return (int8_t)clamped(scale_once(sum, multiplier, shift) + f->offset, f->least, f->most);
}

/* One or two rows (those of the filter are one behind the other) by the vector. */
INLINE void rows_by_vector(const struct conv_call *c, const int8_t *vector, const int8_t *row, int32_t *sum, int32_t rows) {
    const int32_t depth = c->in_c, offset = c->input_offset;
    const uint32_t offsets = twice(offset);
    const int8_t *second = row + depth;
    int32_t s0 = sum[0], s1 = sum[1];
    for (int32_t n = depth >> 2; n; n--) {
        const uint32_t x = word_on(&vector), odd = sxtab16_8(offsets, x), even = sxtab16(offsets, x);
        uint32_t w = word_on(&row);
        s0 = smlad(sxtb16_8(w), odd, s0);
        s0 = smlad(sxtb16(w), even, s0);
        if (rows == 1) continue;
        w = word_on(&second);
        s1 = smlad(sxtb16_8(w), odd, s1);
        s1 = smlad(sxtb16(w), even, s1);
    }
    for (int32_t n = depth & 3; n; n--) {
        const int32_t x = *vector++ + offset;
        s0 += x * *row++;
        if (rows == 2) s1 += x * *second++;
    }
    sum[0] = s0, sum[1] = s1;
}

static void one_vector(const struct conv_call *c, const int8_t *vector, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t *multiplier = c->multiplier, *shift = c->shift, *bias = c->bias;
    const int8_t *row = c->filter;
    int32_t i = 0;
    for (; i < c->out_c - 1; i += 2, row += 2 * c->in_c) {
        int32_t sum[2] = {bias ? bias[i] : 0, bias ? bias[i + 1] : 0};
        rows_by_vector(c, vector, row, sum, 2);
        *out++ = rounded_once(&f, sum[0], multiplier[i], shift[i]);
        *out++ = rounded_once(&f, sum[1], multiplier[i + 1], shift[i + 1]);
    }
    if (i < c->out_c) {
        int32_t sum[2] = {bias ? bias[i] : 0, 0};
        rows_by_vector(c, vector, row, sum, 1);
        *out = rounded_once(&f, sum[0], multiplier[i], shift[i]);
    }
}

static void one_vector_plain(const struct conv_call *c, const int8_t *vector, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int8_t *filter = c->filter;
    for (int32_t i = 0; i < c->out_c; i++, filter += c->in_c) {
        int32_t sum = c->bias ? c->bias[i] : 0;
        for (int32_t n = 0; n < c->in_c; n++) sum += (vector[n] + c->input_offset) * (filter[n] + c->filter_offset);
        *out++ = rounded_once(&f, sum, c->multiplier[i], c->shift[i]);
    }
}

int32_t cmsis_fully_connected(const struct conv_call *c) {
    const int8_t *vector = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, vector += c->in_c, out += c->out_c) {
        (c->filter_offset ? one_vector_plain : one_vector)(c, vector, out);
    }
    return 0;
}

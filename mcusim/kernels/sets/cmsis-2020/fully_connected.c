/* FULLY_CONNECTED of 2020: a vector by two filter rows at a time, sixteen products a turn, the offsets of both added by
   SXTAB16 as they are widened; what is behind the last sixteen goes one by one. No scratch. Sums are rounded once, as LiteRT
   does here and only here; the library rounds twice. */
#include "dsp.h"
#include "fixed_point.h"

struct operands { /* the vector, the first of the rows (one behind the other), their elements */
    const int8_t *vector, *row;
    int32_t depth;
};

INLINE int8_t rounded_once(const struct finish *f, int32_t sum, int32_t multiplier, int32_t shift) {
    return (int8_t)clamped(scale_once(sum, multiplier, shift) + f->offset, f->least, f->most);
}

INLINE void four_products(struct operands *o, uint32_t offsets, uint32_t row_offsets, int32_t *sum, int32_t rows) {
    const uint32_t w = word_on(&o->row), x = word_on(&o->vector);
    const uint32_t even = sxtab16(offsets, x), odd = sxtab16(offsets, ror8(x));
    const uint32_t w_even = sxtab16(row_offsets, w), w_odd = sxtab16(row_offsets, ror8(w));
    sum[0] = smlad(even, w_even, sum[0]);
    sum[0] = smlad(odd, w_odd, sum[0]);
    if (rows == 1) return;
    const uint32_t v = word(o->row + o->depth - 4); /* the second row; the first has gone on */
    sum[1] = smlad(even, sxtab16(row_offsets, v), sum[1]);
    sum[1] = smlad(odd, sxtab16(row_offsets, ror8(v)), sum[1]);
}

/* One or two rows by the vector. */
INLINE void rows_by_vector(const struct conv_call *c, struct operands o, int32_t *sum, int32_t rows) {
    const int32_t offset = c->input_offset, row_offset = c->filter_offset, depth = o.depth;
    const uint32_t offsets = twice(offset), row_offsets = twice(row_offset);
    int32_t s[2] = {sum[0], sum[1]}, n = 0;
    for (; n <= depth - 16; n += 16) {
        four_products(&o, offsets, row_offsets, s, rows);
        four_products(&o, offsets, row_offsets, s, rows);
        four_products(&o, offsets, row_offsets, s, rows);
        four_products(&o, offsets, row_offsets, s, rows);
    }
    for (; n < depth; n++, o.row++, o.vector++) {
        const int32_t x = *o.vector + offset;
        s[0] += x * (o.row[0] + row_offset);
        if (rows == 2) s[1] += x * (o.row[depth] + row_offset);
    }
    sum[0] = s[0], sum[1] = s[1];
}

static __attribute__((noinline)) void one_vector(const struct conv_call *c, const int8_t *vector, int8_t *out) {
    const struct finish f = {c->output_offset, c->least, c->most};
    const int32_t *multiplier = c->multiplier, *shift = c->shift, *bias = c->bias;
    struct operands o = {vector, c->filter, c->in_c};
    int32_t i = 0;
    for (; i < c->out_c - 1; i += 2, o.row += 2 * o.depth) {
        int32_t sum[2] = {bias ? bias[i] : 0, bias ? bias[i + 1] : 0};
        rows_by_vector(c, o, sum, 2);
        *out++ = rounded_once(&f, sum[0], multiplier[i], shift[i]);
        *out++ = rounded_once(&f, sum[1], multiplier[i + 1], shift[i + 1]);
    }
    if (i < c->out_c) {
        int32_t sum[2] = {bias ? bias[i] : 0, 0};
        rows_by_vector(c, o, sum, 1);
        *out = rounded_once(&f, sum[0], multiplier[i], shift[i]);
    }
}

int32_t cmsis_2020_fully_connected(const struct conv_call *c) {
    const int8_t *vector = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, vector += c->in_c, out += c->out_c) one_vector(c, vector, out);
    return 0;
}

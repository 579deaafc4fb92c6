/* Two columns of a patch against filters, two at a time: the core of all convolutions here.

   A column is widened to 16 bits with the input offset added, and kept in groups of four elements: those of the first
   column at 0 and 2, at 1 and 3, then those of the second: as SXTB16 leaves the weights, so that these stay bytes in
   flash. The last group is filled with zeros. */
#ifndef MCUSIM_TINYENGINE_COLUMNS_H
#define MCUSIM_TINYENGINE_COLUMNS_H
#include "tinyengine.h"

struct four {
    int32_t s00, s01, s10, s11; /* filter, column */
};

INLINE uint32_t part_of_word(const int8_t *at, int32_t bytes) { /* 1 to 3 */
    uint32_t found = (uint8_t)at[0];
    if (bytes > 1) found |= (uint32_t)(uint8_t)at[1] << 8;
    if (bytes > 2) found |= (uint32_t)(uint8_t)at[2] << 16;
    return found;
}

INLINE void group(const uint32_t *x, uint32_t w0, uint32_t w1, struct four *s) {
    const uint32_t even0 = even_bytes(w0), odd0 = odd_bytes(w0), even1 = even_bytes(w1), odd1 = odd_bytes(w1);
    s->s00 = smlad(even0, x[0], s->s00);
    s->s00 = smlad(odd0, x[1], s->s00);
    s->s01 = smlad(even0, x[2], s->s01);
    s->s01 = smlad(odd0, x[3], s->s01);
    s->s10 = smlad(even1, x[0], s->s10);
    s->s10 = smlad(odd1, x[1], s->s10);
    s->s11 = smlad(even1, x[2], s->s11);
    s->s11 = smlad(odd1, x[3], s->s11);
}

INLINE void two_filters(const uint32_t *x, const int8_t *filter, int32_t depth, struct four *s) {
    const int8_t *other = filter + depth;
    for (const int8_t *const end = filter + (depth & ~3); filter != end; x += 4, filter += 4, other += 4) {
        group(x, word(filter), word(other), s);
        if (__builtin_constant_p(depth)) loads_stay();
    }
    if (depth & 3) group(x, part_of_word(filter, depth & 3), part_of_word(other, depth & 3), s);
}

/* In plain.c: all pairs of filters in the plain way, and the last of an odd number. */
void tinyengine_plain_filters(const struct conv_call *c, const uint32_t *x, int32_t depth, int8_t *out0, int8_t *out1);
void tinyengine_last_filter(const struct conv_call *c, int32_t quick, const uint32_t *x, int32_t depth, int8_t *out0,
                          int8_t *out1);

/* Pairs of filters over the columns `x`; output of the first column at out0, of the second at out1, which may be the same.
   Quick ones have a bias. */
INLINE void filters(int32_t quick, const struct conv_call *c, const struct finish *f, const uint32_t *x, int32_t depth,
                    int8_t *out0, int8_t *out1) {
    const int32_t *bias = c->bias, *multiplier = c->multiplier, *shift = c->shift;
    const int8_t *filter = c->filter;
    for (int32_t n = c->out_c >> 1; n; n--, filter += 2 * depth, multiplier += 2, shift += 2, out0 += 2, out1 += 2) {
        struct four s = {0, 0, 0, 0};
        if (quick || bias) s = (struct four){bias[0], bias[0], bias[1], bias[1]}, bias += 2;
        if (__builtin_constant_p(depth)) loads_stay();
        two_filters(x, filter, depth, &s);
        loads_stay();
        const struct rescale first = rescale_of(quick, multiplier[0], shift[0]);
        out1[0] = finished(quick, f, s.s01, &first);
        out0[0] = finished(quick, f, s.s00, &first);
        const struct rescale second = rescale_of(quick, multiplier[1], shift[1]);
        out1[1] = finished(quick, f, s.s11, &second);
        out0[1] = finished(quick, f, s.s10, &second);
    }
}

INLINE void all_filters(const struct conv_call *c, const struct finish *f, const uint32_t *x, int32_t depth, int8_t *out0,
                        int8_t *out1) {
    if (f->quick) {
        filters(1, c, f, x, depth, out0, out1);
    } else {
        tinyengine_plain_filters(f->call, x, depth, out0, out1);
    }
    if (c->out_c & 1) tinyengine_last_filter(f->call, f->quick, x, depth, out0, out1);
}

/* `count` bytes as elements of a column from `to` on; returns behind the last group. */
INLINE uint32_t *widened(const int8_t *from, uint32_t *to, int32_t count, uint32_t offsets) {
    for (int32_t n = count >> 2; n; n--, from += 4, to += 4) {
        const uint32_t bytes = word(from);
        to[0] = even_plus(offsets, bytes);
        to[1] = odd_plus(offsets, bytes);
    }
    if (count & 3) {
        const uint32_t bytes = part_of_word(from, count & 3);
        to[0] = even_plus(offsets, bytes) & ((count & 3) > 2 ? 0xFFFFFFFF : 0xFFFF);
        to[1] = odd_plus(offsets, bytes) & ((count & 3) > 1 ? 0xFFFF : 0);
        to += 4;
    }
    return to;
}
#endif

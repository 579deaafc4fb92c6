/* FULLY_CONNECTED: a vector by two filter rows at a time, the input offset added by SXTAB16 as the vector is widened. No
   scratch. A filter with an offset of its own goes through plain loops. Sums are rounded once, here alone. */
#include "tinyengine.h"

struct pair {
    int32_t first, second;
};

INLINE int32_t summed_up(int32_t sum, int32_t product) { return (int32_t)((uint32_t)sum + (uint32_t)product); }

INLINE int8_t rounded_once(const struct conv_call *c, int32_t sum, int32_t channel) {
    const uint32_t scaled = (uint32_t)scale_once(sum, c->multiplier[channel], c->shift[channel]);
    return (int8_t)clamp((int32_t)(scaled + (uint32_t)c->output_offset), c->least, c->most);
}

/* Two rows, or one twice, by the vector. */
INLINE struct pair rows_by_vector(const int8_t *vector, const int8_t *row, const int8_t *other, int32_t depth, int32_t offset,
                                  struct pair s) {
    const uint32_t offsets = twice(offset);
    int32_t n = depth >> 2;
    for (; n; n--, vector += 4, row += 4, other += 4) {
        const uint32_t x = word(vector), w = word(row), v = word(other);
        const uint32_t even = even_plus(offsets, x), odd = odd_plus(offsets, x);
        s.first = smlad(odd_bytes(w), odd, smlad(even_bytes(w), even, s.first));
        s.second = smlad(odd_bytes(v), odd, smlad(even_bytes(v), even, s.second));
    }
    for (n = depth & 3; n; n--) {
        const int32_t x = *vector++ + offset;
        s.first = summed_up(s.first, x * *row++), s.second = summed_up(s.second, x * *other++);
    }
    return s;
}

static void one_vector(const struct conv_call *c, const int8_t *vector, int8_t *out) {
    const int8_t *row = c->filter;
    const int32_t *bias = c->bias;
    for (int32_t i = 0; i < c->out_c; i += 2, row += 2 * c->in_c) {
        const int32_t more = i + 1 < c->out_c; /* the last of an odd number: its row twice */
        const struct pair start = {bias ? bias[i] : 0, bias ? bias[i + more] : 0};
        const struct pair s = rows_by_vector(vector, row, row + more * c->in_c, c->in_c, c->input_offset, start);
        out[i] = rounded_once(c, s.first, i);
        if (more) out[i + 1] = rounded_once(c, s.second, i + 1);
    }
}

static void one_vector_plain(const struct conv_call *c, const int8_t *vector, int8_t *out) {
    const int8_t *filter = c->filter;
    for (int32_t i = 0; i < c->out_c; i++, filter += c->in_c) {
        int32_t sum = c->bias ? c->bias[i] : 0;
        for (int32_t n = 0; n < c->in_c; n++) {
            sum = summed_up(sum, (vector[n] + c->input_offset) * (filter[n] + c->filter_offset));
        }
        out[i] = rounded_once(c, sum, i);
    }
}

int32_t tinyengine_fully_connected(const struct conv_call *c) {
    const int8_t *vector = c->input;
    int8_t *out = c->output;
    for (int32_t i = 0; i < c->batch; i++, vector += c->in_c, out += c->out_c) {
        (c->filter_offset ? one_vector_plain : one_vector)(c, vector, out);
    }
    return 0;
}

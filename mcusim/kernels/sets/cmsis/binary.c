/* ADD and MUL: four elements at a time where both inputs have the output's shape, one by one where they are broadcast. */
#include "dsp.h"

typedef int32_t operation(const struct binary_call *c, int32_t a, int32_t b); /* of inputs whose offsets are added */

INLINE int32_t scaled(int32_t value, int32_t multiplier, int32_t shift) { /* shift 0 or to the right */
    return rounded_shift(high_product(value, multiplier), -shift);
}

INLINE int32_t sum_of(const struct binary_call *c, int32_t a, int32_t b) {
    const int32_t x = scaled((int32_t)((uint32_t)a << c->left_shift), c->input1_multiplier, c->input1_shift);
    const int32_t y = scaled((int32_t)((uint32_t)b << c->left_shift), c->input2_multiplier, c->input2_shift);
    return clamped(scaled(x + y, c->output_multiplier, c->output_shift) + c->output_offset, c->least, c->most);
}

INLINE int32_t product_of(const struct binary_call *c, int32_t a, int32_t b) {
    const int32_t product = requantised(a * b, c->output_multiplier, c->output_shift);
    return clamped(product + c->output_offset, c->least, c->most);
}

INLINE void same_shapes(const struct binary_call *call, int32_t count, operation *of) {
    const struct binary_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    const uint32_t offsets1 = twice(c->input1_offset), offsets2 = twice(c->input2_offset);
    const int8_t *in1 = c->input1, *in2 = c->input2;
    int8_t *out = c->output;
    for (int32_t n = count >> 2; n; n--, out += 4) {
        const uint32_t a = word_on(&in1), b = word_on(&in2);
        const uint32_t even1 = sadd16(sxtb16(a), offsets1), odd1 = sadd16(sxtb16(ror8(a)), offsets1);
        const uint32_t even2 = sadd16(sxtb16(b), offsets2), odd2 = sadd16(sxtb16(ror8(b)), offsets2);
        const uint32_t r0 = (uint8_t)of(c, (int16_t)even1, (int16_t)even2);
        const uint32_t r2 = (uint8_t)of(c, (int32_t)even1 >> 16, (int32_t)even2 >> 16);
        const uint32_t r1 = (uint8_t)of(c, (int16_t)odd1, (int16_t)odd2);
        const uint32_t r3 = (uint8_t)of(c, (int32_t)odd1 >> 16, (int32_t)odd2 >> 16);
        *(any_word *)out = r0 | r1 << 8 | r2 << 16 | r3 << 24;
    }
    for (int32_t n = count & 3; n; n--) {
        *out++ = (int8_t)of(c, *in1++ + c->input1_offset, *in2++ + c->input2_offset);
    }
}

/* Elements from one index of an axis to the next; 0 where the input is repeated. */
INLINE void steps_of(const int32_t *shape, int32_t *step) {
    for (int32_t axis = 3, size = 1; axis >= 0; size *= shape[axis], axis--) step[axis] = shape[axis] == 1 ? 0 : size;
}

INLINE void broadcast(const struct binary_call *c, operation *of) {
    int32_t s1[4], s2[4], i[3];
    int8_t *out = c->output;
    steps_of(c->shape1, s1);
    steps_of(c->shape2, s2);
    for (i[0] = 0; i[0] < c->shape[0]; i[0]++) {
        for (i[1] = 0; i[1] < c->shape[1]; i[1]++) {
            for (i[2] = 0; i[2] < c->shape[2]; i[2]++) {
                const int8_t *in1 = (const int8_t *)c->input1 + i[0] * s1[0] + i[1] * s1[1] + i[2] * s1[2];
                const int8_t *in2 = (const int8_t *)c->input2 + i[0] * s2[0] + i[1] * s2[1] + i[2] * s2[2];
                for (int32_t n = c->shape[3]; n; n--, in1 += s1[3], in2 += s2[3]) {
                    *out++ = (int8_t)of(c, *in1 + c->input1_offset, *in2 + c->input2_offset);
                }
            }
        }
    }
}

INLINE void binary(const struct binary_call *c, operation *of) {
    int32_t count = 1, same = 1;
    for (int32_t i = 0; i < 4; i++) {
        count *= c->shape[i];
        same = same && c->shape1[i] == c->shape[i] && c->shape2[i] == c->shape[i];
    }
    same ? same_shapes(c, count, of) : broadcast(c, of);
}

int32_t cmsis_add(const struct binary_call *c) {
    binary(c, sum_of);
    return 0;
}

int32_t cmsis_mul(const struct binary_call *c) {
    binary(c, product_of);
    return 0;
}

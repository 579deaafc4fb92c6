/* ADD. Where both inputs have the output's shape, four elements at a time, each rescaled by one SMMULR: an input with its
   offset has 9 bits, shifted to the left by 20 it is far from 2^30. Others, and scales whose output shift is not to the
   right, go through the plain function. */
#include "tinyengine.h"

int32_t reference_add(const struct binary_call *c);

struct side { /* of a rescaling: half of 2^right, and -1 where there is something to round */
    int32_t offset, multiplier, right, half, rounds;
};

INLINE struct side side_of(int32_t offset, int32_t multiplier, int32_t shift) {
    const int32_t right = -shift;
    return (struct side){offset, multiplier, right, right ? (int32_t)(1u << (right - 1)) : 0, right ? -1 : 0};
}

INLINE int32_t scaled(const struct side *s, int32_t doubled) {
    const int32_t high = high_rounded(doubled, s->multiplier);
    return (high + s->half + ((high >> 31) & s->rounds)) >> s->right;
}

INLINE int32_t input_of(const struct side *s, int32_t value) {
    return scaled(s, (int32_t)((uint32_t)(value + s->offset) << 21));
}

INLINE int8_t added(const struct binary_call *c, const struct side *a, const struct side *b, const struct side *out,
                    int32_t x, int32_t y) {
    const int32_t sum = input_of(a, x) + input_of(b, y);
    return (int8_t)clamp(scaled(out, (int32_t)((uint32_t)sum << 1)) + c->output_offset, c->least, c->most);
}

INLINE int32_t is_quick(const struct binary_call *c) {
    int32_t same = c->left_shift == 20;
    for (int32_t i = 0; i < 4; i++) same = same && c->shape1[i] == c->shape[i] && c->shape2[i] == c->shape[i];
    const int32_t right = c->input1_shift <= 0 && c->input2_shift <= 0 && c->output_shift <= 0;
    return same && right && c->input1_shift > -31 && c->input2_shift > -31 && c->output_shift > -31;
}

int32_t tinyengine_add_same(const struct binary_call *call) {
    const struct binary_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    const struct side a = side_of(c->input1_offset, c->input1_multiplier, c->input1_shift);
    const struct side b = side_of(c->input2_offset, c->input2_multiplier, c->input2_shift);
    const struct side last = side_of(0, c->output_multiplier, c->output_shift);
    const int8_t *in1 = c->input1, *in2 = c->input2;
    int8_t *out = c->output;
    int32_t n = c->shape[0] * c->shape[1] * c->shape[2] * c->shape[3];
    for (; n >= 4; n -= 4, in1 += 4, in2 += 4, out += 4) {
        const uint32_t x = word(in1), y = word(in2);
        uint32_t found = (uint8_t)added(c, &a, &b, &last, (int8_t)x, (int8_t)y);
        found |= (uint32_t)(uint8_t)added(c, &a, &b, &last, (int8_t)(x >> 8), (int8_t)(y >> 8)) << 8;
        found |= (uint32_t)(uint8_t)added(c, &a, &b, &last, (int8_t)(x >> 16), (int8_t)(y >> 16)) << 16;
        found |= (uint32_t)(uint8_t)added(c, &a, &b, &last, (int8_t)(x >> 24), (int8_t)(y >> 24)) << 24;
        *(any_word *)out = found;
    }
    for (; n; n--) *out++ = added(c, &a, &b, &last, *in1++, *in2++);
    return 0;
}

int32_t tinyengine_add(const struct binary_call *c) { return is_quick(c) ? tinyengine_add_same(c) : reference_add(c); }

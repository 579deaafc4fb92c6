/* MUL. Where both inputs have the output's shape and the product's shift is to the right, one SMMULR an element: a product
   has 17 bits. Others go through the plain function. */
#include "tinyengine.h"

int32_t reference_mul(const struct binary_call *c);

INLINE int8_t product(const struct binary_call *c, int32_t a, int32_t b, int32_t half, int32_t rounds) {
    const int32_t both = (a + c->input1_offset) * (b + c->input2_offset);
    const int32_t high = high_rounded((int32_t)((uint32_t)both << 1), c->output_multiplier);
    const int32_t scaled = (high + half + ((high >> 31) & rounds)) >> -c->output_shift;
    return (int8_t)clamp(scaled + c->output_offset, c->least, c->most);
}

int32_t tinyengine_mul(const struct binary_call *call) {
    const struct binary_call copy = *call, *const c = &copy; /* stores of bytes do not change it */
    int32_t same = c->output_shift <= 0 && c->output_shift > -31, n = 1;
    for (int32_t i = 0; i < 4; n *= c->shape[i++]) same = same && c->shape1[i] == c->shape[i] && c->shape2[i] == c->shape[i];
    if (!same) return reference_mul(call);
    const int32_t half = c->output_shift ? (int32_t)(1u << (-c->output_shift - 1)) : 0, rounds = c->output_shift ? -1 : 0;
    const int8_t *in1 = c->input1, *in2 = c->input2;
    int8_t *out = c->output;
    for (; n; n--) *out++ = product(c, *in1++, *in2++, half, rounds);
    return 0;
}

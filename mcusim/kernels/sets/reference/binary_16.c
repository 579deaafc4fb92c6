/* Operators of two inputs of int16; a dimension of 1 is repeated. */
#include "binary.h"

/* ADD and SUB of scales that are powers of two: the shift of an input is its scale over the output's. */
static inline int32_t shifted(int32_t value, int32_t shift) { return divide_by_power(value, -shift); }

static inline int32_t sum_16(const struct binary_call *call, int32_t a, int32_t b)
{
    if (call->left_shift)
        return sum(call, a, b);
    return shifted(a, call->input1_shift) + shifted(b, call->input2_shift);
}

static inline int32_t difference_16(const struct binary_call *call, int32_t a, int32_t b)
{
    if (call->left_shift)
        return difference(call, a, b);
    return shifted(a, call->input1_shift) - shifted(b, call->input2_shift);
}

BINARY(reference_add_s16, int16_t, sum_16)
BINARY(reference_sub_s16, int16_t, difference_16)
BINARY(reference_mul_s16, int16_t, product)
BINARY(reference_maximum_s16, int16_t, larger)
BINARY(reference_minimum_s16, int16_t, smaller)

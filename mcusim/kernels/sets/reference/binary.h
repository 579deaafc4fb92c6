/* Operators of two inputs, for elements of any type; a dimension of 1 is repeated. */
#ifndef MCUSIM_BINARY_H
#define MCUSIM_BINARY_H
#include "fixed_point.h"
#include "kernels.h"

static inline int32_t at(const int32_t shape[4], const int32_t index[4])
{
    int32_t place = 0;
    for (int d = 0; d < 4; d++)
        place = place * shape[d] + (shape[d] == 1 ? 0 : index[d]);
    return place;
}

static inline int32_t scaled(const struct binary_call *call, int32_t value, int32_t multiplier, int32_t shift)
{
    return scale(shift_left(value, call->left_shift), multiplier, shift);
}

static inline int32_t sum(const struct binary_call *call, int32_t a, int32_t b)
{
    a = scaled(call, a + call->input1_offset, call->input1_multiplier, call->input1_shift);
    b = scaled(call, b + call->input2_offset, call->input2_multiplier, call->input2_shift);
    return scale(a + b, call->output_multiplier, call->output_shift) + call->output_offset;
}

static inline int32_t difference(const struct binary_call *call, int32_t a, int32_t b)
{
    a = scaled(call, a + call->input1_offset, call->input1_multiplier, call->input1_shift);
    b = scaled(call, b + call->input2_offset, call->input2_multiplier, call->input2_shift);
    return scale(a - b, call->output_multiplier, call->output_shift) + call->output_offset;
}

static inline int32_t product(const struct binary_call *call, int32_t a, int32_t b)
{
    int32_t value = (a + call->input1_offset) * (b + call->input2_offset);
    return scale(value, call->output_multiplier, call->output_shift) + call->output_offset;
}

static inline int32_t larger(const struct binary_call *call, int32_t a, int32_t b)
{
    (void)call;
    return a > b ? a : b;
}

static inline int32_t smaller(const struct binary_call *call, int32_t a, int32_t b)
{
    (void)call;
    return a < b ? a : b;
}

#define BINARY(name, type, function)                                                                                   \
    int32_t name(const struct binary_call *call)                                                                       \
    {                                                                                                                  \
        const type *input1 = call->input1, *input2 = call->input2;                                                     \
        type *output = call->output;                                                                                   \
        int32_t i[4];                                                                                                  \
        for (i[0] = 0; i[0] < call->shape[0]; i[0]++)                                                                  \
            for (i[1] = 0; i[1] < call->shape[1]; i[1]++)                                                              \
                for (i[2] = 0; i[2] < call->shape[2]; i[2]++)                                                          \
                    for (i[3] = 0; i[3] < call->shape[3]; i[3]++) {                                                    \
                        int32_t value = function(call, input1[at(call->shape1, i)], input2[at(call->shape2, i)]);      \
                        *output++ = (type)clamp(value, call->least, call->most);                                       \
                    }                                                                                                  \
        return 0;                                                                                                      \
    }
#endif

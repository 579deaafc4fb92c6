/* SOFTMAX in fixed point as gemmlowp computes it: to is the output's type, of bits; low and high are its limits. */
#ifndef MCUSIM_SOFTMAX_H
#define MCUSIM_SOFTMAX_H
#include "exponential.h"
#include "kernels.h"

static int32_t exp_of_difference(const struct softmax_call *call, int32_t difference)
{
    return exp_of_negative(doubling_high(shift_left(difference, call->shift), call->multiplier));
}

#define SOFTMAX(name, type, to, least, low, high, bits)                                                                \
    static void name##_row(const struct softmax_call *call, const type *input, to *output)                             \
    {                                                                                                                  \
        int32_t largest = least, sum = 0;                                                                              \
        for (int32_t i = 0; i < call->depth; i++)                                                                      \
            largest = input[i] > largest ? input[i] : largest;                                                         \
        for (int32_t i = 0; i < call->depth; i++)                                                                      \
            if (input[i] - largest >= call->least_difference)                                                          \
                sum += divide_by_power(exp_of_difference(call, input[i] - largest), 12);                               \
        int32_t zeros = __builtin_clz((uint32_t)sum);                                                                  \
        int32_t factor = reciprocal_of_one_plus((int32_t)(((uint32_t)sum << zeros) - (1u << 31)));                     \
        for (int32_t i = 0; i < call->depth; i++) {                                                                    \
            int32_t value = 0;                                                                                         \
            if (input[i] - largest >= call->least_difference)                                                          \
                value = divide_by_power(doubling_high(factor, exp_of_difference(call, input[i] - largest)),            \
                                        12 - zeros + 31 - bits);                                                       \
            output[i] = (to)clamp(value + low, low, high);                                                             \
        }                                                                                                              \
    }                                                                                                                  \
    int32_t name(const struct softmax_call *call)                                                                      \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        to *output = call->output;                                                                                     \
        for (int32_t row = 0; row < call->rows; row++)                                                                 \
            name##_row(call, input + row * call->depth, output + row * call->depth);                                   \
        return 0;                                                                                                      \
    }
#endif

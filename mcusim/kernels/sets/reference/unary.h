/* Operators of one element at a time, for elements of any type. */
#ifndef MCUSIM_UNARY_H
#define MCUSIM_UNARY_H
#include "fixed_point.h"
#include "kernels.h"

static inline int32_t rescale(const struct unary_call *call, int32_t value)
{
    return scale(value + call->input_offset, call->multiplier, call->shift) + call->output_offset;
}

#define REQUANTIZE(name, from, to)                                                                                     \
    int32_t name(const struct unary_call *call)                                                                        \
    {                                                                                                                  \
        const from *input = call->input;                                                                               \
        to *output = call->output;                                                                                     \
        for (int32_t i = 0; i < call->elements; i++)                                                                   \
            output[i] = (to)clamp(rescale(call, input[i]), call->least, call->most);                                   \
        return 0;                                                                                                      \
    }

#define LEAKY_RELU(name, type)                                                                                         \
    int32_t name(const struct unary_call *call)                                                                        \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        type *output = call->output;                                                                                   \
        for (int32_t i = 0; i < call->elements; i++) {                                                                 \
            int32_t value = input[i] + call->input_offset;                                                             \
            value = value >= 0 ? scale(value, call->multiplier, call->shift)                                           \
                               : scale(value, call->second_multiplier, call->second_shift);                            \
            output[i] = (type)clamp(value + call->output_offset, call->least, call->most);                             \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

static inline float scale_of(const struct unary_call *call)
{
    float value;
    __builtin_memcpy(&value, &call->multiplier, sizeof value);
    return value;
}

#define DEQUANTIZE(name, type)                                                                                         \
    int32_t name(const struct unary_call *call)                                                                        \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        float *output = call->output, factor = scale_of(call);                                                         \
        for (int32_t i = 0; i < call->elements; i++)                                                                   \
            output[i] = factor * (float)(input[i] + call->input_offset);                                               \
        return 0;                                                                                                      \
    }

static inline int32_t nearest(float value) /* halves away from zero; what is out of range is INT32_MIN, as on x86 */
{
    if (!(value > -2147483648.0f && value < 2147483648.0f))
        return INT32_MIN;
    int32_t whole = (int32_t)value;
    float rest = value - (float)whole;
    return whole + (rest >= 0.5f) - (rest <= -0.5f);
}

#define QUANTIZE(name, type)                                                                                           \
    int32_t name(const struct unary_call *call)                                                                        \
    {                                                                                                                  \
        const float *input = call->input;                                                                              \
        type *output = call->output;                                                                                   \
        float factor = scale_of(call);                                                                                 \
        for (int32_t i = 0; i < call->elements; i++)                                                                   \
            output[i] = (type)clamp(nearest(input[i] / factor) + call->output_offset, call->least, call->most);        \
        return 0;                                                                                                      \
    }
#endif

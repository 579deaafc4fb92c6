/* Operators of one element of int16 at a time; QUANTIZE from and to other types. */
#include "sigmoid.h"
#include "unary.h"

REQUANTIZE(reference_requantize_s16, int16_t, int16_t)
REQUANTIZE(reference_requantize_s16_to_s8, int16_t, int8_t)
REQUANTIZE(reference_requantize_s8_to_s16, int8_t, int16_t)
REQUANTIZE(reference_requantize_s16_to_s32, int16_t, int32_t)
REQUANTIZE(reference_requantize_s32_to_s16, int32_t, int16_t)
LEAKY_RELU(reference_leaky_relu_s16, int16_t)
DEQUANTIZE(reference_dequantize_s16, int16_t)
QUANTIZE(reference_quantize_s16, int16_t)

int32_t reference_relu_s16(const struct unary_call *call) { return reference_requantize_s16(call); }

static inline int32_t in_table(const struct unary_call *call, int32_t value)
{
    int32_t half = call->shift > 0 ? 1 << (call->shift - 1) : 0;
    return (value * call->multiplier + half) >> call->shift;
}

int32_t reference_logistic_s16(const struct unary_call *call)
{
    const int16_t *input = call->input;
    int16_t *output = call->output;
    for (int32_t i = 0; i < call->elements; i++)
        output[i] = (int16_t)logistic_of(in_table(call, input[i]));
    return 0;
}

int32_t reference_tanh_s16(const struct unary_call *call)
{
    const int16_t *input = call->input;
    int16_t *output = call->output;
    for (int32_t i = 0; i < call->elements; i++)
        output[i] = (int16_t)tanh_of(in_table(call, input[i]));
    return 0;
}

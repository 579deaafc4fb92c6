/* Operators of one element at a time. */
#include "unary.h"

REQUANTIZE(reference_requantize, int8_t, int8_t)
REQUANTIZE(reference_requantize_u8, uint8_t, uint8_t)
REQUANTIZE(reference_requantize_u8_to_s8, uint8_t, int8_t)
REQUANTIZE(reference_requantize_s8_to_u8, int8_t, uint8_t)

int32_t reference_relu(const struct unary_call *call) { return reference_requantize(call); }
int32_t reference_relu_u8(const struct unary_call *call) { return reference_requantize_u8(call); }

LEAKY_RELU(reference_leaky_relu, int8_t)
LEAKY_RELU(reference_leaky_relu_u8, uint8_t)

static int32_t look_up(const struct unary_call *call, int32_t sign) /* sign: the bit that makes an input an index */
{
    const uint8_t *input = call->input, *table = call->table;
    uint8_t *output = call->output;
    for (int32_t i = 0; i < call->elements; i++)
        output[i] = table[input[i] ^ sign];
    return 0;
}

int32_t reference_logistic(const struct unary_call *call) { return look_up(call, 0x80); }
int32_t reference_logistic_u8(const struct unary_call *call) { return look_up(call, 0); }
int32_t reference_tanh(const struct unary_call *call) { return look_up(call, 0x80); }
int32_t reference_tanh_u8(const struct unary_call *call) { return look_up(call, 0); }

static int16_t high_rounded(int16_t a, int16_t b) /* 2ab / 2^16 to the nearest */
{
    if (a == b && a == INT16_MIN)
        return INT16_MAX;
    int32_t product = a * b;
    return (int16_t)((product + (product >= 0 ? 1 << 14 : 1 - (1 << 14))) / (1 << 15));
}

static int16_t high(int16_t a, int16_t b) /* 2ab / 2^16 towards zero */
{
    return a == b && a == INT16_MIN ? INT16_MAX : (int16_t)(a * b / (1 << 15));
}

static int16_t left(int16_t value, int32_t bits)
{
    int64_t wide = (int64_t)value * (1 << bits);
    return wide > INT16_MAX ? INT16_MAX : wide < INT16_MIN ? INT16_MIN : (int16_t)wide;
}

static int16_t right(int16_t value, int32_t bits) { return (int16_t)divide_by_power(value, bits); }

/* x from -3 .. 3 to 0 .. 1 in Q0.15 */
static int16_t gate(const struct unary_call *call, int16_t value)
{
    if (call->second_shift > 0)
        value = left(value, call->second_shift - 1);
    value = high_rounded(value, (int16_t)call->second_multiplier);
    if (call->second_shift > 0)
        value = left(value, 1);
    if (call->second_shift < 0)
        value = right(value, -call->second_shift);
    return (int16_t)((value + (1 << 15)) >> 1);
}

#define HARD_SWISH(name, type)                                                                                         \
    int32_t name(const struct unary_call *call)                                                                        \
    {                                                                                                                  \
        const type *input = call->input;                                                                               \
        type *output = call->output;                                                                                   \
        for (int32_t i = 0; i < call->elements; i++) {                                                                 \
            int16_t value = (int16_t)((input[i] + call->input_offset) * (1 << 7));                                     \
            int16_t product = high(gate(call, value), high_rounded(value, (int16_t)call->multiplier));                 \
            int16_t result = (int16_t)(right(product, -call->shift) + call->output_offset);                            \
            output[i] = (type)clamp(result, call->least, call->most);                                                  \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

HARD_SWISH(reference_hard_swish, int8_t)
HARD_SWISH(reference_hard_swish_u8, uint8_t)

DEQUANTIZE(reference_dequantize, int8_t)
DEQUANTIZE(reference_dequantize_u8, uint8_t)

QUANTIZE(reference_quantize, int8_t)
QUANTIZE(reference_quantize_u8, uint8_t)

/* Element-wise operators that are not in binary.c and unary.c: other arithmetic, int32 and float32, CAST. */
#include "binary.h"

static int32_t squared_difference(const struct binary_call *call, int32_t a, int32_t b)
{
    a = scaled(call, a + call->input1_offset, call->input1_multiplier, call->input1_shift);
    b = scaled(call, b + call->input2_offset, call->input2_multiplier, call->input2_shift);
    return scale((a - b) * (a - b), call->output_multiplier, call->output_shift) + call->output_offset;
}

static int32_t prelu(const struct binary_call *call, int32_t value, int32_t alpha)
{
    value += call->input1_offset;
    if (value >= 0)
        value = scale(value, call->input1_multiplier, call->input1_shift);
    else
        value = scale(value * (alpha + call->input2_offset), call->output_multiplier, call->output_shift);
    return value + call->output_offset;
}

static int32_t plain_sum(const struct binary_call *call, int32_t a, int32_t b)
{
    (void)call;
    return a + b;
}

static int32_t plain_difference(const struct binary_call *call, int32_t a, int32_t b)
{
    (void)call;
    return a - b;
}

static int32_t plain_product(const struct binary_call *call, int32_t a, int32_t b)
{
    (void)call;
    return a * b;
}

static int32_t floor_of_quotient(const struct binary_call *call, int32_t a, int32_t b)
{
    (void)call;
    if (b == 0) /* LiteRT refuses; hardware gives 0 */
        return 0;
    int32_t quotient = a / b;
    return quotient - (quotient * b != a && (a < 0) != (b < 0));
}

BINARY(reference_squared_difference, int8_t, squared_difference)
BINARY(reference_prelu, int8_t, prelu)
BINARY(reference_prelu_u8, uint8_t, prelu)
BINARY(reference_add_s32, int32_t, plain_sum)
BINARY(reference_sub_s32, int32_t, plain_difference)
BINARY(reference_mul_s32, int32_t, plain_product)
BINARY(reference_floor_div_s32, int32_t, floor_of_quotient)

static float as_float(int32_t bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

int32_t reference_div_f32(const struct binary_call *call)
{
    const float *input1 = call->input1, *input2 = call->input2;
    float *output = call->output, least = as_float(call->least), most = as_float(call->most);
    int32_t i[4];
    for (i[0] = 0; i[0] < call->shape[0]; i[0]++)
        for (i[1] = 0; i[1] < call->shape[1]; i[1]++)
            for (i[2] = 0; i[2] < call->shape[2]; i[2]++)
                for (i[3] = 0; i[3] < call->shape[3]; i[3]++) {
                    float value = input1[at(call->shape1, i)] / input2[at(call->shape2, i)];
                    value = value < least ? least : value;
                    *output++ = value > most ? most : value;
                }
    return 0;
}

int32_t reference_sqrt_f32(const struct unary_call *call)
{
    const float *input = call->input;
    float *output = call->output;
    for (int32_t i = 0; i < call->elements; i++)
        output[i] = __builtin_sqrtf(input[i]);
    return 0;
}

#define CAST_TO(from, to, expression)                                                                                  \
    {                                                                                                                  \
        const from *input = call->input;                                                                               \
        to *output = call->output;                                                                                     \
        for (int32_t i = 0; i < call->elements; i++)                                                                   \
            output[i] = expression;                                                                                    \
        return 0;                                                                                                      \
    }

#define WRAPPED(value, least, most) (value)
#define SATURATED(value, least, most) clamp((int32_t)(value), least, most) /* as the FPU's conversion to 32 bits is */

#define CAST_FROM(type, name, narrow)                                                                                  \
    static int32_t name(const struct cast_call *call)                                                                  \
    {                                                                                                                  \
        switch (call->to) {                                                                                            \
        case 0: CAST_TO(type, int8_t, (int8_t)narrow(input[i], INT8_MIN, INT8_MAX))                                    \
        case 1: CAST_TO(type, uint8_t, (uint8_t)narrow(input[i], 0, UINT8_MAX))                                        \
        case 2: CAST_TO(type, int16_t, (int16_t)narrow(input[i], INT16_MIN, INT16_MAX))                                \
        case 3: CAST_TO(type, int32_t, (int32_t)input[i])                                                              \
        case 4: CAST_TO(type, float, (float)input[i])                                                                  \
        }                                                                                                              \
        return 1;                                                                                                      \
    }

CAST_FROM(int8_t, cast_s8, WRAPPED)
CAST_FROM(uint8_t, cast_u8, WRAPPED)
CAST_FROM(int16_t, cast_s16, WRAPPED)
CAST_FROM(int32_t, cast_s32, WRAPPED)
CAST_FROM(float, cast_f32, SATURATED)

int32_t reference_cast(const struct cast_call *call)
{
    switch (call->from) {
    case 0: return cast_s8(call);
    case 1: return cast_u8(call);
    case 2: return cast_s16(call);
    case 3: return cast_s32(call);
    case 4: return cast_f32(call);
    }
    return 1;
}

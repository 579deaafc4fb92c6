/* Element-wise operators and SOFTMAX of float32. */
#include "binary.h"
#include "curves_f32.h"

#define BINARY_F32(name, expression)                                                                                   \
    int32_t name(const struct binary_call *call)                                                                       \
    {                                                                                                                  \
        const float *input1 = call->input1, *input2 = call->input2;                                                    \
        float *output = call->output;                                                                                  \
        const float least = as_float(call->least), most = as_float(call->most);                                        \
        int32_t i[4];                                                                                                  \
        for (i[0] = 0; i[0] < call->shape[0]; i[0]++)                                                                  \
            for (i[1] = 0; i[1] < call->shape[1]; i[1]++)                                                              \
                for (i[2] = 0; i[2] < call->shape[2]; i[2]++)                                                          \
                    for (i[3] = 0; i[3] < call->shape[3]; i[3]++) {                                                    \
                        const float a = input1[at(call->shape1, i)], b = input2[at(call->shape2, i)];                  \
                        *output++ = limited(expression, least, most);                                                  \
                    }                                                                                                  \
        return 0;                                                                                                      \
    }

BINARY_F32(reference_add_f32, a + b)
BINARY_F32(reference_sub_f32, a - b)
BINARY_F32(reference_mul_f32, a *b)
BINARY_F32(reference_maximum_f32, a > b ? a : b)
BINARY_F32(reference_minimum_f32, a < b ? a : b)
BINARY_F32(reference_prelu_f32, a >= 0.0f ? a : a * b)
BINARY_F32(reference_squared_difference_f32, (a - b) * (a - b))

#define UNARY_F32(name, expression)                                                                                    \
    int32_t name(const struct unary_call *call)                                                                        \
    {                                                                                                                  \
        const float *input = call->input;                                                                              \
        float *output = call->output;                                                                                  \
        for (int32_t i = 0; i < call->elements; i++) {                                                                 \
            const float x = input[i];                                                                                  \
            output[i] = expression;                                                                                    \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

UNARY_F32(reference_relu_f32, limited(x, as_float(call->least), as_float(call->most)))
UNARY_F32(reference_leaky_relu_f32, x > 0.0f ? x : x * as_float(call->second_multiplier))
UNARY_F32(reference_logistic_f32, logistic(x))
UNARY_F32(reference_tanh_f32, tangent(x))
UNARY_F32(reference_elu_f32, x >= 0.0f ? x : x < -0.34657359f ? exponential(x) - 1.0f : less_one(x))
UNARY_F32(reference_hard_swish_f32, x *limited(x + 3.0f, 0.0f, 6.0f) / 6.0f)

int32_t reference_softmax_f32(const struct softmax_call *call)
{
    const float *input = call->input, beta = as_float(call->multiplier);
    float *output = call->output;
    for (int32_t row = 0; row < call->rows; row++, input += call->depth, output += call->depth) {
        float largest = -__FLT_MAX__, sum = 0.0f;
        for (int32_t c = 0; c < call->depth; c++)
            largest = input[c] > largest ? input[c] : largest;
        for (int32_t c = 0; c < call->depth; c++) {
            output[c] = exponential((input[c] - largest) * beta);
            sum += output[c];
        }
        for (int32_t c = 0; c < call->depth; c++)
            output[c] /= sum;
    }
    return 0;
}

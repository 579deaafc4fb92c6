/* LOG_SOFTMAX and L2_NORMALIZATION of float32. */
#include "floats.h"
#include "kernels.h"

/* log(x) of a normal x > 0 within 1 ulp: x = 2^e m, m of sqrt(1/2) to sqrt(2), a polynomial in m - 1 (Cephes). */
static float logarithm(float x)
{
    int32_t bits, e;
    __builtin_memcpy(&bits, &x, sizeof bits);
    e = (bits >> 23) - 126;
    float m = as_float((bits & 0x7fffff) | 126 << 23); /* 1/2 to 1 */
    if (m < 0.70710678f) {
        e--;
        m += m;
    }
    m -= 1.0f;
    float z = m * m, p = 7.0376836292e-2f;
    p = p * m - 1.1514610310e-1f;
    p = p * m + 1.1676998740e-1f;
    p = p * m - 1.2420140846e-1f;
    p = p * m + 1.4249322787e-1f;
    p = p * m - 1.6668057665e-1f;
    p = p * m + 2.0000714765e-1f;
    p = p * m - 2.4999993993e-1f;
    p = p * m + 3.3333331174e-1f;
    float y = m * z * p + (float)e * -2.12194440e-4f - 0.5f * z;
    return m + y + (float)e * 0.693359375f;
}

int32_t reference_log_softmax_f32(const struct normalize_call *call)
{
    const float *input = call->input;
    float *output = call->output;
    for (int32_t row = 0; row < call->rows; row++, input += call->depth, output += call->depth) {
        float largest = -__FLT_MAX__, sum = 0.0f;
        for (int32_t c = 0; c < call->depth; c++)
            largest = input[c] > largest ? input[c] : largest;
        for (int32_t c = 0; c < call->depth; c++) {
            output[c] = input[c] - largest;
            sum += exponential(output[c]);
        }
        sum = logarithm(sum);
        for (int32_t c = 0; c < call->depth; c++)
            output[c] -= sum;
    }
    return 0;
}

int32_t reference_l2_f32(const struct normalize_call *call)
{
    const float *input = call->input;
    float *output = call->output;
    for (int32_t row = 0; row < call->rows; row++, input += call->depth) {
        float sum = 0.0f;
        for (int32_t c = 0; c < call->depth; c++)
            sum += input[c] * input[c];
        float length = __builtin_sqrtf(sum);
        length = length < 1e-6f ? 1e-6f : length;
        for (int32_t c = 0; c < call->depth; c++)
            *output++ = input[c] / length;
    }
    return 0;
}

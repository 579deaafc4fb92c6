/* LOGISTIC and TANH of float32. */
#ifndef MCUSIM_CURVES_F32_H
#define MCUSIM_CURVES_F32_H
#include "floats.h"

static inline float logistic(float x)
{
    if (x > 16.619047164916992188f)
        return 1.0f;
    return x < -9.0f ? exponential(x) : 1.0f / (1.0f + exponential(-x));
}

static inline float tangent(float x)
{
    float size = x < 0.0f ? -x : x;
    if (size < 0.625f) {
        float z = x * x, p = -5.70498872745e-3f;
        p = p * z + 2.06390887954e-2f;
        p = p * z - 5.37397155531e-2f;
        p = p * z + 1.33314422036e-1f;
        p = p * z - 3.33332819422e-1f;
        return p * z * x + x;
    }
    float value = 1.0f - 2.0f / (exponential(2.0f * size) + 1.0f);
    return x < 0.0f ? -value : value;
}
#endif

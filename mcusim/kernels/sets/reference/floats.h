/* What functions of float32 share: parameters that are a float's bits, limits, exp. */
#ifndef MCUSIM_FLOATS_H
#define MCUSIM_FLOATS_H
#include <stdint.h>

static inline float as_float(int32_t bits)
{
    float value;
    __builtin_memcpy(&value, &bits, sizeof value);
    return value;
}

static inline float limited(float value, float least, float most)
{
    value = value < least ? least : value;
    return value > most ? most : value;
}

/* 2^exponent, -126 to 127 */
static inline float power_of_two(int32_t exponent) { return as_float((exponent + 127) << 23); }

/* e^r - 1 for r of -ln 2 / 2 to ln 2 / 2, by the polynomial of Cephes' expf. */
static inline float less_one(float r)
{
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    return p * r * r + r;
}

/* e^x within 1 ulp: x = k ln 2 + r. */
static inline float exponential(float x)
{
    if (!(x < 88.72284f))
        return x != x ? x : __builtin_inff();
    if (x < -103.97208f)
        return 0.0f;
    int32_t k = (int32_t)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
    float r = (x - (float)k * 0.693359375f) + (float)k * 2.12194440e-4f;
    float p = less_one(r) + 1.0f;
    int32_t half = k / 2; /* the result may be below 2^-126, or a product of 2^128 */
    return p * power_of_two(half) * power_of_two(k - half);
}
#endif

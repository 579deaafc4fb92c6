/* TensorFlow Lite's fixed-point arithmetic as its reference kernels are built: two roundings. The multiplier is a Q0.31
   fraction, shift > 0 is to the left. What C leaves undefined wraps. */
#ifndef MCUSIM_FIXED_POINT_H
#define MCUSIM_FIXED_POINT_H
#include <stdint.h>

static inline int32_t shift_left(int32_t x, int32_t bits) { return (int32_t)((uint32_t)x << bits); }

/* x / 2^bits to the nearest, halves away from zero. */
static inline int32_t divide_by_power(int32_t x, int32_t bits)
{
    int32_t mask = (int32_t)((1u << bits) - 1), threshold = (mask >> 1) + (x < 0);
    return (x >> bits) + ((x & mask) > threshold);
}

/* 2ab / 2^32 to the nearest; -1 * -1 is the largest fraction. */
static inline int32_t doubling_high(int32_t a, int32_t b)
{
    if (a == b && a == INT32_MIN)
        return INT32_MAX;
    int64_t product = (int64_t)a * b;
    return (int32_t)((product + (product >= 0 ? 1 << 30 : 1 - (1 << 30))) / (1ll << 31));
}

static inline int32_t scale(int32_t x, int32_t multiplier, int32_t shift)
{
    int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    return divide_by_power(doubling_high(shift_left(x, left), multiplier), right);
}

/* The same with one rounding, halves away from zero: what LiteRT's FULLY_CONNECTED gets from a product in float64. */
static inline int32_t scale_once(int32_t x, int32_t multiplier, int32_t shift)
{
    int64_t product = (int64_t)x * multiplier, half = 1ll << (30 - shift);
    return (int32_t)(product >= 0 ? (product + half) >> (31 - shift) : -((half - product) >> (31 - shift)));
}

static inline int32_t clamp(int32_t x, int32_t least, int32_t most) { return x < least ? least : x > most ? most : x; }
#endif

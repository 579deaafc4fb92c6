/* What differs between versions of the library, here as in 2020: instructions as its headers ask for them (halves are packed
   by C alone), and TensorFlow Lite's requantisation in two steps: a saturating doubling product whose rounding goes by the
   sign, a rounding division by a power of two. */
#ifndef MCUSIM_CMSIS_2020_VERSION_H
#define MCUSIM_CMSIS_2020_VERSION_H

INLINE int32_t smlad(uint32_t a, uint32_t b, int32_t sum) { /* sum + a.low * b.low + a.high * b.high */
    int32_t result;
    __asm__ volatile("smlad %0, %1, %2, %3" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
    return result;
}
INLINE uint32_t sxtb16_8(uint32_t x) { /* bytes 1 and 3 */
    uint32_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(x));
    return halves;
}
INLINE uint32_t lows(uint32_t low, uint32_t high) { return (low & 0xFFFF) | (high << 16 & 0xFFFF0000); }
INLINE uint32_t highs(uint32_t low, uint32_t high) { return (high & 0xFFFF0000) | (low >> 16 & 0xFFFF); }

INLINE int32_t high_product(int32_t a, int32_t b) { /* of 2 * a * b, rounded, halves away from 0; saturated */
    int64_t product = 1 << 30;
    if ((a < 0) ^ (b < 0)) product = 1 - product;
    product += (int64_t)a * b;
    const int32_t result = (int32_t)(product / (1ll << 31));
    return a == b && a == INT32_MIN ? INT32_MAX : result;
}
INLINE int32_t rounded_shift(int32_t value, int32_t right) { /* halves away from 0; right 0 to 31 */
    const int32_t mask = (int32_t)((1u << right) - 1), rest = mask & value;
    int32_t result = value >> right, threshold = mask >> 1;
    if (result < 0) threshold++;
    if (rest > threshold) result++;
    return result;
}
INLINE int32_t requantised(int32_t sum, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0, right = shift > 0 ? 0 : -shift;
    return rounded_shift(high_product(sum * (1 << left), multiplier), right);
}
#endif

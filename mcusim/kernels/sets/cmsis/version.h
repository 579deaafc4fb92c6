/* What differs between versions of the library, here as in 2021: instructions as they are asked for, and TensorFlow Lite's
   requantisation with two roundings, without a branch. */
#ifndef MCUSIM_CMSIS_VERSION_H
#define MCUSIM_CMSIS_VERSION_H

INLINE int32_t smlad(uint32_t a, uint32_t b, int32_t sum) { /* sum + a.low * b.low + a.high * b.high */
    __asm__ volatile("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
INLINE uint32_t sxtb16_8(uint32_t x) { /* bytes 1 and 3 */
    uint32_t halves;
    __asm__ volatile("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(x));
    return halves;
}
INLINE uint32_t lows(uint32_t low, uint32_t high) { /* the low halves of both */
    uint32_t halves;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(halves) : "r"(low), "r"(high));
    return halves;
}
INLINE uint32_t highs(uint32_t low, uint32_t high) { /* the high halves of both */
    uint32_t halves;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(halves) : "r"(high), "r"(low));
    return halves;
}

INLINE int32_t high_product(int32_t a, int32_t b) { /* of 2 * a * b, rounded; not for a = b = INT32_MIN */
    return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}
INLINE int32_t rounded_shift(int32_t value, int32_t right) { /* halves away from 0; right 0 to 31 */
    const int32_t mask = (int32_t)((1u << right) - 1), rest = value & mask;
    const int32_t result = value >> right;
    return result + (rest > (mask >> 1) + (result < 0));
}
INLINE int32_t requantised(int32_t sum, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0, right = left - shift; /* one of them is 0; no branch */
    return rounded_shift(high_product((int32_t)((uint32_t)sum << left), multiplier), right);
}
#endif

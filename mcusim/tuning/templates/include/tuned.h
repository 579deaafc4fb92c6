/* What templates are written with: instructions of the DSP extension, loads of any alignment, requantisation as
   TensorFlow Lite's reference kernels round. */
#ifndef MCUSIM_TUNED_H
#define MCUSIM_TUNED_H
#include <kernels.h>

#define INLINE static inline __attribute__((always_inline))
#define REPEATED_(n) _Pragma(#n)
#define REPEATED(n) REPEATED_(GCC unroll n)
typedef uint32_t any_word __attribute__((aligned(1), may_alias));

INLINE uint32_t word(const void *address) { return *(const any_word *)address; }
INLINE int32_t smlad(uint32_t a, uint32_t b, int32_t sum) { /* sum + a.low * b.low + a.high * b.high */
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
INLINE uint32_t even_bytes(uint32_t x) { /* bytes 0 and 2, sign extended to halves */
    uint32_t halves;
    __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(x));
    return halves;
}
INLINE uint32_t odd_bytes(uint32_t x) { /* bytes 1 and 3 */
    uint32_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(x));
    return halves;
}
INLINE uint32_t even_bytes_and(uint32_t x, uint32_t pair) { /* with a pair of halves added */
    uint32_t halves;
    __asm__("sxtab16 %0, %1, %2" : "=r"(halves) : "r"(pair), "r"(x));
    return halves;
}
INLINE uint32_t odd_bytes_and(uint32_t x, uint32_t pair) {
    uint32_t halves;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(halves) : "r"(pair), "r"(x));
    return halves;
}
INLINE uint32_t twice(int32_t half) { return ((uint32_t)half & 0xFFFF) * 0x10001; }

INLINE int32_t clamped(int32_t value, int32_t least, int32_t most) {
    value = value > least ? value : least;
    return value < most ? value : most;
}
/* TensorFlow Lite's reference kernels' two roundings, without a branch. */
INLINE int32_t requantised(int32_t sum, int32_t multiplier, int32_t shift) {
    const int32_t left = shift > 0 ? shift : 0, right = left - shift;
    const int32_t high = (int32_t)(((int64_t)(int32_t)((uint32_t)sum << left) * multiplier + (1 << 30)) >> 31);
    const int32_t mask = (int32_t)((1u << right) - 1), result = high >> right;
    return result + ((high & mask) > (mask >> 1) + (result < 0));
}
#endif

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
INLINE int32_t smlabb(uint32_t a, uint32_t b, int32_t sum) { /* sum + a.low * b.low */
    __asm__("smlabb %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
INLINE int32_t smlatt(uint32_t a, uint32_t b, int32_t sum) { /* sum + a.high * b.high */
    __asm__("smlatt %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
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

/* `count` bytes as halves, in fours whose even bytes come first: what a load of two words gives SMLAD. The rest of up to
   three stays in order. `pair` is added to both halves of each word. */
INLINE void widened(const int8_t *from, int16_t *to, int32_t count, uint32_t pair) {
    for (; count >= 4; count -= 4, from += 4, to += 4) {
        const uint32_t four = word(from);
        *(any_word *)to = even_bytes_and(four, pair), *(any_word *)(to + 2) = odd_bytes_and(four, pair);
    }
    while (count-- > 0) *to++ = (int16_t)(*from++ + (int16_t)pair);
}
INLINE void copied(const int8_t *from, int8_t *to, int32_t count) {
    for (; count >= 4; count -= 4, from += 4, to += 4) *(any_word *)to = word(from);
    while (count-- > 0) *to++ = *from++;
}

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
/* FULLY_CONNECTED rounds once, halves away from zero. */
INLINE int32_t requantised_once(int32_t sum, int32_t multiplier, int32_t shift) {
    const int64_t product = (int64_t)sum * multiplier, half = 1ll << (30 - shift);
    return (int32_t)(product >= 0 ? (product + half) >> (31 - shift) : -((half - product) >> (31 - shift)));
}
#endif

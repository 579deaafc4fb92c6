/* The DSP extension's instructions that these kernels are built on, and TensorFlow Lite's requantisation.

   A q15x2 is two 16-bit halves of a word, a q7x4 four bytes. Loads are of any alignment: one LDR each. */
#ifndef MCUSIM_CMSIS_DSP_H
#define MCUSIM_CMSIS_DSP_H
#include "kernels.h"
#include <stddef.h>

typedef uint32_t any_word __attribute__((aligned(1), may_alias));
#define INLINE static inline __attribute__((always_inline))
#include <version.h> /* of the set that is built: smlad, sxtb16_8, lows, highs, high_product, rounded_shift, requantised */

void *memset(void *to, int value, size_t bytes);
void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void cmsis_widen(const int8_t *from, int16_t *to, int32_t count, int32_t offset); /* to[i] = from[i] + offset */

INLINE uint32_t word(const void *at) { return *(const any_word *)at; }
INLINE uint32_t word_on(const int8_t **at) {
    const uint32_t value = word(*at);
    *at += 4;
    return value;
}
INLINE uint32_t pair_on(const int16_t **at) {
    const uint32_t value = word(*at);
    *at += 2;
    return value;
}

INLINE uint32_t sxtb16(uint32_t x) { /* bytes 0 and 2, sign extended */
    uint32_t halves;
    __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(x));
    return halves;
}
INLINE uint32_t sxtab16(uint32_t sum, uint32_t x) {
    uint32_t halves;
    __asm__("sxtab16 %0, %1, %2" : "=r"(halves) : "r"(sum), "r"(x));
    return halves;
}
INLINE uint32_t sxtab16_8(uint32_t sum, uint32_t x) {
    uint32_t halves;
    __asm__ volatile("sxtab16 %0, %1, %2, ror #8" : "=r"(halves) : "r"(sum), "r"(x));
    return halves;
}
INLINE uint32_t sadd16(uint32_t a, uint32_t b) {
    uint32_t halves;
    __asm__("sadd16 %0, %1, %2" : "=r"(halves) : "r"(a), "r"(b));
    return halves;
}
INLINE uint32_t ror8(uint32_t x) { return x >> 8 | x << 24; }
INLINE uint32_t twice(int32_t half) { return ((uint32_t)half & 0xFFFF) * 0x10001; }

/* Four bytes in their order: the first two and the last two, as q15x2. The rotation is an instruction of its own, as in
   the library of 2021. */
INLINE void in_order(uint32_t bytes, uint32_t *first, uint32_t *last) {
    const uint32_t odd = sxtb16(ror8(bytes)), even = sxtb16(bytes);
    *last = highs(even, odd);
    *first = lows(even, odd);
}

INLINE int32_t clamped(int32_t value, int32_t least, int32_t most) {
    value = value > least ? value : least;
    return value < most ? value : most;
}
INLINE int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
INLINE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

struct finish { /* from sums to output bytes; a copy of a call's members, which stores of bytes cannot change */
    int32_t offset, least, most;
};
INLINE int8_t finished(const struct finish *f, int32_t sum, int32_t multiplier, int32_t shift) {
    return (int8_t)clamped(requantised(sum, multiplier, shift) + f->offset, f->least, f->most);
}
#endif

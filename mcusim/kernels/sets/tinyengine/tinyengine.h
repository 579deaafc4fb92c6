/* What the kernels of a compiled runtime share: the DSP extension's instructions, with the same in plain C for other
   processors, and TensorFlow Lite's requantisation. Loads of words are of any alignment: one LDR each. */
#ifndef MCUSIM_TINYENGINE_H
#define MCUSIM_TINYENGINE_H
#include "fixed_point.h"
#include "kernels.h"
#include <stddef.h>

typedef uint32_t any_word __attribute__((aligned(1), may_alias));
#define INLINE static inline __attribute__((always_inline))

INLINE uint32_t word(const void *at) { return *(const any_word *)at; }

#ifdef __ARM_FEATURE_DSP
INLINE int32_t smlad(uint32_t a, uint32_t b, int32_t sum) {
    __asm__("smlad %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
INLINE int32_t smlabt(uint32_t a, uint32_t b, int32_t sum) { /* low half by high half */
    __asm__("smlabt %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
INLINE int32_t smlatb(uint32_t a, uint32_t b, int32_t sum) {
    __asm__("smlatb %0, %1, %2, %0" : "+r"(sum) : "r"(a), "r"(b));
    return sum;
}
INLINE uint32_t even_bytes(uint32_t x) { /* bytes 0 and 2, sign extended */
    uint32_t halves;
    __asm__("sxtb16 %0, %1" : "=r"(halves) : "r"(x));
    return halves;
}
INLINE uint32_t odd_bytes(uint32_t x) {
    uint32_t halves;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(halves) : "r"(x));
    return halves;
}
INLINE uint32_t even_plus(uint32_t offsets, uint32_t x) {
    uint32_t halves;
    __asm__("sxtab16 %0, %1, %2" : "=r"(halves) : "r"(offsets), "r"(x));
    return halves;
}
INLINE uint32_t odd_plus(uint32_t offsets, uint32_t x) {
    uint32_t halves;
    __asm__("sxtab16 %0, %1, %2, ror #8" : "=r"(halves) : "r"(offsets), "r"(x));
    return halves;
}
INLINE int32_t high_rounded(int32_t a, int32_t b) { /* ab / 2^32 to the nearest, halves up */
    int32_t high;
    __asm__("smmulr %0, %1, %2" : "=r"(high) : "r"(a), "r"(b));
    return high;
}
INLINE uint32_t larger_bytes(uint32_t a, uint32_t b) { /* of four pairs */
    uint32_t bytes;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %1, %2" : "=&r"(bytes) : "r"(a), "r"(b) : "cc");
    return bytes;
}
INLINE uint32_t smaller_bytes(uint32_t a, uint32_t b) {
    uint32_t bytes;
    __asm__("ssub8 %0, %1, %2\n\tsel %0, %2, %1" : "=&r"(bytes) : "r"(a), "r"(b) : "cc");
    return bytes;
}
INLINE int32_t byte_of(int32_t value) { /* the nearest one */
    int32_t byte;
    __asm__("ssat %0, #8, %1" : "=r"(byte) : "r"(value));
    return byte;
}
INLINE int32_t byte_of_half(int32_t value) { /* that of value / 2, rounded down */
    int32_t byte;
    __asm__("ssat %0, #8, %1, asr #1" : "=r"(byte) : "r"(value));
    return byte;
}
#else
INLINE uint32_t byte_by_byte(uint32_t a, uint32_t b, int32_t larger) {
    uint32_t bytes = 0;
    for (int32_t i = 0; i < 32; i += 8) {
        const int32_t x = (int8_t)(a >> i), y = (int8_t)(b >> i);
        bytes |= (uint32_t)(uint8_t)((x > y) == larger ? x : y) << i;
    }
    return bytes;
}
INLINE uint32_t larger_bytes(uint32_t a, uint32_t b) { return byte_by_byte(a, b, 1); }
INLINE uint32_t smaller_bytes(uint32_t a, uint32_t b) { return byte_by_byte(a, b, 0); }
INLINE int32_t byte_of(int32_t value) { return clamp(value, -128, 127); }
INLINE int32_t byte_of_half(int32_t value) { return clamp(value >> 1, -128, 127); }
INLINE int32_t low_half(uint32_t x) { return (int16_t)(x & 0xFFFF); }
INLINE int32_t high_half(uint32_t x) { return (int16_t)(x >> 16); }
INLINE int32_t summed(int32_t sum, int32_t product) { return (int32_t)((uint32_t)sum + (uint32_t)product); }
INLINE uint32_t halves_of(int32_t low, int32_t high) { return ((uint32_t)low & 0xFFFF) | (uint32_t)high << 16; }
INLINE int32_t smlad(uint32_t a, uint32_t b, int32_t sum) {
    return summed(summed(sum, low_half(a) * low_half(b)), high_half(a) * high_half(b));
}
INLINE int32_t smlabt(uint32_t a, uint32_t b, int32_t sum) { return summed(sum, low_half(a) * high_half(b)); }
INLINE int32_t smlatb(uint32_t a, uint32_t b, int32_t sum) { return summed(sum, high_half(a) * low_half(b)); }
INLINE uint32_t even_bytes(uint32_t x) { return halves_of((int8_t)x, (int8_t)(x >> 16)); }
INLINE uint32_t odd_bytes(uint32_t x) { return halves_of((int8_t)(x >> 8), (int8_t)(x >> 24)); }
INLINE uint32_t even_plus(uint32_t offsets, uint32_t x) {
    return halves_of(low_half(offsets) + (int8_t)x, high_half(offsets) + (int8_t)(x >> 16));
}
INLINE uint32_t odd_plus(uint32_t offsets, uint32_t x) {
    return halves_of(low_half(offsets) + (int8_t)(x >> 8), high_half(offsets) + (int8_t)(x >> 24));
}
INLINE int32_t high_rounded(int32_t a, int32_t b) { return (int32_t)(((int64_t)a * b + (1ll << 31)) >> 32); }
#endif

INLINE void loads_stay(void) { __asm__ volatile("" ::: "memory"); } /* no load of an unrolled loop moves across */
INLINE uint32_t twice(int32_t half) { return ((uint32_t)half & 0xFFFF) * 0x10001; }
INLINE int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }
INLINE int32_t larger(int32_t a, int32_t b) { return a > b ? a : b; }

/* From sums to output bytes. `quick`: no sum can reach 2^30 and all shifts are to the right: then the product of the doubled
   sum by the multiplier is one SMMULR; halves are rounded away from zero by adding the sign, 1 before the last bit is
   shifted out, and SSAT clamps to the range of a byte; tinyengine_range() clamps all outputs to a smaller one afterwards.
   Other sums take the plain way, in one function for all shapes: scale() of fixed_point.h without a branch on data. */
struct finish {
    const struct conv_call *call; /* for functions that are not inlined: copies whose address they get leave registers */
    int32_t offset, quick;
};
struct rescale { /* of an output channel; where it is quick, the shift is to the right and one bit short */
    int32_t multiplier, shift;
};

INLINE struct rescale rescale_of(int32_t quick, int32_t multiplier, int32_t shift) {
    return (struct rescale){multiplier, quick ? ~shift : shift};
}

INLINE int32_t doubled_product(int32_t sum, const struct rescale *r) {
    return high_rounded((int32_t)((uint32_t)sum << 1), r->multiplier);
}

/* No multiplier is the least integer, whose square fits no fraction: |high| stays below 2^31. */
INLINE int32_t plainly_scaled(int32_t sum, const struct rescale *r) {
    const int32_t left = larger(r->shift, 0), right = larger(-r->shift, 0), rounds = -(right > 0);
    const int32_t high = (int32_t)(((int64_t)shift_left(sum, left) * r->multiplier + (1ll << 30)) >> 31);
    return (((high + ((high >> 31) & rounds)) >> (right + rounds)) - rounds) >> -rounds;
}

INLINE int8_t finished(int32_t quick, const struct finish *f, int32_t sum, const struct rescale *r) {
    if (!quick) return (int8_t)byte_of((int32_t)((uint32_t)plainly_scaled(sum, r) + (uint32_t)f->offset));
    const int32_t high = doubled_product(sum, r);
    return (int8_t)byte_of_half(((high + (high >> 31)) >> r->shift) + (2 * f->offset + 1));
}

void tinyengine_range(const struct conv_call *c); /* in plain.c */

/* Whether shift and bias of an output channel are quick. */
INLINE int32_t quick_channel(const struct conv_call *c, int32_t channel) {
    const int32_t shift = c->shift[channel], bias = c->bias ? c->bias[channel] : 0;
    return shift < 0 && shift > -31 && bias < 1 << 29 && bias > -(1 << 29);
}

/* `depth` products of at most 2^15 make a sum. Without a bias none is quick. */
INLINE struct finish finish_of(const struct conv_call *c, int32_t depth) {
    int32_t quick = c->bias && depth < 1 << 13;
    for (int32_t i = 0; i < c->out_c; i++) quick &= quick_channel(c, i);
    return (struct finish){c, c->output_offset, quick};
}

INLINE struct finish plain_finish(const struct conv_call *c) {
    return (struct finish){c, c->output_offset, 0};
}
#endif

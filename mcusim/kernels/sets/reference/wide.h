/* Sums of 64 bits, as 16-bit activations with 8-bit filters have. */
#ifndef MCUSIM_WIDE_H
#define MCUSIM_WIDE_H
#include <stdint.h>

/* Times a multiplier of 15 bits, rounded once, halves up. */
static inline int32_t scale_sum(int64_t sum, int32_t multiplier, int32_t shift)
{
    int32_t fraction = multiplier < 0x7FFF0000 ? (multiplier + (1 << 15)) >> 16 : 0x7FFF;
    return (int32_t)((sum * fraction + (1ll << (14 - shift))) >> (15 - shift));
}
#endif

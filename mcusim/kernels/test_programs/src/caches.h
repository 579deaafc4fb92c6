/* L1 cache maintenance as CMSIS does it. Only for a core that has caches: see has_caches. */
#ifndef CACHES_H
#define CACHES_H

#include "mcu.h"

enum { CACHE_LINE = 32 };

static inline int has_caches(void) { return (SCB_CPUID >> 4 & 0xFFF) == 0xC27 && (SCB_CLIDR & 7) != 0; }

/* DCISW, DCCSW or DCCISW for every line: way in the top bits, set above the line's offset. */
static inline void each_set_and_way(volatile uint32_t *operation) {
    SCB_CSSELR = 0; /* level 1, data */
    barrier();
    const uint32_t geometry = SCB_CCSIDR, ways = geometry >> 3 & 0x3FF, sets = geometry >> 13 & 0x7FFF;
    const uint32_t way_shift = ways ? (uint32_t)__builtin_clz(ways) : 0, set_shift = (geometry & 7) + 4;
    for (uint32_t set = 0; set <= sets; set++)
        for (uint32_t way = 0; way <= ways; way++) *operation = way << way_shift | set << set_shift;
    barrier();
}

/* DCIMVAC, DCCMVAC, DCCIMVAC or ICIMVAU for every line that holds a byte of the range. */
static inline void each_line(volatile uint32_t *operation, const void *from, uint32_t bytes) {
    const uint32_t end = (uint32_t)from + bytes;
    barrier();
    for (uint32_t line = (uint32_t)from & ~(CACHE_LINE - 1u); line < end; line += CACHE_LINE) *operation = line;
    barrier();
}

static inline void enable_instruction_cache(void) {
    barrier();
    ICIALLU = 0;
    SCB_CCR |= CCR_IC;
    barrier();
}

static inline void disable_instruction_cache(void) {
    barrier();
    SCB_CCR &= ~CCR_IC;
    ICIALLU = 0;
    barrier();
}

static inline void enable_data_cache(void) {
    each_set_and_way(&DCISW);
    SCB_CCR |= CCR_DC;
    barrier();
}

static inline void disable_data_cache(void) {
    SCB_CCR &= ~CCR_DC;
    each_set_and_way(&DCCISW);
}

#endif

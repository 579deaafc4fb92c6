/* int8 to q15 with an offset added, four at a time. A function of its own, called for each pixel, as the library has it. */
#include "dsp.h"

void cmsis_widen(const int8_t *from, int16_t *to, int32_t count, int32_t offset) {
    const uint32_t offsets = twice(offset);
    for (int32_t n = count >> 2; n; n--) {
        const uint32_t bytes = word_on(&from);
        const uint32_t odd = sxtab16(offsets, ror8(bytes)), even = sxtab16(offsets, bytes);
        *(any_word *)to = lows(even, odd);
        *(any_word *)(to + 2) = highs(even, odd);
        to += 4;
    }
    for (int32_t n = count & 3; n; n--) *to++ = (int16_t)(*from++ + offset);
}

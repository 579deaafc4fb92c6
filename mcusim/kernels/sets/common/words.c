/* memcpy and memset that move words when both ends are aligned, as a C library built for speed does. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict target, const void *restrict source, size_t size)
{
    char *to = target;
    const char *from = source;
    if ((((uintptr_t)to ^ (uintptr_t)from) & 3) == 0) {
        for (; size && ((uintptr_t)to & 3); size--)
            *to++ = *from++;
        for (; size >= 4; size -= 4, to += 4, from += 4)
            *(uint32_t *)(void *)to = *(const uint32_t *)(const void *)from;
    }
    for (; size; size--)
        *to++ = *from++;
    return target;
}

void *memset(void *target, int value, size_t size)
{
    char *to = target;
    for (; size && ((uintptr_t)to & 3); size--)
        *to++ = (char)value;
    uint32_t word = (uint8_t)value * 0x01010101u;
    for (; size >= 4; size -= 4, to += 4)
        *(uint32_t *)(void *)to = word;
    for (; size; size--)
        *to++ = (char)value;
    return target;
}

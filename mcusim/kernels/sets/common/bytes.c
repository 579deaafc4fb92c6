/* memcpy and memset byte by byte, as newlib-nano has them. */
#include <stddef.h>

void *memcpy(void *restrict target, const void *restrict source, size_t size)
{
    char *to = target;
    const char *from = source;
    while (size--)
        *to++ = *from++;
    return target;
}

void *memset(void *target, int value, size_t size)
{
    char *to = target;
    while (size--)
        *to++ = (char)value;
    return target;
}

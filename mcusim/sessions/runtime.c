/* What compilers call without being asked, and what modules call of a C library most. */
#include <stddef.h>

void *memcpy(void *restrict target, const void *restrict source, size_t size)
{
    char *to = target;
    const char *from = source;
    while (size--)
        *to++ = *from++;
    return target;
}

void *memmove(void *target, const void *source, size_t size)
{
    char *to = target;
    const char *from = source;
    if (to <= from)
        return memcpy(target, source, size);
    while (size--)
        to[size] = from[size];
    return target;
}

void *memset(void *target, int value, size_t size)
{
    char *to = target;
    while (size--)
        *to++ = (char)value;
    return target;
}

int memcmp(const void *first, const void *second, size_t size)
{
    const unsigned char *a = first, *b = second;
    for (; size; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    const char *end = text;
    while (*end)
        end++;
    return (size_t)(end - text);
}

/* What compilers call without being asked, and what modules call of a C library most. Compiled with -O2; a copy of a long
   vector of bytes goes by words. */
#include <stddef.h>
#include <stdint.h>

typedef uint32_t any_word __attribute__((aligned(1), may_alias));

void *memcpy(void *restrict target, const void *restrict source, size_t size)
{
    char *to = target;
    const char *from = source;
    for (; size >= 4; size -= 4, to += 4, from += 4)
        *(any_word *)to = *(const any_word *)from;
    while (size--)
        *to++ = *from++;
    return target;
}

void *memmove(void *target, const void *source, size_t size)
{
    char *to = target;
    const char *from = source;
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return memcpy(target, source, size);
    while (size--)
        to[size] = from[size];
    return target;
}

void *memset(void *target, int value, size_t size)
{
    char *to = target;
    const uint32_t word = (uint8_t)value * 0x01010101u;
    for (; size >= 4; size -= 4, to += 4)
        *(any_word *)to = word;
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

int strcmp(const char *first, const char *second)
{
    while (*first && *first == *second)
        first++, second++;
    return (unsigned char)*first - (unsigned char)*second;
}

/* Printing by semihosting: SYS_WRITE0 and SYS_WRITEC. */
static int semihosting(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

int putchar(int character)
{
    const char byte = (char)character;
    semihosting(3, &byte);
    return (unsigned char)byte;
}

int puts(const char *text)
{
    semihosting(4, text);
    putchar('\n');
    return 0;
}

__attribute__((noreturn)) void abort(void)
{
    for (;;)
        __asm__ volatile("udf #0");
}

void __aeabi_memcpy(void *target, const void *source, size_t size) { memcpy(target, source, size); }
void __aeabi_memcpy4(void *target, const void *source, size_t size) { memcpy(target, source, size); }
void __aeabi_memcpy8(void *target, const void *source, size_t size) { memcpy(target, source, size); }
void __aeabi_memmove(void *target, const void *source, size_t size) { memmove(target, source, size); }
void __aeabi_memset(void *target, size_t size, int value) { memset(target, value, size); }
void __aeabi_memclr(void *target, size_t size) { memset(target, 0, size); }
void __aeabi_memclr4(void *target, size_t size) { memset(target, 0, size); }
void __aeabi_memclr8(void *target, size_t size) { memset(target, 0, size); }

/* What runtime.c has of it, where the compiler comes without a C library. */
#ifndef MCUSIM_STDIO_H
#define MCUSIM_STDIO_H
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
int putchar(int);
int puts(const char *);
#ifdef __cplusplus
}
#endif
#endif

/* What runtime.c has of it, where the compiler comes without a C library. */
#ifndef MCUSIM_STDLIB_H
#define MCUSIM_STDLIB_H
#include <stddef.h>
#ifdef __cplusplus
extern "C"
#endif
__attribute__((noreturn)) void abort(void);
#endif

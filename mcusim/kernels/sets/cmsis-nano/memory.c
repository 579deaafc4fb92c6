/* memcpy and memset byte by byte: four instructions a byte each, the loops of newlib-nano. In assembly, because at -O3 a
   compiler makes words of them. */
#include <stddef.h>
#pragma GCC diagnostic ignored "-Wunused-parameter" /* they are in r0 to r2 */

__attribute__((naked)) void *memcpy(void *restrict to, const void *restrict from, size_t bytes) {
    __asm__("    adds   r2, r1\n"
            "    cmp    r1, r2\n"
            "    add.w  r3, r0, #-1\n"
            "    bne    1f\n"
            "    bx     lr\n"
            "1:  push   {r4, lr}\n"
            "2:  ldrb.w r4, [r1], #1\n"
            "    strb.w r4, [r3, #1]!\n"
            "    cmp    r1, r2\n"
            "    bne    2b\n"
            "    pop    {r4, pc}");
}

__attribute__((naked)) void *memset(void *to, int value, size_t bytes) {
    __asm__("    adds   r2, r0\n"
            "    mov    r3, r0\n"
            "1:  cmp    r3, r2\n"
            "    bne    2f\n"
            "    bx     lr\n"
            "2:  strb.w r1, [r3], #1\n"
            "    b      1b");
}

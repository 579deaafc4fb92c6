/* Text and exit by semihosting (Arm's Semihosting for AArch32, BKPT 0xAB), the cycle counter, CRC-32, the generator. */
#include "mcu.h"

enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18, SYS_EXIT_EXTENDED = 0x20, APPLICATION_EXIT = 0x20026 };

static int semihost(int operation, const void *argument) {
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

void print(const char *text) { semihost(SYS_WRITE0, text); }

void print_number(const char *before, uint32_t value) {
    char text[12];
    char *at = text + sizeof text - 1;
    *at = 0;
    *--at = '\n';
    do {
        *--at = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    print(before);
    print(at);
}

void print_hex(const char *before, uint32_t value) {
    char text[] = "0x00000000\n";
    for (int digit = 9; digit > 1; digit--, value >>= 4) text[digit] = "0123456789abcdef"[value & 15];
    print(before);
    print(text);
}

void exit_with(int status) {
    const uint32_t block[2] = {APPLICATION_EXIT, (uint32_t)status};
    if (status)
        semihost(SYS_EXIT_EXTENDED, block);
    else
        semihost(SYS_EXIT, (const void *)APPLICATION_EXIT);
    for (;;) {
    }
}

void cycles_start(void) {
    DEMCR |= 1u << 24;
    DWT_LAR = LOCK_ACCESS_KEY; /* Cortex-M7 needs it, Cortex-M4 ignores it */
    DWT_CYCCNT = 0;
    DWT_CTRL |= 1;
    barrier();
}

uint32_t crc32(const void *data, uint32_t bytes) {
    const uint8_t *at = data;
    uint32_t crc = ~0u;
    while (bytes--) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (0xEDB88320u & -(crc & 1));
    }
    return ~crc;
}

uint32_t lcg(uint32_t *state) { return *state = 1664525u * *state + 1013904223u; }

/* The compiler calls these two for large initialisers and structure copies. */
void *memset(void *to, int value, unsigned bytes) {
    for (char *at = to; bytes--;) *at++ = (char)value;
    return to;
}

void *memcpy(void *to, const void *from, unsigned bytes) {
    const char *source = from;
    for (char *at = to; bytes--;) *at++ = *source++;
    return to;
}

/* Text by the ITM's stimulus ports, and by a control block that a debug probe finds in RAM and reads as the program runs:
   "SEGGER RTT", the numbers of its buffers up and down, then for each name, buffer, size, where the program writes,
   where the probe reads, flags. The buffer is small: with BLOCK the program waits for the probe, else text is lost. */
#include "mcu.h"

enum { BYTES = 64, LINES = 20 };

typedef struct {
    const char *name;
    char *buffer;
    uint32_t size;
    volatile uint32_t write, read;
    uint32_t flags;
} ring;

static char up_bytes[BYTES];
static struct {
    char id[16];
    uint32_t ups, downs;
    ring up;
} _SEGGER_RTT;

static void rtt_start(void) { /* the ID is made at run time, so that the program's own text is not taken for it */
    static const char backwards[] = "TTR REGGES";
    _SEGGER_RTT.ups = 1;
    _SEGGER_RTT.up = (ring){"Terminal", up_bytes, BYTES, 0, 0, 2};
    for (int i = 0; i < 10; i++) _SEGGER_RTT.id[i] = backwards[9 - i];
}

static void rtt_print(const char *text) {
    ring *up = &_SEGGER_RTT.up;
    for (; *text; text++) {
        const uint32_t next = (up->write + 1) % BYTES;
        while (next == up->read) {
        }
        up_bytes[up->write] = *text;
        __asm__ volatile("dmb" ::: "memory");
        up->write = next;
    }
}

static void itm_print(int port, const char *text) {
    for (; *text; text++) {
        while (!REGISTER(0xE0000000 + 4 * port)) {
        }
        *(volatile uint8_t *)(0xE0000000 + 4 * port) = (uint8_t)*text;
    }
}

int main(void) {
    itm_print(0, "terminal\n");
    itm_print(3, "port three\n");
    REGISTER(0xE0000000 + 4 * 5) = 0x2A;
    *(volatile uint16_t *)(0xE0000000 + 4 * 5) = 0xBEEF;
    rtt_start();
    char line[] = "line 00\n";
    for (int n = 0; n < LINES; n++) {
        line[5] = (char)('0' + n / 10);
        line[6] = (char)('0' + n % 10);
        rtt_print(line);
    }
    itm_print(4, "no end of line");
    return 0;
}

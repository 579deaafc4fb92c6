/* DMA2 of an STM32F4 or F7 by its registers: copies between memories, polled and with an interrupt. main returns the
   number of checks that failed. */
#include "mcu.h"

#define DMA2 0x40026400u
#define LISR REGISTER(DMA2 + 0x00)
#define LIFCR REGISTER(DMA2 + 0x08)
#define CR REGISTER(DMA2 + 0x10) /* stream 0 */
#define NDTR REGISTER(DMA2 + 0x14)
#define PAR REGISTER(DMA2 + 0x18)
#define M0AR REGISTER(DMA2 + 0x1C)
#define FCR REGISTER(DMA2 + 0x24)
#define AHB1ENR REGISTER(0x40023830)
#define NVIC_ISER1 REGISTER(0xE000E104)
#define SCB_VTOR REGISTER(0xE000ED08)

enum { EN = 1, TCIE = 1 << 4, M2M = 2 << 6, PINC = 1 << 9, MINC = 1 << 10, WORDS = 2 << 11 | 2 << 13, BYTES = 0 };
enum { FEIF = 1, TEIF = 8, HTIF = 16, TCIF = 32, FLAGS = 0x3D, FULL = 3, QUARTER = 0, LINE = 56, COUNT = 256 };

extern const void *const vectors[16];
static const void *in_ram[16 + LINE + 1] __attribute__((aligned(512)));
static uint32_t source[COUNT], target[COUNT];
static volatile uint32_t served, seen;

/* Enable stream 0; the caller waits. */
void copy_begin(uint32_t from, uint32_t to, uint32_t units, uint32_t control, uint32_t fifo) {
    LIFCR = FLAGS;
    PAR = from;
    M0AR = to;
    NDTR = units;
    FCR = fifo;
    CR = control | M2M | PINC | MINC;
    CR = control | M2M | PINC | MINC | EN;
}

/* The stream's flags once one of its ends has come. */
uint32_t copy_polled(uint32_t from, uint32_t to, uint32_t units, uint32_t control, uint32_t fifo) {
    copy_begin(from, to, units, control, fifo);
    while (!(LISR & (TCIF | TEIF | FEIF)));
    return LISR & FLAGS;
}

/* What the word at ``watched`` is ``spins`` loops after the copy has begun. */
uint32_t copy_watched(uint32_t from, uint32_t to, uint32_t units, uint32_t control, uint32_t watched, uint32_t spins) {
    copy_begin(from, to, units, control, FULL);
    while (spins--) __asm__ volatile("nop");
    return REGISTER(watched);
}

static void stream_handler(void) {
    seen = LISR & FLAGS;
    LIFCR = FLAGS;
    served++;
    barrier();
}

static int check(const char *name, int passed) {
    print(name);
    print(passed ? ": ok\n" : ": FAILED\n");
    return !passed;
}

static void fill(uint32_t seed) {
    for (uint32_t i = 0; i < COUNT; i++) source[i] = seed += 0x9E3779B9u, target[i] = 0;
}

static int same(void) {
    for (int i = 0; i < COUNT; i++)
        if (((volatile uint32_t *)target)[i] != source[i]) return 0;
    return 1;
}

static int polled(void) {
    fill(1);
    const uint32_t flags = copy_polled((uint32_t)source, (uint32_t)target, COUNT, WORDS, FULL);
    return check("polled copy", flags == (HTIF | TCIF) && !(CR & EN) && NDTR == 0 && same());
}

static int early(void) {
    fill(2);
    const uint32_t last = (uint32_t)&target[COUNT - 1];
    const uint32_t before = copy_watched((uint32_t)source, (uint32_t)target, COUNT, WORDS, last, 1);
    const uint32_t left = NDTR;
    while (CR & EN);
    return check("bytes come with their beats", before == 0 && left > 0 && left < COUNT && same());
}

static int interrupted(void) {
    for (int i = 0; i < 16; i++) in_ram[i] = vectors[i];
    in_ram[16 + LINE] = (const void *)stream_handler;
    SCB_VTOR = (uint32_t)in_ram;
    barrier();
    NVIC_ISER1 = 1u << (LINE - 32);
    fill(3);
    copy_begin((uint32_t)source, (uint32_t)target, COUNT, WORDS | TCIE, FULL);
    while (!served) __asm__ volatile("wfi");
    return check("interrupt at the end", served == 1 && seen == (HTIF | TCIF) && same());
}

static int refused(void) {
    const uint32_t flags = copy_polled((uint32_t)source, (uint32_t)target, COUNT, WORDS | 1u << 23, QUARTER);
    return check("burst longer than the threshold", flags == FEIF && !(CR & EN));
}

int main(void) {
    AHB1ENR |= 1u << 22;
    return polled() + early() + interrupted() + refused();
}

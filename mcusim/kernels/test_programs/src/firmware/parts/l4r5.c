/* STM32L4R5: 120 MHz from MSI by the PLL in range 1 boost, then copies by channels of DMA1 and DMA2. */
#include "parts.h"

#define RCC(offset) REGISTER(0x40021000 + (offset))
#define PWR(offset) REGISTER(0x40007000 + (offset))
#define FLASH_ACR REGISTER(0x40022000)
#define DMA1 0x40020000u
#define DMA2 0x40020400u
#define CHANNEL(dma, n, offset) REGISTER((dma) + 8 + 20 * ((n) - 1) + (offset))

enum { MSIRDY = 1 << 1, HSION = 1 << 8, HSIRDY = 1 << 10, PLLON = 1 << 24, PLLRDY = 1 << 25, PLLREN = 1 << 24 };
enum { EN = 1, TCIE = 2, TEIE = 8, PINC = 64, MINC = 128, WORDS = 2 << 8 | 2 << 10, M2M = 1 << 14, COUNT = 128 };

static uint32_t source[COUNT], target[COUNT];
static volatile uint32_t served, seen;

static int pll(void) {
    if (!wait_for(&RCC(0), MSIRDY, MSIRDY, 2)) return 3;
    RCC(0) = (RCC(0) & ~0xF0u) | 6 << 4 | 1 << 3; /* 4 MHz by MSIRANGE */
    RCC(0) |= HSION;
    if (RCC(0) & HSIRDY) return 4; /* not ready at once */
    if (!wait_for(&RCC(0), HSIRDY, HSIRDY, 2)) return 5;
    RCC(0) &= ~(uint32_t)PLLON;
    if (!wait_for(&RCC(0), PLLRDY, 0, 2)) return 6;
    RCC(0x0C) = 1 | 0 << 4 | 60 << 8; /* MSI / 1 * 60 / 2 */
    RCC(0) |= PLLON;
    RCC(0x0C) |= PLLREN;
    return wait_for(&RCC(0), PLLRDY, PLLRDY, 20) ? 0 : 7;
}

int l4r5_clocks(void) {
    RCC(0x58) |= 1u << 28; /* PWR */
    (void)RCC(0x58);
    if ((PWR(0) >> 9 & 3) != 1) return 1;
    PWR(0) = (PWR(0) & ~0x600u) | 2 << 9; /* range 2 and back, to see the flag */
    PWR(0x80) &= ~0x100u;                 /* boost */
    PWR(0) = (PWR(0) & ~0x600u) | 1 << 9;
    if (!wait_for(&PWR(0x14), 1 << 10, 0, 2)) return 2;
    const int step = pll();
    if (step) return step;
    FLASH_ACR = (FLASH_ACR & ~15u) | 5;
    if ((FLASH_ACR & 15) != 5) return 8;
    RCC(0x08) |= 8 << 4; /* AHB at half speed while the clock changes */
    RCC(0x08) |= 3;
    if (!wait_for(&RCC(0x08), 12, 12, 5000)) return 9;
    RCC(0x08) &= ~0xF0u;
    return 0;
}

static void ended(void) {
    seen = REGISTER(DMA1) & 15;
    REGISTER(DMA1 + 4) = 1;
    served++;
    barrier();
}

static void begin(uint32_t dma, int n, uint32_t from, uint32_t to, uint32_t units, uint32_t control) {
    CHANNEL(dma, n, 0) = 0;
    CHANNEL(dma, n, 4) = units;
    CHANNEL(dma, n, 8) = from;
    CHANNEL(dma, n, 12) = to;
    CHANNEL(dma, n, 0) = M2M | PINC | MINC | control | EN;
}

static int same(void) {
    for (int i = 0; i < COUNT; i++)
        if (((volatile uint32_t *)target)[i] != source[i]) return 0;
    return 1;
}

static void fill(uint32_t seed) {
    for (int i = 0; i < COUNT; i++) source[i] = seed += 0x9E3779B9u, target[i] = 0;
}

int l4r5_copies(void) {
    int failed = 0;
    RCC(0x48) |= 7; /* DMA1, DMA2, DMAMUX1 */
    fill(1);
    enable_irq(11, ended);
    begin(DMA1, 1, (uint32_t)source, (uint32_t)target, COUNT, WORDS | TCIE | TEIE);
    while (!served) __asm__ volatile("wfi");
    failed += check("channel 1 of DMA1, interrupt", seen == 7 && CHANNEL(DMA1, 1, 4) == 0 && same());
    fill(2);
    begin(DMA2, 7, (uint32_t)source, (uint32_t)target, COUNT, WORDS);
    while (!(REGISTER(DMA2) >> 24 & 2));
    failed += check("channel 7 of DMA2, polled", (CHANNEL(DMA2, 7, 0) & EN) && same());
    REGISTER(DMA2 + 4) = 1 << 24;
    begin(DMA2, 1, (uint32_t)source, 0x08000000, COUNT, WORDS);
    return failed + check("flash cannot be written", (REGISTER(DMA2) & 15) == 9 && !(CHANNEL(DMA2, 1, 0) & EN));
}

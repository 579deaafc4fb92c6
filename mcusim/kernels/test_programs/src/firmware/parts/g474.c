/* STM32G474: 170 MHz from HSI16 by the PLL in range 1 boost, copies by channels and by a timer's requests, a timer. */
#include "parts.h"

#define RCC(offset) REGISTER(0x40021000 + (offset))
#define PWR(offset) REGISTER(0x40007000 + (offset))
#define FLASH_ACR REGISTER(0x40022000)
#define DMA1 0x40020000u
#define DMA2 0x40020400u
#define CHANNEL(dma, n, offset) REGISTER((dma) + 8 + 20 * ((n) - 1) + (offset))
#define DMAMUX(n) REGISTER(0x40020800 + 4 * (n))
#define TIM2(offset) REGISTER(0x40000000 + (offset))
#define TIM6(offset) REGISTER(0x40001000 + (offset))

enum { HSIRDY = 1 << 10, PLLON = 1 << 24, PLLRDY = 1 << 25, PLLREN = 1 << 24 };
enum { EN = 1, TCIE = 2, TEIE = 8, DIR = 16, PINC = 64, MINC = 128, WORDS = 2 << 8 | 2 << 10, M2M = 1 << 14, COUNT = 128 };
enum { CEN = 1, URS = 4, UIE = 1, UDE = 1 << 8, TIM6_UP = 8 };

static uint32_t source[COUNT], target[COUNT];
static volatile uint32_t served, seen, updates;

static int pll(void) {
    if (!wait_for(&RCC(0), HSIRDY, HSIRDY, 2)) return 3;
    RCC(0) &= ~(uint32_t)PLLON;
    if (!wait_for(&RCC(0), PLLRDY, 0, 2)) return 4;
    RCC(0x0C) = 2 | 3 << 4 | 85 << 8; /* HSI16 / 4 * 85 / 2 */
    RCC(0) |= PLLON;
    RCC(0x0C) |= PLLREN;
    return wait_for(&RCC(0), PLLRDY, PLLRDY, 20) ? 0 : 5;
}

int g474_clocks(void) {
    RCC(0x58) |= 1u << 28; /* PWR */
    (void)RCC(0x58);
    if ((PWR(0) >> 9 & 3) != 1 || (RCC(8) & 15) != 5) return 1;
    PWR(0x80) &= ~0x100u; /* boost */
    PWR(0) = (PWR(0) & ~0x600u) | 1 << 9;
    if (!wait_for(&PWR(0x14), 1 << 10, 0, 2)) return 2;
    const int step = pll();
    if (step) return step;
    FLASH_ACR = (FLASH_ACR & ~15u) | 4;
    if ((FLASH_ACR & 15) != 4) return 6;
    RCC(0x08) |= 8 << 4; /* AHB at half speed while the clock changes */
    RCC(0x08) |= 3;
    if (!wait_for(&RCC(0x08), 12, 12, 5000)) return 7;
    RCC(0x08) &= ~0xF0u;
    return 0;
}

static void ended(void) {
    seen = REGISTER(DMA1) >> 28;
    REGISTER(DMA1 + 4) = 1u << 28;
    served++;
    barrier();
}

static void updated(void) {
    TIM2(0x10) = 0;
    updates++;
    barrier();
}

static void begin(uint32_t dma, int n, uint32_t peripheral, uint32_t memory, uint32_t units, uint32_t control) {
    CHANNEL(dma, n, 0) = 0;
    CHANNEL(dma, n, 4) = units;
    CHANNEL(dma, n, 8) = peripheral;
    CHANNEL(dma, n, 12) = memory;
    CHANNEL(dma, n, 0) = control | EN;
}

static int same(int count) {
    for (int i = 0; i < count; i++)
        if (((volatile uint32_t *)target)[i] != source[i]) return 0;
    return 1;
}

static void fill(uint32_t seed) {
    for (int i = 0; i < COUNT; i++) source[i] = seed += 0x9E3779B9u, target[i] = 0;
}

/* Words by DMA2's first channel, one for each update of TIM6, through DMAMUX1. */
static int by_requests(void) {
    enum { WORDS_MOVED = 16, PERIOD = 1000 };
    fill(3);
    DMAMUX(8) = TIM6_UP;
    begin(DMA2, 1, (uint32_t)target, (uint32_t)source, WORDS_MOVED, WORDS | DIR | PINC | MINC);
    TIM6(0x2C) = PERIOD - 1;
    TIM6(0x0C) = UDE;
    TIM6(0x00) = URS | CEN;
    while (!(REGISTER(DMA2) & 2));
    TIM6(0x00) = 0;
    return same(WORDS_MOVED) && !((volatile uint32_t *)target)[WORDS_MOVED] && CHANNEL(DMA2, 1, 4) == 0;
}

/* Ten periods of 0.1 ms by TIM2 are one tick of SysTick, give or take one. */
static int by_the_timer(void) {
    enable_irq(28, updated);
    TIM2(0x2C) = 17000 - 1;
    TIM2(0x0C) = UIE;
    const uint32_t from = milliseconds();
    while (milliseconds() == from);
    TIM2(0x24) = 0;
    TIM2(0x00) = URS | CEN;
    while (milliseconds() - from < 6) __asm__ volatile("wfi");
    TIM2(0x00) = 0;
    return updates >= 49 && updates <= 51;
}

int g474_copies(void) {
    int failed = 0;
    RCC(0x48) |= 7;             /* DMA1, DMA2, DMAMUX1 */
    RCC(0x58) |= 1 | 1u << 4;   /* TIM2, TIM6 */
    fill(1);
    enable_irq(96, ended);
    begin(DMA1, 8, (uint32_t)source, (uint32_t)target, COUNT, M2M | PINC | MINC | WORDS | TCIE | TEIE);
    while (!served) __asm__ volatile("wfi");
    failed += check("channel 8 of DMA1, interrupt", seen == 7 && CHANNEL(DMA1, 8, 4) == 0 && same(COUNT));
    failed += check("requests of TIM6 by DMAMUX1", by_requests());
    begin(DMA2, 8, (uint32_t)source, 0x08000000, COUNT, M2M | PINC | MINC | WORDS);
    failed += check("flash cannot be written", REGISTER(DMA2) >> 28 == 9 && !(CHANNEL(DMA2, 8, 0) & EN));
    return failed + check("periods of TIM2", by_the_timer());
}

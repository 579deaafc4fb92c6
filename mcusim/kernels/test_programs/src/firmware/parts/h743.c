/* STM32H743: 480 MHz from HSE by PLL1 at VOS0, then copies by MDMA into TCM, by DMA2, which does not reach it, and by BDMA. */
#include "parts.h"

#define RCC(offset) REGISTER(0x58024400 + (offset))
#define PWR(offset) REGISTER(0x58024800 + (offset))
#define SYSCFG(offset) REGISTER(0x58000400 + (offset))
#define FLASH_ACR REGISTER(0x52002000)
#define MDMA(offset) REGISTER(0x52000040 + (offset))
#define DMA2 0x40020400u
#define BDMA 0x58025400u
#define AXI_SRAM 0x24000000u
#define SRAM4 0x38000000u

enum { HSEON = 1 << 16, HSERDY = 1 << 17, PLLON = 1 << 24, PLLRDY = 1 << 25, ACTVOSRDY = 1 << 13, VOSRDY = 1 << 13 };
enum { EN = 1, COUNT = 128, BYTES = 4 * COUNT };

static uint32_t tightly[COUNT] __attribute__((aligned(32))); /* in DTCM, as all data of this program */
static volatile uint32_t served;

static int regulator(void) {
    PWR(0x0C) = (PWR(0x0C) & ~7u) | 2; /* LDO */
    if (!wait_for(&PWR(0x04), ACTVOSRDY, ACTVOSRDY, 1000)) return 1;
    PWR(0x18) = 3 << 14; /* scale 1 */
    if (PWR(0x18) & VOSRDY) return 2; /* not at once */
    if (!wait_for(&PWR(0x04), ACTVOSRDY | 3 << 14, ACTVOSRDY | 3 << 14, 1000)) return 3;
    RCC(0xF4) |= 2; /* SYSCFG */
    (void)RCC(0xF4);
    SYSCFG(0x2C) |= 1; /* over-drive: scale 0 */
    return wait_for(&PWR(0x18), VOSRDY, VOSRDY, 1000) ? 0 : 4;
}

int h743_clocks(void) {
    const int step = regulator();
    if (step) return step;
    RCC(0) |= HSEON;
    if (RCC(0) & HSERDY) return 5;
    if (!wait_for(&RCC(0), HSERDY, HSERDY, 100)) return 6;
    RCC(0) &= ~(uint32_t)PLLON;
    if (!wait_for(&RCC(0), PLLRDY, 0, 2)) return 7;
    RCC(0x28) = 2 | 1 << 4;                      /* HSE / 1 */
    RCC(0x30) = (120 - 1) | 0 << 9 | 3 << 16 | 1 << 24; /* 8 MHz * 120 / 2, see DIVP1 */
    RCC(0x2C) = 7 << 16 | 3 << 2;
    RCC(0) |= PLLON;
    if (!wait_for(&RCC(0), PLLRDY, PLLRDY, 20)) return 8;
    FLASH_ACR = (FLASH_ACR & ~15u) | 4;
    if ((FLASH_ACR & 15) != 4) return 9;
    RCC(0x18) = 8;                           /* AXI at half of the core's clock */
    RCC(0x1C) = 4 << 4 | 4 << 8;             /* APB1 and APB2 at half of that */
    RCC(0x10) = (RCC(0x10) & ~7u) | 3;
    return wait_for(&RCC(0x10), 7 << 3, 3 << 3, 5000) ? 0 : 10;
}

static void fill(uint32_t at, uint32_t seed) {
    for (int i = 0; i < COUNT; i++) REGISTER(at + 4 * i) = seed += 0x9E3779B9u;
    barrier();
}

static int same(uint32_t one, uint32_t other) {
    for (int i = 0; i < COUNT; i++)
        if (REGISTER(one + 4 * i) != REGISTER(other + 4 * i)) return 0;
    return 1;
}

static void ended(void) {
    served = MDMA(0) & 31;
    MDMA(4) = 31;
    barrier();
}

static void begin_mdma(uint32_t from, uint32_t to, uint32_t buses, uint32_t control) {
    MDMA(0x0C) = 0;
    MDMA(4) = 31;
    MDMA(0x10) = 2 | 2 << 2 | 2 << 4 | 2 << 6 | 2 << 8 | 2 << 10 | 127u << 18 | 1 << 25 | 1 << 28 | 1 << 30;
    MDMA(0x14) = BYTES;
    MDMA(0x18) = from;
    MDMA(0x1C) = to;
    MDMA(0x20) = 0;
    MDMA(0x28) = buses;
    MDMA(0x0C) = control | EN;
    MDMA(0x0C) |= 1 << 16;
}

static uint32_t by_dma2(uint32_t from, uint32_t to) {
    REGISTER(DMA2 + 8) = 0x3D;
    REGISTER(DMA2 + 0x18) = from;
    REGISTER(DMA2 + 0x1C) = to;
    REGISTER(DMA2 + 0x14) = COUNT;
    REGISTER(DMA2 + 0x24) = 3;
    REGISTER(DMA2 + 0x10) = 2 << 6 | 3 << 9 | 2 << 11 | 2 << 13 | EN;
    while (!(REGISTER(DMA2) & 0x29));
    return REGISTER(DMA2) & 0x3D;
}

static uint32_t by_bdma(uint32_t from, uint32_t to) {
    REGISTER(BDMA + 4) = 1;
    REGISTER(BDMA + 8) = 0;
    REGISTER(BDMA + 12) = COUNT;
    REGISTER(BDMA + 16) = from;
    REGISTER(BDMA + 20) = to;
    REGISTER(BDMA + 8) = 3 << 6 | 2 << 8 | 2 << 10 | 1 << 14 | EN;
    while (!(REGISTER(BDMA) & 10));
    return REGISTER(BDMA) & 15;
}

int h743_copies(void) {
    int failed = 0;
    const uint32_t here = (uint32_t)tightly;
    RCC(0xD4) |= 1;          /* MDMA */
    RCC(0xD8) |= 2;          /* DMA2 */
    RCC(0xE0) |= 1u << 21;   /* BDMA */
    fill(here, 1);
    enable_irq(122, ended);
    begin_mdma(here, SRAM4, 1 << 16, 1 << 2);
    while (!served) __asm__ volatile("wfi");
    failed += check("MDMA out of DTCM, interrupt", served == 30 && same(here, SRAM4));
    begin_mdma(here, SRAM4, 0, 0);
    while (!(MDMA(0) & 1));
    failed += check("MDMA needs its AHB port for TCM", MDMA(8) == (here & 0x7F) && !(MDMA(0x0C) & EN));
    failed += check("DMA2 does not reach DTCM", by_dma2(here, AXI_SRAM) == 8);
    failed += check("DMA2 reaches AXI SRAM and SRAM4", by_dma2(SRAM4, AXI_SRAM) == 0x30);
    failed += check("BDMA copies in SRAM4", by_bdma(SRAM4, SRAM4 + BYTES) == 7 && same(SRAM4, SRAM4 + BYTES));
    return failed + check("BDMA reaches nothing else", by_bdma(SRAM4, AXI_SRAM) == 9);
}

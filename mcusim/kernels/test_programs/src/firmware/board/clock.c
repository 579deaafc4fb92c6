/* The clock tree from reset to the core's highest clock: HSE, voltage scale 1, PLL, over-drive, wait states read back,
   bus dividers, clock switch. Each wait has a limit in loops, as long as a tick does not run. */
#include "board.h"

#define FLASH_ACR REGISTER(0x40023C00)
#define PWR_CR 0x40007000u
#define PWR_CSR REGISTER(0x40007004)
enum { HSEON = 16, HSERDY = 17, PLLON = 24, PLLRDY = 25, ODEN = 16, ODSWEN = 17 };
enum { PWREN = 1 << 28, SCALE_1 = 3 << 14, FROM_PLL = 2, LOOPS = 1000000 };
#ifdef STM32F746
enum { ACCELERATOR = 1 << 9 };
#else
enum { ACCELERATOR = 7 << 8 }; /* prefetch, instruction and data cache */
#endif

/* A bit of a register by its own word where the core has bit-banding. */
static void set_bit(uint32_t address, uint32_t bit) {
#ifdef STM32F746
    REGISTER(address) |= 1u << bit;
#else
    REGISTER(0x42000000 + (address - 0x40000000) * 32 + bit * 4) = 1;
#endif
}

static int wait(volatile uint32_t *at, uint32_t mask, uint32_t value) {
    for (uint32_t n = LOOPS; n; n--)
        if ((*at & mask) == value) return 1;
    return 0;
}

int clock_start(void) {
    set_bit(0x40023800, HSEON);
    if (!wait(&RCC_CR, 1u << HSERDY, 1u << HSERDY)) return 1;
    RCC_APB1ENR |= PWREN;
    (void)RCC_APB1ENR; /* the clock is there two cycles later */
    REGISTER(PWR_CR) |= SCALE_1;
    RCC_PLLCFGR = HSE_MHZ | 2 * CORE_MHZ << 6 | 0 << 16 | 1 << 22 | 9 << 24; /* VCO 1 MHz * 2 * CORE_MHZ, P = 2 */
    set_bit(0x40023800, PLLON);
    if (!wait(&RCC_CR, 1u << PLLRDY, 1u << PLLRDY)) return 2;
    set_bit(PWR_CR, ODEN);
    if (!wait(&PWR_CSR, 1u << ODEN, 1u << ODEN)) return 3;
    set_bit(PWR_CR, ODSWEN);
    if (!wait(&PWR_CSR, 1u << ODSWEN, 1u << ODSWEN)) return 4;
    FLASH_ACR = ACCELERATOR | WAIT_STATES;
    if ((FLASH_ACR & 15) != WAIT_STATES) return 5;
    RCC_CFGR = 5 << 10 | 4 << 13; /* APB1 / 4, APB2 / 2 */
    RCC_CFGR |= FROM_PLL;
    return wait(&RCC_CFGR, 3 << 2, FROM_PLL << 2) ? 0 : 6;
}

/* Clock set-up of an STM32F4 (Cortex-M4) or STM32F7 (Cortex-M7) in the order of a vendor's start-up code: oscillator,
   regulator and over-drive, PLL, flash latency read back, clock switch. Each wait has a limit in
   microseconds by CYCCNT. main gives the number of the wait that took too long. */
#include "mcu.h"

#define RCC(offset) REGISTER(0x40023800 + (offset))
#define PWR(offset) REGISTER(0x40007000 + (offset))
#define FLASH_ACR REGISTER(0x40023C00)
#define RCC_CR RCC(0x00)
#define RCC_CFGR RCC(0x08)
#define RCC_APB1ENR RCC(0x40)
#define HSEON (1u << 16)
#define HSERDY (1u << 17)
#define PLLON (1u << 24)
#define PLLRDY (1u << 25)
#define CYCLES_IN_A_MICROSECOND 16 /* of the internal oscillator; more of them pass at the machine's clock */

static int wait(volatile uint32_t *at, uint32_t mask, uint32_t value, uint32_t microseconds) {
    uint32_t from = cycles();
    while ((*at & mask) != value)
        if (cycles() - from > 32 * CYCLES_IN_A_MICROSECOND * microseconds) return 0;
    return 1;
}

/* A bit of a register by its word in the bit-band window of a Cortex-M4; a Cortex-M7 has none. */
static void set_bit(uint32_t address, uint32_t bit) {
    if ((SCB_CPUID >> 4 & 0xFFF) == 0xC24)
        REGISTER(0x42000000 + (address - 0x40000000) * 32 + bit * 4) = 1;
    else
        REGISTER(address) |= 1u << bit;
}

static int over_drive(void) {
    RCC_APB1ENR |= 1u << 28;
    (void)RCC_APB1ENR;
    PWR(0) |= 3u << 14;
    set_bit(0x40007000, 16);
    if (!wait(&PWR(4), 1u << 16, 1u << 16, 1000)) return 0;
    set_bit(0x40007000, 17);
    return wait(&PWR(4), 1u << 17, 1u << 17, 1000);
}

static int clocks(void) {
    RCC_CR |= HSEON;
    if (RCC_CR & HSERDY) return 1; /* an oscillator is not ready at once */
    if (!wait(&RCC_CR, HSERDY, HSERDY, 100000)) return 2;
    RCC_CR &= ~PLLON;
    if (!wait(&RCC_CR, PLLRDY, 0, 2000)) return 3;
    RCC(0x04) = 25 | 432 << 6 | 1 << 22 | 9 << 24;
    if (!over_drive()) return 4;
    set_bit(0x40023800, 24);
    if (!wait(&RCC_CR, PLLRDY, PLLRDY, 2000)) return 5;
    FLASH_ACR = 0x300 | 7;
    if ((FLASH_ACR & 15) != 7) return 6;
    RCC_CFGR = (RCC_CFGR & ~3u) | 2;
    if (!wait(&RCC_CFGR, 3u << 2, 2u << 2, 5000)) return 7;
    return 0;
}

int main(void) {
    cycles_start();
    int failed = clocks();
    print_number("clocks ", (uint32_t)failed);
    print_number("microseconds ", cycles() / 216);
    return failed;
}

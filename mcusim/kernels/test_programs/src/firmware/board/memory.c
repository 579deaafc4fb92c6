/* SDRAM by its command sequence; memory protection and caches of the Cortex-M7. */
#include "board.h"
#include "caches.h"

#define FMC(offset) REGISTER(0xA0000000 + (offset))
#define FMC_SDCR1 FMC(0x140)
#define FMC_SDTR1 FMC(0x148)
#define FMC_SDCMR FMC(0x150)
#define FMC_SDRTR FMC(0x154)
#define FMC_SDSR FMC(0x158)
#define SYSCFG_MEMRMP REGISTER(0x40013800)
enum { CLOCK_ENABLE = 1, PRECHARGE_ALL, AUTO_REFRESH, LOAD_MODE, BANK_1 = 1 << 4, BUSY = 1 << 5, LOOPS = 65536 };
enum { FOUR_BANKS = 1 << 6, ROWS_12 = 1 << 2, CLOCK_HALF = 2 << 10, BURST_READ = 1 << 12, SINGLE_WRITES = 1 << 9 };
#ifdef STM32F746
enum { CAS = 2, WIDTH = 1, TXSR = 6, SDRAM_MHZ = CORE_MHZ / 2 };
#else
enum { CAS = 3, WIDTH = 2, TXSR = 7, SDRAM_MHZ = CORE_MHZ / 2 };
#endif
/* fields of SDTR hold one less: TMRD 2, TXSR, TRAS 4, TRC 6, TWR 2, TRP 2, TRCD 2 */
enum { TIMING = 1 | (TXSR - 1) << 4 | 3 << 8 | 5 << 12 | 1 << 16 | 1 << 20 | 1 << 24 };
enum { ROW_REFRESH_NS = 15625, REFRESH_MARGIN = 20 };

static int command(uint32_t mode, uint32_t refreshes, uint32_t mode_register) {
    FMC_SDCMR = mode | BANK_1 | (refreshes - 1) << 5 | mode_register << 9;
    for (uint32_t n = LOOPS; n; n--)
        if (!(FMC_SDSR & BUSY)) return 1;
    return 0;
}

int sdram_start(void) {
    RCC_AHB3ENR |= 1;
#ifdef STM32F746 /* SDRAM where the default memory map caches it: 0x60000000 */
    RCC_APB2ENR |= 1u << 14;
    (void)RCC_APB2ENR;
    SYSCFG_MEMRMP |= 1u << 10;
#endif
    FMC_SDCR1 = ROWS_12 | WIDTH << 4 | FOUR_BANKS | CAS << 7 | CLOCK_HALF | BURST_READ;
    FMC_SDTR1 = TIMING;
    if (!command(CLOCK_ENABLE, 1, 0)) return 1;
    delay_ms(1); /* 100 us at least */
    if (!command(PRECHARGE_ALL, 1, 0)) return 2;
    if (!command(AUTO_REFRESH, 8, 0)) return 3;
    if (!command(LOAD_MODE, 1, SINGLE_WRITES | CAS << 4)) return 4;
    FMC_SDRTR = (SDRAM_MHZ * ROW_REFRESH_NS / 1000 - REFRESH_MARGIN) << 1;
    return 0;
}

#ifdef STM32F746
/* size: log2 of the bytes; normal memory, write-back with write-allocate (TEX 1, C, B) */
static void region(uint32_t number, uint32_t base, uint32_t size, uint32_t access, uint32_t never_code) {
    MPU_RNR = number;
    MPU_RBAR = base;
    MPU_RASR = never_code << 28 | access << 24 | 1 << 19 | 1 << 17 | 1 << 16 | (size - 1) << 1 | 1;
}

void caches_start(void) {
    MPU_CTRL = 0;
    region(0, 0x60000000, 23, 3, 1); /* SDRAM, 8 MiB */
    region(1, 0x08000000, 20, 6, 0); /* flash, 1 MiB, read only */
    MPU_CTRL = 5;                    /* on, with the default map for what has no region */
    barrier();
    enable_instruction_cache();
    enable_data_cache();
}
#else
void caches_start(void) {}
#endif

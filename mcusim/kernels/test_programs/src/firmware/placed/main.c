/* Constants in QSPI flash, and variables in SDRAM that are cleared once its controller is set up: vendors' linker scripts
   place large tables and buffers so. main returns how many checks failed. */
#include "board.h"

enum { WORDS = 256 };

__attribute__((section(".qspi"))) const uint32_t table[WORDS] = {[0] = 0x12345678, [WORDS - 1] = 0x9ABCDEF0};
__attribute__((section(".sdram_bss"))) uint32_t sums[WORDS];
extern uint32_t _ssdram, _esdram;

int main(void) {
    int failed = clock_start();
    tick_start();
    caches_start();
    failed += sdram_start();
    for (uint32_t *at = &_ssdram; at < &_esdram; at++) *at = 0;
    uint32_t sum = 0;
    for (int i = 0; i < WORDS; i++) sums[i] += sum += table[i];
    print_hex("sum ", sums[WORDS - 1]);
    return failed + (sums[WORDS - 1] != 0xACF13568) + ((uint32_t)table != 0x90000000) + ((uint32_t)sums < 0x60000000);
}

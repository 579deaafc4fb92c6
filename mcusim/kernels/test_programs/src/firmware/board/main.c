/* Start-up of the board and a look at what came of it; main returns how many checks failed. SysTick counts next to the
   timer, and a pattern goes through the SDRAM. */
#include "board.h"

enum { MS = 10, WORDS = 1024, STEP = 1031 };

static volatile uint32_t beats;
extern uint32_t sdram_first[WORDS * STEP];

void SysTick_Handler(void) { beats++; }

static int check(const char *name, int passed) {
    print(name);
    print(passed ? ": ok\n" : ": FAILED\n");
    return !passed;
}

static int ticks(void) {
    SYST_RVR = CORE_MHZ * 1000 - 1;
    SYST_CVR = 0;
    SYST_CSR = 7;
    const uint32_t from = tick_now(), before = beats;
    delay_ms(MS);
    const uint32_t counted = tick_now() - from, beaten = beats - before;
    SYST_CSR = 0;
    return check("both ticks", counted == MS + 1 && beaten >= MS && beaten <= MS + 1);
}

static int pattern(void) { /* over all banks and many rows */
    uint32_t state = 1, wrong = 0;
    for (int i = 0; i < WORDS; i++) sdram_first[i * STEP] = lcg(&state);
    state = 1;
    for (int i = 0; i < WORDS; i++) wrong += sdram_first[i * STEP] != lcg(&state);
    return check("SDRAM", !wrong);
}

uint32_t sdram_first[WORDS * STEP] __attribute__((section(".sdram")));

int main(void) {
    const int clocks = clock_start();
    tick_start();
    caches_start();
    const int sdram = sdram_start();
    const uint32_t cached = SCB_CCR & (CCR_DC | CCR_IC);
    int failed = check("clocks", !clocks) + check("SDRAM's commands", !sdram);
    failed += check("caches", cached == (HAS_CACHES ? CCR_DC | CCR_IC : 0));
    return failed + ticks() + pattern();
}

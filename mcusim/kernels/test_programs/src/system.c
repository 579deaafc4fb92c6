/* The system registers a bare-metal program touches, and instructions that are easy to get wrong. Each check prints its
   name; main returns the number of checks that failed. Times are printed, and compared only with each other. */
#include "caches.h"

enum { KIB = 1024, LOOPS = 1000 };

extern const uint32_t vectors[];
static uint32_t buffer[64] __attribute__((aligned(64)));
static volatile uint32_t initialised = 0x12345678u, zeroed;

/* SUBS and a taken branch, ``loops`` times */
void spin(uint32_t loops) {
    __asm__ volatile(".p2align 3\n1:\tsubs %0, #1\n\tbne 1b" : "+r"(loops)::"cc");
}

static int check(const char *name, int passed) {
    print(name);
    print(passed ? ": ok\n" : ": FAILED\n");
    return !passed;
}

static int startup_sections(void) { return check("data and bss", initialised == 0x12345678u && zeroed == 0); }

static int coprocessor_access(void) { return check("CPACR", (SCB_CPACR >> 20 & 15) == 15); }

static int cycle_counter(void) {
    cycles_start();
    const uint32_t start = cycles();
    spin(LOOPS);
    const uint32_t once = cycles() - start;
    spin(LOOPS);
    spin(LOOPS);
    const uint32_t thrice = cycles() - start;
    print_number("  cycles of 1000 loops ", once);
    return check("DWT CYCCNT", once >= LOOPS / 2 && once <= 100 * LOOPS && thrice > 2 * once && thrice < 5 * once);
}

static int systick_counter(void) {
    SYST_RVR = 0xFFFFFF;
    SYST_CVR = 0;
    SYST_CSR = 5; /* the core's clock, no interrupt */
    spin(4);
    const uint32_t tick = SYST_CVR, before = cycles();
    spin(LOOPS);
    const uint32_t by_dwt = cycles() - before, by_tick = (tick - SYST_CVR) & 0xFFFFFF;
    print_number("  cycles by SysTick ", by_tick);
    return check("SysTick", by_tick >= by_dwt && by_tick - by_dwt < 500);
}

static int systick_flag(void) {
    SYST_RVR = 999;
    SYST_CVR = 0;
    SYST_CSR = 5;
    int polls = 0;
    while (!(SYST_CSR >> 16 & 1) && polls < 100000) polls++;
    const uint32_t value = SYST_CVR;
    SYST_CSR = 0;
    return check("SysTick COUNTFLAG", polls > 0 && polls < 100000 && value <= 999);
}

static int configuration_control(void) {
    const uint32_t before = SCB_CCR;
    SCB_CCR = before | CCR_DIV_0_TRP | CCR_UNALIGN_TRP;
    const uint32_t set = SCB_CCR;
    SCB_CCR = before & ~(CCR_DIV_0_TRP | CCR_UNALIGN_TRP);
    const uint32_t cleared = SCB_CCR, traps = CCR_DIV_0_TRP | CCR_UNALIGN_TRP;
    return check("CCR", (set & traps) == traps && (cleared & traps) == 0);
}

static uint32_t sum_flash(uint32_t *spent) {
    const volatile uint32_t *word = vectors;
    uint32_t sum = 0;
    const uint32_t before = cycles();
    for (int i = 0; i < KIB / 4; i++) sum += word[i];
    *spent = cycles() - before;
    return sum;
}

static int caches(void) {
    uint32_t off, cold, warm, again, after;
    if (!has_caches()) return check("caches (none)", 1);
    const uint32_t sum = sum_flash(&off);
    enable_instruction_cache();
    enable_data_cache();
    int same = sum_flash(&cold) == sum;
    same &= sum_flash(&warm) == sum;
    each_line(&DCCIMVAC, vectors, KIB);
    same &= sum_flash(&again) == sum;
    each_line(&ICIMVAU, vectors, KIB);
    buffer[0] = 0xCAFE;
    each_line(&DCCMVAC, buffer, sizeof buffer);
    each_line(&DCIMVAC, buffer, sizeof buffer); /* clean, so nothing is lost */
    each_set_and_way(&DCCSW);
    each_set_and_way(&DCCISW);
    same &= sum_flash(&after) == sum && buffer[0] == 0xCAFE;
    print_number("  1 KiB of flash, caches off ", off);
    print_number("  cold ", cold);
    print_number("  warm ", warm);
    print_number("  after clean and invalidate by address ", again);
    print_number("  after clean and invalidate by set and way ", after);
    const int on = (SCB_CCR & (CCR_IC | CCR_DC)) == (CCR_IC | CCR_DC);
    return check("caches", same && on && warm <= cold && warm <= again && warm <= after);
}

/* One region of 1 KiB over the vectors: normal, not cached, all access */
static void uncached_vectors(void) {
    MPU_RNR = 0;
    MPU_RBAR = (uint32_t)vectors;
    MPU_RASR = 3u << 24 | 1u << 19 | 9u << 1 | 1; /* AP full, TEX 1 C 0 B 0, 2^(9 + 1) bytes, enabled */
    MPU_CTRL = 5;                                 /* on, the default map elsewhere */
    barrier();
}

static int protection_unit(void) {
    uint32_t cached, uncached, back;
    if (!(MPU_TYPE >> 8 & 0xFF)) return check("MPU (none)", 1);
    uint32_t sum = sum_flash(&cached);
    sum -= sum_flash(&cached);
    if (has_caches()) each_line(&DCCIMVAC, vectors, KIB);
    uncached_vectors();
    sum += sum_flash(&uncached);
    sum -= sum_flash(&uncached);
    const int set = (MPU_CTRL & 5) == 5 && (MPU_RBAR & ~31u) == (uint32_t)vectors;
    MPU_CTRL = 0;
    barrier();
    sum += sum_flash(&back);
    sum -= sum_flash(&back);
    print_number("  1 KiB of flash ", cached);
    print_number("  as an uncached MPU region ", uncached);
    print_number("  without it ", back);
    return check("MPU", set && sum == 0 && uncached >= back);
}

static int caches_off(void) {
    uint32_t spent;
    if (!has_caches()) return 0;
    const uint32_t sum = sum_flash(&spent);
    disable_data_cache();
    disable_instruction_cache();
    return check("caches off", sum_flash(&spent) == sum && !(SCB_CCR & (CCR_IC | CCR_DC)) && buffer[0] == 0xCAFE);
}

static int trace_text(void) {
    const char *text = "ITM: text\n";
    ITM_LAR = LOCK_ACCESS_KEY;
    ITM_TCR = 1;
    ITM_TER = 1;
    for (; *text; text++) {
        for (int wait = 0; !ITM_PORT0 && wait < 10000; wait++) {
        }
        ITM_PORT0_BYTE = (uint8_t)*text;
    }
    return check("ITM", (ITM_TCR & 1) && ITM_TER == 1);
}

static uint32_t bits(float value) {
    union {
        float value;
        uint32_t bits;
    } both = {value};
    return both.bits;
}

static int floating_point(void) {
    volatile float one = 1.0f, two = 2.0f, three = 3.0f, a = 1.000244140625f; /* 1 + 2^-12 */
    const float factor = a, rest = -1.00048828125f;
    float root, fused = rest, product = factor * factor;
    __asm__ volatile("vsqrt.f32 %0, %1" : "=t"(root) : "t"(two));
    __asm__ volatile("vfma.f32 %0, %1, %1" : "+t"(fused) : "t"(factor));
    int passed = bits(one / three) == 0x3EAAAAABu && bits(root) == 0x3FB504F3u;
    passed &= bits(fused) == 0x33800000u && bits(product) == bits(-rest); /* rounded once, and after the product */
    passed &= (int)(three * -two - one) == -7 && bits((float)(int32_t)LOOPS) == 0x447A0000u;
    return check("FPU", passed);
}

static int unaligned_accesses(void) {
    uint8_t *bytes = (uint8_t *)buffer;
    for (int i = 0; i < 16; i++) bytes[i] = (uint8_t)i;
    const uint32_t word = *(volatile any_word *)(bytes + 3), second = *(volatile any_word *)(bytes + 6);
    *(volatile any_word *)(bytes + 9) = 0xA1B2C3D4u;
    uint32_t half;
    __asm__ volatile("ldrsh %0, [%1, #9]" : "=r"(half) : "r"(bytes) : "memory");
    const int stored = bytes[8] == 8 && bytes[9] == 0xD4 && bytes[12] == 0xA1 && bytes[13] == 13;
    return check("unaligned", word == 0x06050403u && second == 0x09080706u && stored && half == 0xFFFFC3D4u);
}

static int it_blocks(void) {
    uint32_t taken = 1, left = 2, third = 3;
    buffer[0] = 10;
    buffer[1] = 20;
    __asm__ volatile("cmp %3, %3\n\tittet eq\n\tldreq %0, [%3]\n\tldreq %2, [%3, #4]\n\tldrne %1, [%3]\n\tstreq %2, [%3, #8]"
                     : "+r"(taken), "+r"(left), "+r"(third)
                     : "r"(buffer)
                     : "cc", "memory");
    return check("IT", taken == 10 && left == 2 && third == 20 && buffer[2] == 20);
}

static int multiple_accesses(void) {
    uint32_t low, high, sum;
    buffer[0] = 0x3F800000u; /* 1.0 */
    buffer[1] = 0x40000000u; /* 2.0 */
    __asm__ volatile("ldrd %0, %1, [%2]\n\tstrd %1, %0, [%2, #8]" : "=&r"(low), "=&r"(high) : "r"(buffer) : "memory");
    __asm__ volatile("vldm %1, {s0-s3}\n\tvadd.f32 s0, s0, s1\n\tvadd.f32 s2, s2, s3\n\tvadd.f32 s0, s0, s2\n\t"
                     "vstr s0, [%1, #16]\n\tvmov %0, s0"
                     : "=r"(sum)
                     : "r"(buffer)
                     : "s0", "s1", "s2", "s3", "memory");
    const int doubled = low == 0x3F800000u && high == 0x40000000u && buffer[2] == high && buffer[3] == low;
    return check("LDRD and VLDM", doubled && sum == 0x40C00000u && buffer[4] == sum);
}

static int division(void) {
    uint32_t by_zero, negative;
    __asm__ volatile("udiv %0, %1, %2" : "=r"(by_zero) : "r"(5), "r"(0));
    __asm__ volatile("sdiv %0, %1, %2" : "=r"(negative) : "r"(0x80000000u), "r"(-1));
    return check("division", by_zero == 0 && negative == 0x80000000u);
}

int main(void) {
    int failed = startup_sections() + coprocessor_access() + cycle_counter() + systick_counter() + systick_flag();
    failed += configuration_control() + caches() + protection_unit() + caches_off() + trace_text();
    failed += floating_point() + unaligned_accesses() + it_blocks() + multiple_accesses() + division();
    print(failed ? "system: FAILED\n" : "system: ok\n");
    return failed;
}

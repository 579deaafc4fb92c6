/* Functions that go wrong in one way each, to be called by name; they never return. main returns 42 to the host. */
#include "mcu.h"

enum { EXIT_STATUS = 42, NOTHING_THERE = 0x70000000 };

/* ``address`` 0: one where no board has anything */
uint32_t fault_load(const volatile uint32_t *address) { return *(address ? address : (uint32_t *)NOTHING_THERE); }

void fault_store(volatile uint32_t *address) { *(address ? address : (uint32_t *)NOTHING_THERE) = 1; }

void fault_jump(uint32_t address) { ((void (*)(void))((address ? address : NOTHING_THERE) | 1))(); }

/* A word load at any address: odd ones fault in Device memory */
uint32_t fault_unaligned_load(uint32_t address) {
    uint32_t value;
    __asm__ volatile("ldr.w %0, [%1]" : "=r"(value) : "r"(address) : "memory");
    return value;
}

void fault_undefined(void) { __asm__ volatile("udf #0"); }

/* LDRD faults wherever its address is not a multiple of 4 */
uint32_t fault_unaligned_pair(void) {
    static uint32_t words[4];
    uint32_t low, high;
    __asm__ volatile("ldrd %0, %1, [%2]" : "=&r"(low), "=&r"(high) : "r"((char *)words + 2) : "memory");
    return low + high;
}

uint32_t fault_unaligned_trap(void) {
    static uint32_t words[2];
    SCB_CCR |= CCR_UNALIGN_TRP;
    barrier();
    return fault_unaligned_load((uint32_t)words + 1);
}

uint32_t fault_divide(void) {
    uint32_t quotient;
    SCB_CCR |= CCR_DIV_0_TRP;
    barrier();
    __asm__ volatile("udiv %0, %1, %2" : "=r"(quotient) : "r"(1), "r"(0));
    return quotient;
}

void fault_fpu_off(void) {
    SCB_CPACR = 0;
    barrier();
    __asm__ volatile("vadd.f32 s0, s0, s0" ::: "s0");
}

void fault_arm_state(void) { __asm__ volatile("bx %0" ::"r"(0x08000100)); }

uint32_t fault_stack(uint32_t depth) {
    volatile uint32_t frame[16];
    frame[depth & 15] = depth;
    if (depth == UINT32_MAX) return 0; /* no stack is that deep */
    return fault_stack(depth + 1) + frame[depth & 15];
}

void fault_endless(void) {
    for (volatile uint32_t turns = 0;; turns++) {
    }
}

int main(void) {
    print("faults: each function fails in its own way when called by name\n");
    return EXIT_STATUS;
}

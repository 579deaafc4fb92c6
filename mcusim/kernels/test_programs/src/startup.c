/* Vector table and reset: FPU on, .data copied, .bss zeroed, main called, its result given to the host. */
#include "mcu.h"

extern uint32_t _estack, _sidata, _sdata, _edata, _sbss, _ebss;

void Reset_Handler(void) __attribute__((noreturn));
void Fault_Handler(void) __attribute__((noreturn));

__attribute__((section(".vectors"), used)) const void *const vectors[16] = {
    &_estack,      Reset_Handler, Fault_Handler, Fault_Handler, Fault_Handler, Fault_Handler, Fault_Handler, 0, 0, 0, 0,
    Fault_Handler, Fault_Handler, 0,             Fault_Handler, Fault_Handler,
};

void Reset_Handler(void) {
    SCB_CPACR |= 0xFu << 20;
    barrier();
    const uint32_t *from = &_sidata;
    for (uint32_t *to = &_sdata; to < &_edata; to++) *to = *from++;
    for (uint32_t *to = &_sbss; to < &_ebss; to++) *to = 0;
    exit_with(main());
}

void Fault_Handler(void) {
    print("fault\n");
    exit_with(255);
}

/* Vector table of an STM32F4 or F7, in whole lines of the flash, and the way from reset to main, in the order of a vendor's
   start-up file. What a program does not handle ends it: the exception's number is printed, the status is 255. */
#include "mcu.h"

#define SCB_VTOR REGISTER(0xE000ED08)
#define OR_DEFAULT __attribute__((weak, alias("Default_Handler"), noreturn))

extern uint32_t _estack, _sidata, _sdata, _edata, _sbss, _ebss;

void Reset_Handler(void) __attribute__((noreturn));
void Default_Handler(void) __attribute__((noreturn));
void SystemInit(void);
void NMI_Handler(void) OR_DEFAULT;
void HardFault_Handler(void) OR_DEFAULT;
void MemManage_Handler(void) OR_DEFAULT;
void BusFault_Handler(void) OR_DEFAULT;
void UsageFault_Handler(void) OR_DEFAULT;
void SVC_Handler(void) OR_DEFAULT;
void DebugMon_Handler(void) OR_DEFAULT;
void PendSV_Handler(void) OR_DEFAULT;
void SysTick_Handler(void) OR_DEFAULT;
void TIM1_UP_TIM10_IRQHandler(void) OR_DEFAULT;
void TIM6_DAC_IRQHandler(void) OR_DEFAULT;
void DMA2_Stream0_IRQHandler(void) OR_DEFAULT;
void DMA2_Stream1_IRQHandler(void) OR_DEFAULT;

__attribute__((section(".vectors"), used)) const void *const vectors[16 + 100] = {
    &_estack, Reset_Handler, NMI_Handler, HardFault_Handler, MemManage_Handler, BusFault_Handler, UsageFault_Handler,
    [11] = SVC_Handler, DebugMon_Handler, 0, PendSV_Handler, SysTick_Handler,
    [16 ... 40] = Default_Handler, TIM1_UP_TIM10_IRQHandler,
    [42 ... 69] = Default_Handler, TIM6_DAC_IRQHandler, Default_Handler, DMA2_Stream0_IRQHandler, DMA2_Stream1_IRQHandler,
    [74 ... 115] = Default_Handler,
};

__attribute__((weak)) void SystemInit(void) {
    SCB_CPACR |= 0xFu << 20;
    SCB_VTOR = (uint32_t)vectors;
    barrier();
}

void Reset_Handler(void) {
    const uint32_t *from = &_sidata;
    for (uint32_t *to = &_sdata; to < &_edata; to++) *to = *from++;
    for (uint32_t *to = &_sbss; to < &_ebss; to++) *to = 0;
    SystemInit();
    exit_with(main());
}

void Default_Handler(void) {
    uint32_t number;
    __asm__ volatile("mrs %0, ipsr" : "=r"(number));
    print_number("unexpected exception ", number);
    exit_with(255);
}

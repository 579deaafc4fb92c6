/* The tick by a timer's update interrupt, as a vendor's library has it when SysTick is left to an operating system: TIM1 on
   the F469 (APB2, 180 MHz), TIM6 on the F746 (APB1, 108 MHz: twice the bus's clock). */
#include "board.h"

#ifdef STM32F746
#define TIM 0x40001000u
#define TIMER_CLOCK_ENABLE (RCC_APB1ENR |= 1u << 4)
#define TICK_HANDLER TIM6_DAC_IRQHandler
enum { TICK_LINE = 54, TIMER_MHZ = CORE_MHZ / 2 };
#else
#define TIM 0x40010000u
#define TIMER_CLOCK_ENABLE (RCC_APB2ENR |= 1u << 0)
#define TICK_HANDLER TIM1_UP_TIM10_IRQHandler
enum { TICK_LINE = 25, TIMER_MHZ = CORE_MHZ };
#endif
#define TIM_CR1 REGISTER(TIM + 0x00)
#define TIM_DIER REGISTER(TIM + 0x0C)
#define TIM_SR REGISTER(TIM + 0x10)
#define TIM_EGR REGISTER(TIM + 0x14)
#define TIM_PSC REGISTER(TIM + 0x28)
#define TIM_ARR REGISTER(TIM + 0x2C)
enum { TICK_PRIORITY = 15 };

static volatile uint32_t ticks;

void TICK_HANDLER(void) {
    TIM_SR = ~1u;
    ticks++;
    barrier(); /* the flag is down before the handler ends */
}

void interrupt_enable(uint32_t number, uint32_t priority) {
    ((volatile uint8_t *)0xE000E400)[number] = (uint8_t)(priority << 4);
    (&REGISTER(0xE000E100))[number / 32] = 1u << number % 32;
}

void tick_start(void) {
    TIMER_CLOCK_ENABLE;
    TIM_PSC = TIMER_MHZ - 1;
    TIM_ARR = 1000 - 1;
    TIM_EGR = 1; /* PSC counts from now on */
    TIM_SR = 0;
    TIM_DIER = 1;
    TIM_CR1 = 1;
    interrupt_enable(TICK_LINE, TICK_PRIORITY);
}

uint32_t tick_now(void) { return ticks; }

void delay_ms(uint32_t ms) {
    const uint32_t from = ticks;
    while (ticks - from <= ms) __asm__ volatile("wfi"); /* the tick itself wakes it */
}

/* The STM32F469I-DISCO (a Cortex-M4) or the STM32F746G-DISCO (a Cortex-M7) with what its start-up sets up: clocks, tick,
   SDRAM, memory protection and caches. Settings are those of the machine files that ship. */
#ifndef BOARD_H
#define BOARD_H

#include "mcu.h"

#ifdef STM32F746
enum { HSE_MHZ = 25, CORE_MHZ = 216, WAIT_STATES = 5, HAS_CACHES = 1 };
#else
enum { HSE_MHZ = 8, CORE_MHZ = 180, WAIT_STATES = 5, HAS_CACHES = 0 };
#endif

#define RCC_CR REGISTER(0x40023800)
#define RCC_PLLCFGR REGISTER(0x40023804)
#define RCC_CFGR REGISTER(0x40023808)
#define RCC_AHB1ENR REGISTER(0x40023830)
#define RCC_AHB3ENR REGISTER(0x40023838)
#define RCC_APB1ENR REGISTER(0x40023840)
#define RCC_APB2ENR REGISTER(0x40023844)
#define SCB_VTOR REGISTER(0xE000ED08)

/* clock.c: 0, or which wait took too long */
int clock_start(void);

/* tick.c: an update interrupt of a timer, 1,000 in a second */
void tick_start(void);
uint32_t tick_now(void);
void delay_ms(uint32_t ms); /* at least; asleep */
void interrupt_enable(uint32_t number, uint32_t priority);

/* memory.c */
void caches_start(void); /* nothing on a core without them */
int sdram_start(void);   /* 0, or which command was not taken */

#endif

/* Start-up and DMA copies of an STM32L4R5 and G474 (Cortex-M4) and an STM32H743 (Cortex-M7), in a vendor's order. */
#ifndef PARTS_H
#define PARTS_H

#include "mcu.h"

#define HANDLERS 166 /* 16 exceptions and the 150 interrupts of an H743 */

typedef void (*handler)(void);

extern handler in_ram[HANDLERS]; /* the vector table in use */

uint32_t milliseconds(void);                                                   /* by SysTick */
int wait_for(volatile uint32_t *at, uint32_t mask, uint32_t value, uint32_t limit); /* 0: not within limit ms */
void enable_irq(uint32_t number, handler served);
int check(const char *name, int passed); /* prints; 1 if it failed */

int l4r5_clocks(void); /* 0, or the number of the step that failed */
int l4r5_copies(void); /* the number of checks that failed */
int g474_clocks(void);
int g474_copies(void);
int h743_clocks(void);
int h743_copies(void);

#endif

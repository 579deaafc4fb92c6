/* Registers of the ARMv7-M system space and what every program shares. No vendor header is needed. */
#ifndef MCU_H
#define MCU_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

#define ITM_PORT0 REGISTER(0xE0000000) /* 0 when read: its FIFO is full */
#define ITM_PORT0_BYTE (*(volatile uint8_t *)0xE0000000)
#define ITM_TER REGISTER(0xE0000E00)
#define ITM_TCR REGISTER(0xE0000E80)
#define ITM_LAR REGISTER(0xE0000FB0)
#define DWT_CTRL REGISTER(0xE0001000)
#define DWT_CYCCNT REGISTER(0xE0001004)
#define DWT_LAR REGISTER(0xE0001FB0)
#define SYST_CSR REGISTER(0xE000E010)
#define SYST_RVR REGISTER(0xE000E014)
#define SYST_CVR REGISTER(0xE000E018)
#define SCB_CPUID REGISTER(0xE000ED00)
#define SCB_CCR REGISTER(0xE000ED14)
#define SCB_CLIDR REGISTER(0xE000ED78)
#define SCB_CTR REGISTER(0xE000ED7C)
#define SCB_CCSIDR REGISTER(0xE000ED80)
#define SCB_CSSELR REGISTER(0xE000ED84)
#define SCB_CPACR REGISTER(0xE000ED88)
#define MPU_TYPE REGISTER(0xE000ED90)
#define MPU_CTRL REGISTER(0xE000ED94)
#define MPU_RNR REGISTER(0xE000ED98)
#define MPU_RBAR REGISTER(0xE000ED9C)
#define MPU_RASR REGISTER(0xE000EDA0)
#define DEMCR REGISTER(0xE000EDFC)
#define ICIALLU REGISTER(0xE000EF50)
#define ICIMVAU REGISTER(0xE000EF58)
#define DCIMVAC REGISTER(0xE000EF5C)
#define DCISW REGISTER(0xE000EF60)
#define DCCMVAC REGISTER(0xE000EF68)
#define DCCSW REGISTER(0xE000EF6C)
#define DCCIMVAC REGISTER(0xE000EF70)
#define DCCISW REGISTER(0xE000EF74)

#define LOCK_ACCESS_KEY 0xC5ACCE55u
#define CCR_DIV_0_TRP (1u << 4)
#define CCR_UNALIGN_TRP (1u << 3)
#define CCR_DC (1u << 16)
#define CCR_IC (1u << 17)

/* a word at any address, of memory that other types are stored in too */
typedef uint32_t __attribute__((may_alias, aligned(1))) any_word;

static inline void barrier(void) { __asm__ volatile("dsb\n\tisb" ::: "memory"); }

static inline uint32_t cycles(void) { return DWT_CYCCNT; }

/* io.c */
void cycles_start(void);                                /* CYCCNT counts from 0 */
void print(const char *text);                           /* semihosting SYS_WRITE0 */
void print_number(const char *before, uint32_t value);  /* "<before><decimal>\n" */
void print_hex(const char *before, uint32_t value);     /* "<before>0x<8 digits>\n" */
uint32_t crc32(const void *data, uint32_t bytes);       /* as zlib's */
uint32_t lcg(uint32_t *state);                          /* next state: 1664525 * state + 1013904223 */
void exit_with(int status) __attribute__((noreturn));   /* semihosting SYS_EXIT or SYS_EXIT_EXTENDED */

int main(void); /* 0, or which check failed */

#endif

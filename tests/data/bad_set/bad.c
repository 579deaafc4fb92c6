/* An ADD that adds nothing and does one thing wrong: each function another. */
#include "kernels.h"

static void copy(const struct binary_call *c)
{
    const int8_t *in = c->input1;
    int8_t *out = c->output;
    int n = c->shape[0] * c->shape[1] * c->shape[2] * c->shape[3];
    for (int i = 0; i < n; i++)
        out[i] = in[i];
}

static int size(const struct binary_call *c)
{
    return c->shape[0] * c->shape[1] * c->shape[2] * c->shape[3];
}

int good(const struct binary_call *c)
{
    copy(c);
    return 0;
}

int writes_behind(const struct binary_call *c)
{
    copy(c);
    ((volatile int8_t *)c->output)[size(c)] = 1; /* behind */
    return 0;
}

int writes_across(const struct binary_call *c)
{
    copy(c);
    *(volatile uint32_t *)((int8_t *)c->output + size(c) - 2) = 1; /* across */
    return 0;
}

int writes_before(const struct binary_call *c)
{
    const void *last = c->input1 > c->input2 ? c->input1 : c->input2;
    ((volatile int8_t *)last)[-1] = 1; /* before */
    copy(c);
    return 0;
}

int writes_input(const struct binary_call *c)
{
    ((volatile int8_t *)c->input2)[3] = 1; /* input */
    copy(c);
    return 0;
}

int writes_own_call(struct binary_call *c)
{
    *(volatile int32_t *)&c->least = 0; /* call */
    return 0;
}

int writes_flash(const struct binary_call *c)
{
    copy(c);
    *(volatile uint32_t *)0x08000000u = 0; /* flash */
    return 0;
}

int writes_nowhere(const struct binary_call *c)
{
    copy(c);
    *(volatile uint32_t *)0xD8000000u = 0; /* nowhere */
    return 0;
}

int overflows(const struct binary_call *c)
{
    volatile char room[512];
    room[0] = (char)c->least;
    return overflows(c) + room[0]; /* deeper */
}

int never_returns(const struct binary_call *c)
{
    volatile int32_t turn = 0;
    while (turn >= 0)
        turn = (turn + c->shape[1]) & 0xFFFF;
    return 0;
}

int stands_still(const struct binary_call *c)
{
    (void)c;
    for (;;)
        ;
}

int returns_seven(const struct binary_call *c)
{
    copy(c);
    return 7;
}

int undefined(const struct binary_call *c)
{
    (void)c;
    __asm__ volatile("udf #3");
    return 0;
}

int opens_the_mpu(const struct binary_call *c)
{
    *(volatile uint32_t *)0xE000ED94u = 0;
    __asm__ volatile("dsb\n isb");
    ((volatile int8_t *)c->input2)[3] = 1;
    return 0;
}

int writes_dma_registers(const struct binary_call *c)
{
    *(volatile uint32_t *)0x40026410u = 1;
    copy(c);
    return 0;
}

int talks_to_the_host(const struct binary_call *c)
{
    register int operation __asm__("r0") = 4;
    register const void *text __asm__("r1") = c;
    for (;;)
        __asm__ volatile("bkpt 0xAB" : "+r"(operation) : "r"(text) : "memory");
}

/* A producer that sleeps between values and a consumer of higher priority, both with sums in floating point. The producer
   outruns the queue in bursts, so that both sides wait. main's checks are of what came through, in order, and of both sums,
   which an FP register lost in a switch would change. */
#include "rtos.h"

enum { VALUES = 200, BURST = 7, CYCLES_A_TICK = 20000 };

static float sent, received;

static float term(uint32_t value, float sum) { return sum * 0.5f + (float)value; }

static void producer(void *argument) {
    const uint32_t *count = argument;
    uint32_t state = 1;
    for (uint32_t i = 0; i < *count; i++) {
        const uint32_t value = lcg(&state) >> 16;
        sent = term(value, sent);
        queue_send(value);
        if (i % BURST == BURST - 1) task_sleep(1 + value % 3);
    }
    for (;;) task_sleep(1000);
}

static void consumer(void *argument) {
    const uint32_t *count = argument;
    uint32_t state = 1, wrong = 0;
    for (uint32_t i = 0; i < *count; i++) {
        if (i % 16 == 15) task_sleep(2); /* the queue fills up */
        const uint32_t value = queue_receive();
        wrong += value != lcg(&state) >> 16;
        received = term(value, received);
    }
    print_number("kernel: values ", *count - wrong);
    print_number("kernel: ticks ", tick_count());
    print_number("kernel: switches ", switch_count());
    const int same = sent == received;
    print(!wrong && same ? "kernel: ok\n" : "kernel: FAILED\n");
    exit_with(wrong ? 1 : same ? 0 : 2);
}

int main(void) {
    static const uint32_t count = VALUES;
    task_create(1, producer, (void *)&count);
    task_create(2, consumer, (void *)&count);
    kernel_start(CYCLES_A_TICK);
}

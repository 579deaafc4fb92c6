/* Three tasks, one of them the idle loop. A service changes task states in its SVC handler and pends PendSV, which saves
   r4-r11 (and s16-s31 where the task has an FP frame) on the task's stack and takes those of the ready task of the highest
   number. All handlers have the lowest priority, so that none of them interrupts another. */
#include "rtos.h"

#define SCB_ICSR REGISTER(0xE000ED04)
#define SCB_SHPR2 REGISTER(0xE000ED1C)
#define SCB_SHPR3 REGISTER(0xE000ED20)
#define ICSR_PENDSVSET (1u << 28)

enum { NONE = -1, STACK_WORDS = 256 };
enum { READY, SLEEPING, SENDING, RECEIVING };
enum { CALL_SLEEP = 1, CALL_SEND, CALL_RECEIVE };

typedef struct {
    uint32_t *sp; /* first: PendSV_Handler uses it */
    int state;
    uint32_t until;  /* SLEEPING: the tick it wakes at */
    uint32_t value;  /* SENDING: what */
    uint32_t *frame; /* RECEIVING: whose r0 gets the value */
} task;

static uint32_t stacks[TASKS][STACK_WORDS] __attribute__((aligned(8)));
static task tasks[TASKS];
task *current_task __attribute__((used));
static uint32_t queue[QUEUE];
static volatile uint32_t head, held, ticks, switches;

uint32_t tick_count(void) { return ticks; }

uint32_t switch_count(void) { return switches; }

static void task_returned(void) { exit_with(254); }

void task_create(int number, task_function *function, void *argument) {
    uint32_t *top = stacks[number] + STACK_WORDS;
    *--top = 1u << 24; /* xPSR: Thumb */
    *--top = (uint32_t)function & ~1u;
    *--top = (uint32_t)task_returned;
    for (int i = 0; i < 4; i++) *--top = 0; /* r12, r3, r2, r1 */
    *--top = (uint32_t)argument;
    *--top = 0xFFFFFFFDu; /* EXC_RETURN: thread, PSP, no FP frame */
    for (int i = 0; i < 8; i++) *--top = 0; /* r4 to r11 */
    tasks[number].sp = top;
}

/* PendSV: the ready task of the highest number; task 0 always is */
__attribute__((used)) task *next_task(void) {
    int best = TASKS - 1;
    while (tasks[best].state != READY) best--;
    if (&tasks[best] != current_task) switches++;
    return current_task = &tasks[best];
}

__attribute__((naked)) void PendSV_Handler(void) {
    __asm__ volatile("mrs r0, psp\n\t"
                     "tst lr, #0x10\n\t"
                     "it eq\n\t"
                     "vstmdbeq r0!, {s16-s31}\n\t"
                     "mov r3, lr\n\t"
                     "stmdb r0!, {r3}\n\t"
                     "stmdb r0!, {r4-r11}\n\t"
                     "ldr r1, =current_task\n\t"
                     "ldr r2, [r1]\n\t"
                     "str r0, [r2]\n\t"
                     "bl next_task\n\t"
                     "ldr r0, [r0]\n\t"
                     "ldmia r0!, {r4-r11}\n\t"
                     "ldmia r0!, {r3}\n\t"
                     "mov lr, r3\n\t"
                     "tst lr, #0x10\n\t"
                     "it eq\n\t"
                     "vldmiaeq r0!, {s16-s31}\n\t"
                     "msr psp, r0\n\t"
                     "bx lr\n\t"
                     ".ltorg");
}

static int wake(int state) {
    for (int i = TASKS - 1; i >= 0; i--)
        if (tasks[i].state == state) return i;
    return NONE;
}

static void put(uint32_t value) { queue[(head + held++) % QUEUE] = value; }

static uint32_t take(void) {
    const uint32_t value = queue[head];
    head = (head + 1) % QUEUE;
    held--;
    return value;
}

static void send(uint32_t *frame) {
    const int waiting = wake(RECEIVING);
    if (waiting >= 0) {
        *tasks[waiting].frame = frame[0];
        tasks[waiting].state = READY;
    } else if (held < QUEUE) {
        put(frame[0]);
    } else {
        current_task->value = frame[0];
        current_task->state = SENDING;
    }
}

static void receive(uint32_t *frame) {
    if (!held) {
        current_task->frame = frame;
        current_task->state = RECEIVING;
        return;
    }
    frame[0] = take();
    const int waiting = wake(SENDING);
    if (waiting < 0) return;
    put(tasks[waiting].value);
    tasks[waiting].state = READY;
}

__attribute__((used)) void service(uint32_t *frame) {
    const uint32_t number = ((const uint8_t *)frame[6])[-2]; /* the SVC instruction's */
    if (number == CALL_SLEEP) {
        current_task->until = ticks + frame[0];
        current_task->state = SLEEPING;
    } else if (number == CALL_SEND) {
        send(frame);
    } else if (number == CALL_RECEIVE) {
        receive(frame);
    }
    SCB_ICSR = ICSR_PENDSVSET;
}

__attribute__((naked)) void SVC_Handler(void) {
    __asm__ volatile("mrs r0, psp\n\tb service");
}

void SysTick_Handler(void) {
    ticks++;
    for (int i = 1; i < TASKS; i++)
        if (tasks[i].state == SLEEPING && (int32_t)(ticks - tasks[i].until) >= 0) tasks[i].state = READY;
    SCB_ICSR = ICSR_PENDSVSET;
}

#define SERVICE(number, r0) __asm__ volatile("svc %1" : "+r"(r0) : "i"(number) : "memory")

void task_sleep(uint32_t ticks_from_now) {
    register uint32_t r0 __asm__("r0") = ticks_from_now;
    SERVICE(CALL_SLEEP, r0);
}

void queue_send(uint32_t value) {
    register uint32_t r0 __asm__("r0") = value;
    SERVICE(CALL_SEND, r0);
}

uint32_t queue_receive(void) {
    register uint32_t r0 __asm__("r0") = 0;
    SERVICE(CALL_RECEIVE, r0);
    return r0;
}

static void idle(void *argument) {
    (void)argument;
    for (;;) __asm__ volatile("wfi");
}

void kernel_start(uint32_t cycles_a_tick) {
    task_create(0, idle, 0);
    current_task = &tasks[0];
    SCB_SHPR2 = 0xFFu << 24; /* SVC */
    SCB_SHPR3 = 0xFFFFu << 16; /* SysTick, PendSV */
    /* the first frame is the idle task's: on PSP, past what PendSV would have taken from it */
    uint32_t *sp = tasks[0].sp + 9;
    __asm__ volatile("msr psp, %0\n\tmsr control, %1\n\tisb" ::"r"(sp + 8), "r"(2) : "memory");
    SYST_RVR = cycles_a_tick - 1;
    SYST_CVR = 0;
    SYST_CSR = 7; /* the core's clock, with its exception */
    SCB_ICSR = ICSR_PENDSVSET;
    barrier();
    idle(0);
    __builtin_unreachable();
}

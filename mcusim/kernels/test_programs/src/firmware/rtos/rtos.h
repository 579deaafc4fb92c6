/* A small preemptive kernel: tasks on PSP, switched by PendSV, services by SVC, a queue, a tick by SysTick. */
#ifndef RTOS_H
#define RTOS_H

#include "mcu.h"

enum { TASKS = 3, QUEUE = 4 };

typedef void task_function(void *argument);

void task_create(int number, task_function *function, void *argument); /* a higher number has priority */
void kernel_start(uint32_t ticks_of_core) __attribute__((noreturn));
void task_sleep(uint32_t ticks);
void queue_send(uint32_t value); /* waits while the queue is full */
uint32_t queue_receive(void);    /* waits while it is empty */
uint32_t tick_count(void);
uint32_t switch_count(void);

#endif

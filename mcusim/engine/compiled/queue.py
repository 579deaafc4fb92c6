"""What happens when: the moments of processes, and what happens at this one yet; SimPy's order.

A moment's events are in the order in which they were scheduled. A process is due by its timer, which a changed pace
puts off; a change among the activities, or the end of a task, is told to those that wait for it in the order in which
they began to.
"""

from __future__ import annotations

from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled.layout import EngineState, Process, TaskState
from mcusim.native.functions import inlined, native

NO_TIMER, TO_FIRE, TO_RESUME = range(3)
"""What a process's timer does: nothing; it fires, and the process goes on after all else that is due now; the process
goes on."""
CHANGE, END = range(2)
"""Kinds in the queue: the activities change; a task ends."""
DIRECT = 1 << 60  # added to the number of a change: the process goes on at once


@inlined
def number(engine: EngineState) -> int:
    """The next event's."""
    engine.numbers += 1
    return engine.numbers


@native
def schedule(engine: EngineState, process: Process, timer: int, due: int) -> None:
    """The process's timer."""
    process.timer, process.due, process.number = timer, due, number(engine)


@native
def enqueue(engine: EngineState, kind: int, what: int) -> None:
    """It happens at this moment, after all that was scheduled before."""
    if engine.queue_end - engine.queue_begin == E.MAX_QUEUE:
        engine.failed = 1
        return
    slot = 2 * (engine.queue_end % E.MAX_QUEUE)
    engine.queue[slot] = number(engine) << 1 | kind
    engine.queue[slot + 1] = what
    engine.queue_end += 1


@native
def notify(engine: EngineState) -> None:
    """The activities change: those that wait for it will be told."""
    enqueue(engine, CHANGE, engine.changes)
    engine.changes += 1


@native
def earliest(engine: EngineState) -> int:
    """The process whose timer is next, -1: none."""
    best = -1
    for i in range(engine.process_count):
        process = engine.processes[i]
        if process.timer == NO_TIMER:
            continue
        if best >= 0:
            other = engine.processes[best]
            if process.due > other.due or (process.due == other.due and process.number > other.number):
                continue
        best = i
    return best


@native
def next_waiting(engine: EngineState, change: int) -> int:
    """Of the processes that wait for the change the one that began to first, -1: none."""
    best = -1
    for i in range(engine.process_count):
        process = engine.processes[i]
        if process.change & ~DIRECT != change:
            continue
        if best < 0 or process.change_number < engine.processes[best].change_number:
            best = i
    return best


@native
def await_tasks(engine: EngineState, process: Process, task: TaskState) -> None:
    """The process waits for the tasks that its next one comes after, and of which it does not know that they ended."""
    process.pending = 0
    for i in range(task.after, task.after + task.after_count):
        if engine.tasks.records[engine.after[i]].state != E.PROCESSED:
            process.pending += 1
    process.wait_number = number(engine)


@native
def release(engine: EngineState, index: int) -> None:
    """A task has ended: who waited for it alone goes on after all else that is due now."""
    engine.tasks.records[index].state = E.PROCESSED
    last = 0
    while True:
        best = -1
        for i in range(engine.process_count):
            process = engine.processes[i]
            if process.pending == 0 or process.wait_number <= last:
                continue
            if best < 0 or process.wait_number < engine.processes[best].wait_number:
                best = i
        if best < 0:
            return
        process = engine.processes[best]
        last = process.wait_number
        task = engine.tasks.records[process.task]
        for i in range(task.after, task.after + task.after_count):
            if engine.after[i] == index:
                process.pending -= 1
                if process.pending == 0:
                    schedule(engine, process, TO_RESUME, engine.now)

"""The core and the streams: what each does next, until it has to wait."""

from __future__ import annotations

from mcusim.engine.compiled import accesses, arbiter, queue
from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled.layout import EngineState, Process
from mcusim.engine.compiled.queue import DIRECT, NO_TIMER, TO_FIRE, TO_RESUME, schedule
from mcusim.native.functions import native

NEXT, WAITED, SET_UP, RUNS, HANDLERS = range(5)
"""Steps of a process: it takes its next task; the tasks before that have ended; the driver has set the transfer up; its
activity has ended; the handlers have."""


@native
def take_task(engine: EngineState, process: Process) -> int:
    """The process's next task; whether it has to wait, for tasks before it or for ever."""
    if process.next == process.end:
        engine.processes_left -= 1
        return 1
    process.task = engine.lanes[process.next]
    process.next += 1
    task = engine.tasks.records[process.task]
    task.waited_from = engine.now
    queue.await_tasks(engine, process, task)
    process.step = WAITED
    return process.pending


@native
def end_task(engine: EngineState, process: Process) -> None:
    """The process's task ends now."""
    task = engine.tasks.records[process.task]
    task.end, task.state = engine.now, E.ENDED
    engine.ended[engine.ended_count] = process.task
    engine.ended_count += 1
    queue.enqueue(engine, queue.END, process.task)
    process.step = NEXT


@native
def steal(engine: EngineState, process: Process, cycles: int) -> int:
    """Core time for the DMA driver, a call at a time; whether the stream waits for it."""
    if cycles == 0:
        return 0
    engine.stolen += cycles
    engine.driver_until = max(engine.driver_until, engine.now) + cycles
    schedule(engine, process, TO_RESUME, engine.driver_until)
    return 1


@native
def begin_core_task(engine: EngineState, process: Process) -> int:
    """The core begins its task; whether that takes any time."""
    task = engine.tasks.records[process.task]
    task.ended_before = engine.ended_count
    # driver code that ran while the core waited costs nothing more
    engine.stolen = min(engine.stolen, max(0, engine.driver_until - engine.now))
    task.begin = engine.now
    process.step = RUNS
    if task.kind == E.COMPUTE:
        accesses.compute(engine, process.task)
    else:
        accesses.maintain(engine, process.task)
    return arbiter.begin(engine, process)


@native
def go_on_core(engine: EngineState, process: Process) -> None:
    """Until the core waits."""
    while engine.failed == 0:
        if process.step == NEXT:
            if take_task(engine, process):
                return
        elif process.step == WAITED:
            if begin_core_task(engine, process):
                return
        elif engine.stolen:  # what the driver took from the task that just ran
            task, taken = engine.tasks.records[process.task], engine.stolen
            engine.stolen = 0
            task.stolen += taken
            schedule(engine, process, TO_RESUME, engine.now + taken)
            return
        else:
            end_task(engine, process)


@native
def go_on_stream(engine: EngineState, process: Process) -> None:
    """Until the stream waits."""
    while engine.failed == 0:
        task = engine.tasks.records[process.task]
        if process.step == NEXT:
            if take_task(engine, process):
                return
        elif process.step == WAITED:
            task.begin, process.step = engine.now, SET_UP
            if steal(engine, process, task.setup):
                return
        elif process.step == SET_UP:
            accesses.transfer(engine, process.task)
            process.step = RUNS
            if arbiter.begin(engine, process):
                return
        elif process.step == RUNS:
            process.step = HANDLERS
            if steal(engine, process, task.handler):
                return
        else:
            end_task(engine, process)


@native
def go_on(engine: EngineState, index: int) -> None:
    """A process goes on until it waits again."""
    process = engine.processes[index]
    if process.running and arbiter.go_on(engine, process):
        return
    if index == 0:
        go_on_core(engine, process)
    else:
        go_on_stream(engine, process)


@native
def happen(engine: EngineState, kind: int, what: int) -> None:
    """What is first in the queue."""
    if kind == queue.END:
        queue.release(engine, what)
        return
    while True:
        index = queue.next_waiting(engine, what)
        if index < 0:
            return
        process = engine.processes[index]
        direct = process.change & DIRECT
        process.change = 0
        if direct:
            go_on(engine, index)
        elif process.fired == 0:
            process.fired = 1
            schedule(engine, process, TO_RESUME, engine.now)


@native
def start(engine: EngineState) -> None:
    """All processes begin, the core last."""
    for index in range(1, engine.process_count):
        go_on(engine, index)
    go_on(engine, 0)


@native
def play(engine: EngineState, events: int) -> int:
    """The program to its end, or so many ``events`` of it: whether there are more."""
    while engine.processes_left and engine.failed == 0:
        if events == 0:
            return 1
        events -= 1
        index = queue.earliest(engine)
        if engine.queue_begin < engine.queue_end:
            slot = 2 * (engine.queue_begin % E.MAX_QUEUE)
            first = engine.queue[slot]
            process = engine.processes[max(index, 0)]
            if index < 0 or process.due > engine.now or process.number > first >> 1:
                engine.queue_begin += 1
                happen(engine, first & 1, engine.queue[slot + 1])
                continue
        if index < 0:
            engine.failed = 1
            break
        process = engine.processes[index]
        engine.now, timer, process.timer = process.due, process.timer, NO_TIMER
        if timer == TO_FIRE:
            process.fired = 1
            schedule(engine, process, TO_RESUME, engine.now)
        else:
            go_on(engine, index)
    return 0

"""Activities that share memories, as :mod:`mcusim.engine.contention` has them; every access waits for others'.

Not modelled: the part of accesses that wait (``waiting``), which fitted profiles have.
"""

from __future__ import annotations

from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled.layout import EngineState, Process, TaskState
from mcusim.engine.compiled.queue import DIRECT, TO_FIRE, notify, number, schedule
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import AccessStats
from mcusim.native.functions import native
from mcusim.native.structs import Words

ONE_BITS = 16
ONE, HELD = 1 << ONE_BITS, 0
OCCUPIED, SPARED = (AccessStats._fields.index(name) for name in ("occupied", "spared"))
MOST_ACCESSES, MOST_CYCLES, MOST_WAIT = 1 << 28, 1 << 31, 1 << 16  # of an activity; products stay in 64 bits


@native
def part(numerator: int, denominator: int) -> int:
    """min(ONE, numerator * ONE // denominator), for numbers below 2^61."""
    if numerator >= denominator:
        return ONE
    result = 0
    for _ in range(ONE_BITS):
        numerator, result = numerator << 1, result << 1
        if numerator >= denominator:
            numerator, result = numerator - denominator, result | 1
    return result


@native
def wait_in_region(engine: EngineState, mine: Words, own: int, theirs: Words, other: int) -> int:
    """Of :func:`wait_per_tick` that of a region: what activities of ``own`` and ``other`` cycles asked of it."""
    accesses, others, occupied = mine[0] + mine[1], theirs[0] + theirs[1], theirs[OCCUPIED]
    if occupied == 0 or others == 0 or accesses == 0:
        return 0
    lost = theirs[SPARED] * part(accesses * other, others * own) >> ONE_BITS
    occupied += lost
    residual = occupied // (2 * others)
    if max(accesses, others) >= MOST_ACCESSES or residual >= MOST_WAIT or max(mine[SPARED], theirs[SPARED]) >> 44:
        engine.failed = 1
        return 0
    share = part(occupied, other * TICK + lost)
    again = mine[SPARED] * part(others * own, accesses * other)
    return (accesses * share * residual + again) // (own * TICK)


@native
def wait_per_tick(engine: EngineState, index: int, other: int) -> int:
    """Extra ticks (fixed point) that the task ``other`` costs the one of that index per tick of its own work."""
    total, regions = 0, engine.regions
    mine, theirs = engine.tasks.records[index], engine.tasks.records[other]
    for region in range(regions):
        ours = Words(engine.stats, (index * regions + region) * E.STATS)
        others = Words(engine.stats, (other * regions + region) * E.STATS)
        total += wait_in_region(engine, ours, mine.alone, others, theirs.alone)
    return total


@native
def runs(engine: EngineState, task: TaskState) -> int:
    """Among how many streams of its controller a running one has to share, 0: one of higher priority runs."""
    sharing = 0
    for i in range(engine.process_count):
        other = engine.processes[i]
        if other.running:
            theirs = engine.tasks.records[other.task]
            if theirs.controller == task.controller:
                if theirs.priority > task.priority:
                    return 0
                sharing += int(theirs.priority == task.priority)
    return sharing


@native
def slowdown(engine: EngineState, process: Process) -> int:
    """Fixed-point factor on the length of the process's activity now; HELD while a stream of higher priority runs."""
    factor, sharing = ONE, 1
    task = engine.tasks.records[process.task]
    for i in range(engine.process_count):
        other = engine.processes[i]
        if other.running == 0 or other.task == process.task:
            continue
        theirs = engine.tasks.records[other.task]
        if task.controller > 0 and theirs.controller == task.controller:
            if theirs.priority > task.priority:
                return HELD
            sharing += int(theirs.priority == task.priority)
        else:
            streams = runs(engine, theirs) if theirs.controller > 0 else 1
            if streams > 0:
                factor += wait_per_tick(engine, process.task, other.task) // streams
    return factor * sharing


@native
def begin(engine: EngineState, process: Process) -> int:
    """The process's task becomes an activity; whether it takes any time."""
    task = engine.tasks.records[process.task]
    process.remaining = task.alone * TICK
    if task.alone == 0:
        return 0
    if task.alone >= MOST_CYCLES:
        engine.failed = 1
        return 0
    process.running, process.started = 1, engine.now
    notify(engine)
    return pace(engine, process)


@native
def pace(engine: EngineState, process: Process) -> int:
    """What is left of the activity at its pace now; 0: nothing, it has ended."""
    task = engine.tasks.records[process.task]
    if process.remaining <= 0:
        process.running = 0
        notify(engine)
        task.late = engine.now - process.started - task.alone
        return 0
    process.factor = factor = slowdown(engine, process)
    process.fired = 0
    if factor == HELD:
        process.change = engine.changes | DIRECT
    else:
        process.since, process.need = engine.now, -(-process.remaining * factor // (ONE * TICK))
        schedule(engine, process, TO_FIRE, engine.now + process.need)
        process.change = engine.changes
    process.change_number = number(engine)
    return 1


@native
def go_on(engine: EngineState, process: Process) -> int:
    """The activities have changed, or it is done: :func:`pace`."""
    process.change = 0
    if process.factor != HELD:
        elapsed = engine.now - process.since
        if elapsed >= process.need:
            process.remaining = 0
        else:
            process.remaining -= elapsed * TICK * ONE // process.factor
    return pace(engine, process)

"""What a compiled engine left in its tables, as the engine in SimPy records it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property

import numpy as np

from mcusim.engine.compiled import layout as E
from mcusim.engine.compiled.tables import CompiledEngine
from mcusim.engine.run import CAUSES, Deferred, Event, OperatorRun, RunRecords, Traffic, Wait, dma_busy_cycles
from mcusim.engine.system import Cycles, System
from mcusim.memory.system import CAUSE, AccessStats
from mcusim.native.structs import Array
from mcusim.program.program import Compute, Maintain, Transfer

_BYTES = slice(2, 4)  # of AccessStats: read and written
_WAITS = {"flash": E.FLASH, "sram": E.SRAM, "sdram": E.SDRAM, "qspi": E.QSPI}


class _Details:
    """Events and waits, which few look at."""

    def __init__(self, engine: CompiledEngine) -> None:
        self._engine: CompiledEngine | None = engine

    @cached_property
    def _system(self) -> System:
        assert self._engine is not None
        system, self._engine = recorded(self._engine), None
        return system

    def events(self) -> Sequence[Event]:
        return tuple(self._system.events)

    def waits(self, operators: Sequence[OperatorRun]) -> Sequence[Wait]:
        return Deferred(lambda: self._system.waits.cycles(operators))


def records(engine: CompiledEngine) -> RunRecords:
    """Of a program that was played to its end."""
    tasks, lanes, details = engine.tasks, engine.tables.lanes, _Details(engine)
    begin, end = tasks["begin"].tolist(), tasks["end"].tolist()
    lengths = tasks["end"] - tasks["begin"]
    transfers = [(lane, begin[task], end[task]) for lane in lanes if lane != "core" for task in lanes[lane]]
    return RunRecords(
        engine.cycles,
        by_operator(engine),
        engine.tables.calls,
        {lane: int(lengths[numbers].sum()) for lane, numbers in lanes.items() if numbers},
        dma_busy_cycles(transfers),
        dict(sorted(traffic(engine).items())),
        Deferred(details.events),
        details.waits,
    )


def spent(engine: CompiledEngine) -> Array:
    """The core's cycles for each task, by cause: ``[task, cause]``, what it waited before it aside."""
    tasks = engine.tasks
    cycles = np.zeros((len(tasks), len(CAUSES)), np.int64)
    calls, maintained = tasks["kind"] == E.COMPUTE, tasks["kind"] == E.MAINTAIN
    cycles[:, CAUSES.index("runtime")] = tasks["stolen"] + np.where(calls, tasks["overhead"], 0)
    cycles[:, CAUSES.index("compute")] = np.where(calls, tasks["compute"], 0)
    for cause, number in _WAITS.items():
        cycles[:, CAUSES.index(cause)] = np.where(calls, tasks["waits"][:, number], 0)
    if not engine.core.memory.state.data_cache:
        maintained[:] = False
    cycles[:, CAUSES.index("bus")] = np.where(calls | maintained, tasks["late"], 0)
    cycles[:, CAUSES.index("maintenance")] = np.where(maintained, tasks["alone"], 0)
    return cycles


def by_operator(engine: CompiledEngine) -> dict[int, Cycles]:
    """The core's cycles of each operator, by cause."""
    tasks, operators, core = engine.tasks, engine.tables.operators, engine.tables.lanes["core"]
    own, last = np.array(core, np.int64), int(operators[core[-1]]) if core else 0
    waited = engine.cycles - int(tasks["end"][own].max(initial=0))  # for streams, behind the last task
    cycles = spent(engine)[own]
    cycles[:, CAUSES.index("dma_wait")] = (tasks["begin"] - tasks["waited_from"])[own]
    sums = np.zeros((int(operators.max(initial=0)) + 1, len(CAUSES)), np.int64)
    np.add.at(sums, operators[own], cycles)
    sums[last, CAUSES.index("dma_wait")] += waited
    there = {*operators[own].tolist(), *[last] * (waited > 0)}
    return {operator: dict(zip(CAUSES, sums[operator].tolist(), strict=True)) for operator in sorted(there)}


def traffic(engine: CompiledEngine) -> dict[str, Traffic]:
    """Of all tasks, by region."""
    names, stats = [region.name for region in engine.core.memory.regions], engine.stats
    by_dma = engine.tasks["kind"] == E.TRANSFER
    asked = stats[:, :, -1].max(axis=0, initial=0).tolist()
    sides = [stats[side][:, :, _BYTES].sum(axis=0).tolist() for side in (~by_dma, by_dma)]
    rows = zip(names, asked, *sides, strict=True)
    return {name: Traffic(*core, *dma) for name, was_asked, core, dma in rows if was_asked}


def recorded(engine: CompiledEngine) -> System:
    """The records of a program that was played to its end, task by task."""
    program = engine.program
    system = System(program, engine.machine, engine.core)
    tasks, demands, cycles = engine.tasks, _Demands(engine), spent(engine).tolist()
    columns = {name: tasks[name].tolist() for name in ("waited_from", "ended_before", "begin", "end")}
    core_end = last = 0
    for number in engine.ended[: len(program.tasks)].tolist():
        task = program.tasks[number]
        begin, end = columns["begin"][number], columns["end"][number]
        by_task: Cycles = {}
        if not isinstance(task, Transfer):
            since, core_end, last = columns["waited_from"][number], end, task.operator
            by_cause = system.account(task.operator)
            if begin > since:
                by_cause["dma_wait"] += system.waited(task.operator, since, begin, columns["ended_before"][number])
            demand = demands.of(number)
            by_task = {cause: cycles[number][CAUSES.index(cause)] for cause in _causes(engine, task, demand)}
            for cause, n in by_task.items():
                by_cause[cause] += n
            if number in engine.tables.watched:
                system.waits.add(task.operator, engine.tables.watched[number], demands.stalls(number), demand)
        system.moved[task.id] = demands.moved(number)
        system.record(task, begin, end, by_task)
    system.traffic = traffic(engine)
    if engine.cycles > core_end:
        system.account(last)["dma_wait"] += system.waited(last, core_end, engine.cycles, len(system.events))
    return system


class _Demands:
    """What each task asked of the memories."""

    def __init__(self, engine: CompiledEngine) -> None:
        self._names = [region.name for region in engine.core.memory.regions]
        self._stats = engine.stats.tolist()
        self._bytes = engine.stats[:, :, _BYTES].sum(axis=2).tolist()
        self._stalls = engine.operand_stalls.tolist()
        self._first, self._count = (engine.tasks[name].tolist() for name in ("operand", "operand_count"))

    def of(self, number: int) -> dict[str, AccessStats]:
        """By region; those not asked are left out."""
        pairs = zip(self._names, self._stats[number], strict=True)
        return {name: AccessStats(*asked[:-1]) for name, asked in pairs if asked[-1]}

    def moved(self, number: int) -> dict[str, int]:
        """Bytes by region."""
        return {name: count for name, count in zip(self._names, self._bytes[number], strict=True) if count}

    def stalls(self, number: int) -> list[int]:
        """Ticks of each of the task's operand ranges."""
        first = self._first[number]
        return list(self._stalls[first : first + self._count[number]])


def _causes(engine: CompiledEngine, task: Compute | Maintain, demand: Collection[str]) -> Iterator[str]:
    """What the core may spend cycles of such a task on, where it asks those regions; each once."""
    yield "runtime"
    if isinstance(task, Compute):
        yield "compute"
        yield from dict.fromkeys(CAUSE[engine.machine.memory[name].kind] for name in demand)
        yield "bus"
    elif engine.core.memory.state.data_cache:
        yield "maintenance"
        yield "bus"

"""The engine: SimPy processes for the core and for every DMA stream play a program on a machine.

A lane runs its tasks in list order, each as soon as its ``after`` tasks are done. A transfer costs the core its set-up
and its completion interrupt; the next one of the stream starts when that handler has ended. What the core waits for
is ``dma_wait``; handlers that delay a running kernel are ``runtime``.

Not modelled: interrupts other than DMA completions, errors and half-transfer events, DMA of peripherals.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from itertools import takewhile
from typing import Any, Protocol

import simpy

from mcusim.engine.contention import Activity, Arbiter
from mcusim.engine.disturbance import Disturbance
from mcusim.engine.run import CAUSES, Event, RunRecords, Traffic, dma_busy_cycles
from mcusim.engine.stall_accounting import Waits
from mcusim.machine.description import Dma, Machine
from mcusim.memory.state_layout import TICK
from mcusim.memory.system import AccessStats, MemorySystem
from mcusim.program.program import Compute, Maintain, OperatorInfo, Program, Span, Task, Transfer, Work

NOTHING = AccessStats(0, 0, 0, 0, 0, 0)
Cycles = dict[str, int]


class CoreModel(Protocol):
    """What the engine requires of a core."""

    memory: MemorySystem

    def run(self, task: Compute | Work, system: System) -> Generator[Any, Any, Cycles]:
        """SimPy process part that executes ``task``; returns its cycles by cause, contention under ``bus``."""
        ...

    def transfer(self, task: Transfer, dma: Dma, system: System) -> Generator[Any, Any, None]:
        """SimPy process part that moves the bytes of ``task``, from its first beat to its last."""
        ...

    def kernel(self, task: Compute) -> str:
        """What executes ``task``: the symbol of a function, or the name that its costs go by."""
        ...

    def traffic(self, system: System) -> dict[str, Traffic]:
        """Bytes moved since the start, by region."""
        ...

    def counted(self) -> dict[str, int]:
        """What the core itself counted: instructions, branches."""
        ...

    def assumptions(self) -> list[str]:
        """What a result of this core model depends on."""
        ...


class System:
    """One program on one machine, once, from cycle ``start`` on; ``disturb``: with the disturbances of a seed."""

    def __init__(
        self,
        program: Program,
        machine: Machine,
        core: CoreModel,
        progress: Callable[[Task], object] | None = None,
        disturb: Disturbance | None = None,
        start: int = 0,
    ) -> None:
        self.start = start
        self.program, self.machine, self.core, self._progress = program, machine, core, progress
        self.disturb = disturb
        self.env = simpy.Environment(start)
        self.memory = core.memory
        self.arbiter = Arbiter(self.env)
        self.events: list[Event] = []
        self.traffic: dict[str, Traffic] = {}
        self.moved: dict[int, dict[str, int]] = {}  # bytes by region, of each task
        self.waits = Waits(self.memory)
        self.operators: dict[int, Cycles] = {}
        self.busy: dict[str, int] = {}
        self._tasks = {task.id: task for task in program.tasks}
        self._done: dict[int, simpy.Event] = {}
        self._driver = {dma.name: driver_cycles(machine, dma) for dma in machine.dma.values()}
        self._stolen = 0  # core cycles taken by the DMA driver since last accounted
        self._driver_until = 0

    def play(self) -> int:
        """Run to the end; returns the cycles."""
        lanes: dict[str, list[Task]] = {"core": []}
        self._done = {task.id: self.env.event() for task in self.program.tasks}
        for task in self.program.tasks:
            lanes.setdefault(task.lane, []).append(task)
        streams = [self.env.process(self._stream(tasks)) for lane, tasks in lanes.items() if lane != "core"]
        self.env.run(self.env.process(self._core(lanes["core"], streams)))
        return int(self.env.now) - self.start

    def moves(self, task: Task, demand: Mapping[str, AccessStats]) -> None:
        """Keep how many bytes a task moved."""
        self.moved[task.id] = {name: n for name, asked in demand.items() if (n := asked.read_bytes + asked.write_bytes)}

    def count(self, task: Task, demand: Mapping[str, AccessStats]) -> None:
        """Add the bytes of a task's activity to the regions' traffic."""
        self.moves(task, demand)
        for name, asked in demand.items():
            t = self.traffic.get(name, Traffic())
            core, dma = (NOTHING, asked) if isinstance(task, Transfer) else (asked, NOTHING)
            self.traffic[name] = Traffic(
                t.core_read + core.read_bytes,
                t.core_write + core.write_bytes,
                t.dma_read + dma.read_bytes,
                t.dma_write + dma.write_bytes,
            )

    def _core(self, tasks: list[Task], streams: list[simpy.Process]) -> Generator[Any, Any, None]:
        last = 0
        for task in tasks:
            last = task.operator
            cycles = self.account(task.operator)
            start = int(self.env.now)
            yield from self._wait(task)
            cycles["dma_wait"] += self.waited(task.operator, start, int(self.env.now), len(self.events))
            # driver code that ran while the core waited costs nothing more
            self._stolen = min(self._stolen, max(0, self._driver_until - int(self.env.now)))
            begin = int(self.env.now)
            spent: Cycles = {}
            stalled = yield from self._stall(task)
            if isinstance(task, Compute | Work):
                spent = yield from self.core.run(task, self)
            elif isinstance(task, Maintain):
                spent = yield from self._maintain(task)
            spent["runtime"] = spent.get("runtime", 0) + stalled + (yield from self._handlers())
            for cause, n in spent.items():
                cycles[cause] += n
            self._end(task, begin, spent)
            if self._progress is not None:
                self._progress(task)
        start = int(self.env.now)
        yield self.env.all_of(streams)
        if self.env.now > start:
            self.account(last)["dma_wait"] += self.waited(last, start, int(self.env.now), len(self.events))

    def waited(self, operator: int, since: int, until: int, count: int) -> int:
        """Cycles that the core waited, when ``count`` tasks had ended: for each transfer of ``operator`` those up to
        its end, and the rest for the task that ended last."""
        begin = since
        latest = (self.events[index] for index in range(count - 1, -1, -1))
        ended = [*takewhile(lambda event: event.end > since, latest)][::-1]
        for event in [*(event for event in ended if event.operator == operator), *ended[-1:]]:
            if event.end > begin:
                task = self._tasks[event.task]
                self.waits.waited(operator, task if isinstance(task, Transfer) else None, event.end - begin)
                begin = event.end
        return until - since

    def taken(self) -> int:
        """Core cycles that the DMA driver took and that are not spent yet; the caller spends them."""
        n, self._stolen = self._stolen, 0
        return n

    def _handlers(self) -> Generator[Any, Any, int]:
        """Spend what the DMA driver took from the task that just ran."""
        spent = 0
        while n := self.taken():
            yield self.env.timeout(n)
            spent += n
        return spent

    def _stall(self, task: Task) -> Generator[Any, Any, int]:
        """Another interrupt has the core before it starts ``task``."""
        cycles = self.disturb.stall(task, self.machine.core.clock) if self.disturb else 0
        if cycles:
            yield self.env.timeout(cycles)
        return cycles

    def _maintain(self, task: Maintain) -> Generator[Any, Any, Cycles]:
        cache = self.machine.data_cache
        if cache is None or cache.size == 0:
            return {}
        self.memory.advance(int(self.env.now))  # beats in flight that were due
        self.memory.sync(int(self.env.now))
        clean, invalidate = "clean" in task.action, "invalidate" in task.action
        result: list[int] = []
        span = task.span
        demand = self.memory.measure(
            lambda _: result.append(self.memory.maintain(span.address, span.bytes, clean, invalidate))
        )
        self.count(task, demand)
        cycles = -(-(result[0] + loop_ticks(self.machine, lines_of(self.machine, span))) // TICK)
        bus = yield from self.arbiter.perform(Activity(cycles, demand))
        return {"maintenance": cycles, "bus": bus}

    def _stream(self, tasks: list[Task]) -> Generator[Any, Any, None]:
        for task in tasks:
            assert isinstance(task, Transfer)
            yield from self._wait(task)
            begin = int(self.env.now)
            yield from self._transfer(task)
            self._end(task, begin, {})

    def _transfer(self, task: Transfer) -> Generator[Any, Any, None]:
        dma = self.machine.dma[task.lane.partition(".")[0]]
        setup, handler = (0, task.setting.handler) if task.setting else self._driver[dma.name]
        disturb, clock = self.disturb, self.machine.core.clock
        yield from self._steal(setup)
        if disturb is not None:
            yield self.env.timeout(disturb.start(task, clock))
            task = disturb.arbitrated(task)
        yield from self.core.transfer(task, dma, self)
        if disturb is not None:
            yield self.env.timeout(disturb.completion(task, clock))
        yield from self._steal(handler)

    def _steal(self, cycles: int) -> Generator[Any, Any, None]:
        """Core time for the DMA driver, a call at a time: what the core runs is delayed by it, and so is the stream."""
        if cycles:
            self._stolen += cycles
            self._driver_until = max(self._driver_until, int(self.env.now)) + cycles
            yield self.env.timeout(self._driver_until - int(self.env.now))

    def _wait(self, task: Task) -> Generator[Any, Any, None]:
        waits = [self._done[n] for n in task.after if not self._done[n].processed]
        if waits:
            yield self.env.all_of(waits)

    def _end(self, task: Task, begin: int, spent: Cycles) -> None:
        self.record(task, begin, int(self.env.now), spent)
        self._done[task.id].succeed()

    def records(self, cycles: int) -> RunRecords:
        """Of a program that was played to its end."""
        transfers = ((event.lane, event.start, event.end) for event in self.events if event.kind == "transfer")
        return RunRecords(
            cycles,
            self.operators,
            calls_of(self.program, self.core),
            self.busy,
            dma_busy_cycles(transfers),
            self.core.traffic(self),
            tuple(self.events),
            self.waits.cycles,
        )

    def account(self, operator: int) -> Cycles:
        """The core's cycles for an operator, by cause."""
        return self.operators.setdefault(operator, dict.fromkeys(CAUSES, 0))

    def record(self, task: Task, begin: int, end: int, spent: Cycles) -> None:
        """A task has ended, of whose time the core ``spent`` so much on each cause."""
        self.busy[task.lane] = self.busy.get(task.lane, 0) + end - begin
        by_cause = {cause: n for cause, n in spent.items() if n}
        kind = type(task).__name__.lower()
        moved = self.moved.get(task.id, {})
        label = _label(task, self.program.header.operators)
        self.events.append(Event(task.id, task.lane, kind, label, task.operator, begin, end, by_cause, moved))


def calls_of(program: Program, core: CoreModel) -> dict[int, tuple[int, str]]:
    """Of each operator of the core's tasks how many tiles it has, and what executes them."""
    tiles: dict[int, int] = {}
    called: dict[int, dict[str, None]] = {}
    for task in program.tasks:
        if isinstance(task, Compute | Work):
            tiles[task.operator] = tiles.get(task.operator, 0) + 1
            named = called.setdefault(task.operator, {})
        if isinstance(task, Compute):
            named[core.kernel(task)] = None
    return {operator: (count, ", ".join(called[operator])) for operator, count in tiles.items()}


def driver_cycles(machine: Machine, dma: Dma) -> tuple[int, int]:
    """Core cycles of a transfer's set-up and of its handler."""
    setup, handler = (-(-machine.cycles(d) // 1) for d in (dma.request_setup, dma.completion_interrupt))
    return int(setup), int(handler)


def lines_of(machine: Machine, span: Span) -> int:
    """How many of the data cache hold some of the span; 0 where there is none."""
    line = machine.data_cache.line if machine.data_cache else 0
    return (span.end + line - 1) // line - span.address // line if line else 0


def loop_ticks(machine: Machine, lines: int) -> int:
    """Ticks of the loop that maintains so many lines of the data cache, which there is."""
    assert machine.data_cache is not None
    return round(machine.cycles(machine.data_cache.maintenance) * TICK * lines)


def _label(task: Task, operators: Sequence[OperatorInfo]) -> str:
    if isinstance(task, Work):
        return f"{task.operator} {operators[task.operator].type}"
    if isinstance(task, Compute):
        tile = f" tile {task.tile + 1}/{task.tiles}" if task.tiles > 1 else ""
        return f"{task.operator} {task.geometry.type}{tile}"
    if isinstance(task, Transfer):
        return f"{task.operator} {task.kind}" + (f" part {task.part + 1}/{task.parts}" if task.parts > 1 else "")
    return f"{task.operator} {task.action}"

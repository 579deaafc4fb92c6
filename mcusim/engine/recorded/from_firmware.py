"""A recording as a program: the core's work between the starts of transfers and the waits for them, and the transfers.

A transfer begins behind the work that started it; one that a handler of another transfer started, behind that transfer
and its handlers. Work begins behind the transfers whose ends the firmware waited for. Handlers of transfers' interrupts
are the transfers' own (they delay what the core does then), all else that the core did is work: other handlers, waits
for a time, and what no function is known for.

Not modelled: transfers with a peripheral (their times are in the work), streams beyond those of the machine's file
(they share its lanes), which handler reads and writes which memory (their traffic is the work's).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from mcusim.emulator.recording.recorder import Stretch
from mcusim.emulator.recording.recording import Recording
from mcusim.engine.recorded.retiming import Retiming
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.memory.state_layout import TICK
from mcusim.program.program import (
    FIRMWARE,
    TASKS,
    Asked,
    Header,
    MemoryParts,
    OperatorInfo,
    Program,
    Span,
    StreamSetting,
    Task,
    Transfer,
    Work,
)
from mcusim.soc.dma.dma_log import LoggedTransfer

_LONGEST = 200  # characters of a function's name
BURSTS = (1, 4, 8, 16)
THRESHOLDS = ("1/4", "1/2", "3/4", "full")


def recorded_program(recording: Recording, machine: Machine, name: str, named: Callable[[int], str]) -> Program:
    """The program of ``recording`` on ``machine``; ``named`` gives a function's name by its first address.

    Raises UsageError for more tasks than a program may have.
    """
    build = _Build(recording, machine, named)
    for stretch in recording.stretches:
        build.add(stretch)
    build.work()
    if len(build.tasks) > TASKS:
        raise UsageError(f"the recording has {len(build.tasks):,} tasks, a program at most {TASKS:,}: use --until")
    changes = {"set": dict(machine.changes)} if machine.changes else {}
    operators = tuple(OperatorInfo(i, text, 0) for i, text in enumerate(build.operators)) or (
        OperatorInfo(0, "firmware", 0),
    )
    header = Header(
        machine=machine.name,
        model=name,
        model_sha256="",
        policy=FIRMWARE,
        kernels=FIRMWARE,
        operators=operators,
        memory=MemoryParts(0, 0, 0, 0, 0, 0),
        peak_bytes={},
        buffers=(),
        options={"recorded_cycles": recording.ticks // TICK, **changes},
        warnings=tuple(build.warnings()),
    )
    return Program(header, tuple(build.tasks))


@dataclass
class _Open:
    """Work that is not a task yet: ticks, of maintenance, and by region counts, and ticks waited."""

    ticks: float = 0
    maintenance: int = 0
    asked: dict[str, tuple[int, ...]] = field(default_factory=dict)
    waited: dict[str, float] = field(default_factory=dict)
    spent: dict[int, float] = field(default_factory=dict)
    after: set[int] = field(default_factory=set)


class _Build:
    def __init__(self, recording: Recording, machine: Machine, named: Callable[[int], str]) -> None:
        self.recording, self.machine, self._named = recording, machine, named
        self.tasks: list[Task] = []
        self.operators: dict[str, int] = {}
        self._retiming = Retiming(machine)
        self._open = _Open()
        self._rest = 0.0  # ticks of a cycle not yet full
        self._last = -1  # task of the core
        self._ids: dict[int, int] = {}  # of transfers that are tasks
        self._lanes: dict[tuple[str, int], str] = {}
        self._calls: list[int] = []  # functions that were asked for, under way
        self._others = 0
        self._handlers = self._handler_cycles()

    def _handler_cycles(self) -> Mapping[int, int]:
        counts: dict[int, int] = {}
        for begin, end, number in self.recording.of_transfers:
            counts[number] = counts.get(number, 0) + end - begin
        return {number: round(ticks / TICK) for number, ticks in counts.items()}

    def add(self, stretch: Stretch) -> None:
        """Take in ``stretch``, and what its end makes begin."""
        known = {self._ids[number] for number in stretch.waited_for if number in self._ids}
        self._count(stretch, stretch.waits)
        if stretch.why == "start" and stretch.transfer is not None:
            self._start(stretch)
        if known:
            self.work()
            self._open.after |= known
        if stretch.why in ("call", "return"):
            self.work()
            if stretch.why == "call":
                self._calls.append(stretch.called)
            elif self._calls:
                self._calls.pop()

    def _count(self, stretch: Stretch, idle: bool) -> None:
        """Add the stretch's work to what is open."""
        length = stretch.end - stretch.begin - (stretch.idle if idle else 0)
        handling = self.recording.handling(stretch.begin, stretch.end)
        stalled = sum(counts[-2] for counts in stretch.asked.values())
        own = max(0.0, stalled - (stretch.idle_stall if idle else 0)) * max(0.0, 1 - handling / max(1, length))
        share = own / stalled if stalled else 0.0
        self._open.ticks += length - handling - own - stretch.maintenance
        self._open.maintenance += stretch.maintenance
        for region, counts in stretch.asked.items():
            before = self._open.asked.get(region, (0,) * len(counts))
            self._open.asked[region] = tuple(a + b for a, b in zip(before, counts, strict=True))
            waited = self._open.waited.get(region, 0.0)
            self._open.waited[region] = waited + (counts[-2] - counts[-1]) * share
        waiting = set() if stretch.loop is None or not idle else set(stretch.loop.blocks)
        if not waiting:
            for number in np.flatnonzero(stretch.spent).tolist():
                self._open.spent[number] = self._open.spent.get(number, 0.0) + float(stretch.spent[number])

    def work(self) -> None:
        """Make a task of the open work, if there is any."""
        open_task = self._open
        total = open_task.ticks + self._rest
        cycles = max(0, int(total // TICK))
        if cycles or open_task.after:
            self._rest = total - cycles * TICK
            asked = tuple(self._asked(region, open_task, cycles) for region in sorted(open_task.asked))
            used = tuple(a for a in asked if a.reads or a.writes or a.wait)
            maintenance = open_task.maintenance // TICK
            number = len(self.tasks)
            self.tasks.append(
                Work(number, self._operator(), 0, cycles, maintenance, used, tuple(sorted(open_task.after)))
            )
            self._last, self._open = number, _Open()

    def _asked(self, region: str, open_task: _Open, cycles: int) -> Asked:
        reads, writes, read, written, rows, *_ = open_task.asked[region]
        plain = Asked(region, reads, writes, max(read, reads), max(written, writes), rows, 0, 0)
        wait = round(open_task.waited[region] / TICK)
        pattern = self._retiming.pattern(plain, cycles)[0] // TICK if wait else 0
        return Asked(region, reads, writes, plain.read_bytes, plain.write_bytes, rows, wait, pattern)

    def _operator(self) -> int:
        """The function that a call was asked for, or that most of the work is in."""
        spent, functions = self._open.spent, self.recording.functions
        address = self._calls[-1] if self._calls else functions[max(spent, key=lambda n: spent[n])] if spent else None
        text = "firmware" if address is None else self._named(address)[:_LONGEST]
        return self.operators.setdefault(text, len(self.operators))

    # transfers

    def _start(self, stretch: Stretch) -> None:
        logged = self.recording.transfers[stretch.transfer or 0] if self._has(stretch.transfer) else None
        if logged is None or not self._copies(logged):
            self._others += 1
            return
        cause = self.recording.handled_at(stretch.end) if stretch.in_handler else None
        after: tuple[int, ...]
        if cause is not None and cause in self._ids:
            after = (self._ids[cause],)
        else:
            self.work()
            after = (self._last,) if self._last >= 0 else ()
        self._ids[logged.number] = len(self.tasks)
        self.tasks.append(self._transfer(len(self.tasks), logged, after))

    def _has(self, number: int | None) -> bool:
        return number is not None and number < len(self.recording.transfers)

    def _copies(self, logged: LoggedTransfer) -> bool:
        return (
            logged.direction == "memory to memory"
            and logged.end is not None
            and logged.moved > 0
            and logged.controller.lower() in self.machine.dma
            and all(self._span(address, logged.moved) for address in (logged.source, logged.target))
        )

    def _span(self, address: int, size: int) -> Span | None:
        for region in self.machine.memory.values():
            for base in (region.base, *region.aliases):
                if base <= address < base + region.size:
                    return Span(region.name, address - base + region.base, size)
        return None

    def _transfer(self, number: int, logged: LoggedTransfer, after: tuple[int, ...]) -> Transfer:
        source, target = self._span(logged.source, logged.moved), self._span(logged.target, logged.moved)
        assert source is not None and target is not None
        external = self.machine.memory[source.region].kind not in ("tcm", "sram")
        return Transfer(
            id=number,
            lane=self._lane(logged),
            operator=self._operator() if self._open.spent else self._last_operator(),
            tile=0,
            kind="input" if external else "output",
            source=source,
            destination=target,
            request=logged.number,
            part=0,
            parts=1,
            priority=logged.priority,
            after=after,
            setting=_setting(logged, self._handlers.get(logged.number, 0)),
        )

    def _last_operator(self) -> int:
        if self._last >= 0:
            return self.tasks[self._last].operator
        return self.operators.setdefault("firmware", len(self.operators))

    def _lane(self, logged: LoggedTransfer) -> str:
        """The machine's stream for the firmware's: its own number, or in turn where the machine has fewer."""
        name = logged.controller.lower()
        streams, key = self.machine.dma[name].streams, (name, logged.stream)
        taken = sum(controller == name for controller, _ in self._lanes)
        return self._lanes.setdefault(key, f"{name}.s{taken % streams}")

    def warnings(self) -> list[str]:
        """What the program does not have of the recording."""
        warnings = []
        if self._others:
            warnings.append(
                f"{self._others:,} transfers with a peripheral, of none or of other controllers are left out"
            )
        if self.recording.left_out:
            warnings.append("the recording was too long: its end is left out")
        return warnings


def _setting(logged: LoggedTransfer, handler: int) -> StreamSetting:
    """As the stream's registers had it; of a channel without a FIFO single beats."""
    cr, fcr = logged.registers.get("CR", 0), logged.registers.get("FCR")
    bursts = (1, 1) if fcr is None else (BURSTS[cr >> 21 & 3], BURSTS[cr >> 23 & 3])
    threshold = THRESHOLDS[3 if fcr is None else fcr & 3]
    return StreamSetting(logged.unit, bursts[0], logged.target_unit, bursts[1], threshold, handler)  # type: ignore[arg-type]

"""A list of tasks that keeps itself free of races.

Every access to memory that changes while the program runs is registered; a new task gets an ``after`` edge to each
earlier task on another lane that wrote what it reads, or read or wrote what it writes, unless the order of its own lane
already implies it (a vector clock per lane knows).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from mcusim.errors import UsageError
from mcusim.program.program import TASKS, Span, Task

CORE = "core"


@dataclass(frozen=True, slots=True)
class TaskAccess:
    """A task's use of ``span``. ``slot`` names the piece of memory for bookkeeping: accesses of different slots never
    overlap."""

    slot: str
    span: Span
    write: bool


@dataclass(frozen=True, slots=True)
class _AccessRecord:
    start: int
    end: int
    write: bool
    task: int
    lane: str


@dataclass
class TaskSchedule:
    """``tasks`` in list order; ids count up from 0."""

    tasks: list[Task] = field(default_factory=list)
    _lanes: dict[str, dict[str, int]] = field(default_factory=dict)  # lane -> what its last task knows to be finished
    _known: list[dict[str, int]] = field(default_factory=list)  # the same for every task, itself included
    _records: dict[str, list[_AccessRecord]] = field(default_factory=dict)

    def add(
        self,
        lane: str,
        build: Callable[[int, tuple[int, ...]], Task],
        accesses: Iterable[TaskAccess] = (),
        after: Iterable[int] = (),
    ) -> int:
        """Append ``build(id, after)`` to ``lane`` and return its id. ``after`` adds edges to those found by access.

        Raises UsageError for more tasks than a program may have.
        """
        self.require_room(1)
        task = len(self.tasks)
        accesses = tuple(accesses)
        needed = set(after)
        for access in accesses:
            needed.update(self._conflicts(access))
        clock = dict(self._lanes.get(lane, {}))
        edges = self._edges(lane, needed, clock)
        for edge in edges:
            for other, known in self._known[edge].items():
                clock[other] = max(clock.get(other, -1), known)
        clock[lane] = task
        self._lanes[lane] = clock
        self._known.append(clock)
        self.tasks.append(build(task, edges))
        for access in accesses:
            self._record(access, task, lane)
        return task

    def require_room(self, tasks: int) -> None:
        """Raise UsageError unless a program may have ``tasks`` more."""
        if len(self.tasks) + tasks > TASKS:
            raise UsageError(
                f"the program would have more than {TASKS:,} tasks, the most it may have: its transfers or tiles are "
                "too small; raise max_units of the DMA or the SRAM budget"
            )

    def _edges(self, lane: str, needed: Iterable[int], clock: dict[str, int]) -> tuple[int, ...]:
        """Tasks of ``needed`` that ``clock`` does not imply; of the core's only the last, the others precede it."""
        edges, core = [], -1
        for task in sorted(needed):
            other = self.tasks[task].lane
            if other == lane or clock.get(other, -1) >= task:
                continue
            if other == CORE:
                core = task
            else:
                edges.append(task)
        return tuple(sorted([*edges, core])) if core >= 0 else tuple(edges)

    def _conflicts(self, access: TaskAccess) -> Iterable[int]:
        start, end, write = access.span.address, access.span.end, access.write
        records = self._records.get(access.slot, ())
        return [r.task for r in records if r.start < end and start < r.end and (write or r.write)]

    def _record(self, access: TaskAccess, task: int, lane: str) -> None:
        """A write hides what it covers; a read hides older reads of its lane that it covers."""
        start, end = access.span.address, access.span.end
        kept = [
            r
            for r in self._records.get(access.slot, ())
            if r.start < start or r.end > end or not (access.write or (not r.write and r.lane == lane))
        ]
        self._records[access.slot] = [*kept, _AccessRecord(start, end, access.write, task, lane)]

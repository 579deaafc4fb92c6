"""A run over time: what each lane works on, what is in each memory, how fast bytes move. Times in cycles.

All but the rates are whole numbers that the run recorded, so that a trace agrees with the run's counters to the cycle
and to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from math import inf
from typing import TYPE_CHECKING

from mcusim.machine.description import Machine
from mcusim.plan.pools import split_by_region

if TYPE_CHECKING:
    from mcusim.engine.run import Event, Run

CORE = "core"


@dataclass(frozen=True, slots=True)
class TimeSegment:
    """A part of the core's time: a task, or with ``event`` None the wait of ``operator`` for a transfer."""

    start: int
    end: int
    operator: int
    event: Event | None = None


@dataclass(frozen=True, slots=True)
class Rate:
    """Bytes per cycle in one region from cycle ``start`` on, moved by the core and by the DMA streams."""

    start: int
    core: float
    dma: float


def lanes(run: Run) -> dict[str, list[Event]]:
    """The events of every lane by their start, the core's first, then each DMA stream's that had any."""
    events: dict[str, list[Event]] = {CORE: []}
    for event in run.events:
        events.setdefault(event.lane, []).append(event)
    names = sorted(events, key=lambda lane: (lane != CORE, lane))
    return {name: sorted(events[name], key=lambda event: event.start) for name in names}


def core_segments(run: Run) -> list[TimeSegment]:
    """The core's time from 0 to the end without a gap: tasks, and waits between them.

    A wait belongs to the operator whose task comes next, the last one to the last operator, as the engine counts them:
    the segments of an operator sum to its cycles, the waits to the run's ``dma_wait``.
    """
    segments: list[TimeSegment] = []
    now = operator = 0
    for event in lanes(run)[CORE]:
        operator = event.operator
        if event.start > now:
            segments.append(TimeSegment(now, event.start, operator))
        segments.append(TimeSegment(event.start, event.end, operator, event))
        now = event.end
    if now < run.cycles:
        segments.append(TimeSegment(now, run.cycles, operator))
    return segments


def stretches(segments: Iterable[TimeSegment]) -> Iterator[list[TimeSegment]]:
    """Segments of one operator that follow one another: one list for each time that the core turns to an operator."""
    for _, group in groupby(segments, key=lambda segment: segment.operator):
        yield list(group)


def lives(run: Run) -> Lives:
    """When the core is at work on the operators of any range."""
    return Lives(core_segments(run), len(run.header.operators))


def occupancy(run: Run, machine: Machine) -> dict[str, list[tuple[int, int]]]:
    """Bytes in use in every region that the plan has buffers in, as steps ``(from cycle, bytes)``.

    A buffer is in use from where the first of its operators begins to wait for its data to where the last one ends;
    bytes that two buffers share count once. The most of a region is at most its ``peak_bytes``, which count what the
    plan keeps from start to end: the whole arena, buffers padded to lines. Not modelled: buffers whose operators never
    ran, and that a DMA may fill a buffer before its operator begins (buffers of copies are in use all the time).
    """
    when = lives(run)
    alive: dict[str, list[tuple[int, int, int, int]]] = {}  # by region: address, end, from, to
    for buffer in run.header.buffers:
        times = when.of(buffer.first, buffer.last)
        if times is None:
            continue
        for part in split_by_region(machine, buffer.span):
            alive.setdefault(part.region, []).append((part.address, part.end, *times))
    return {name: _steps(entries) for name, entries in sorted(alive.items())}


def rates(run: Run) -> dict[str, list[Rate]]:
    """How fast bytes move in every region with traffic, as steps; the last one is 0 at the end.

    What a task moves is spread evenly over its time: within a task, no more is recorded.
    """
    entries: dict[str, list[Event]] = {}
    for event in run.events:
        if event.end > event.start:
            for name in event.moved:
                entries.setdefault(name, []).append(event)
    return {name: list(_rates(events, name)) for name, events in sorted(entries.items())}


class Lives:
    """When the operators of any range are at work: the first start and the last end, also when they ran out of order.

    Row ``k`` has that of each ``2 ** k`` operators in a row, so that any range is two of a row.
    """

    def __init__(self, segments: Iterable[TimeSegment], count: int) -> None:
        row = [(inf, -1.0)] * max(count, 1)  # buffers name operator 0 even where there is none
        for segment in segments:
            if segment.operator < count:
                start, end = row[segment.operator]
                row[segment.operator] = min(start, segment.start), max(end, segment.end)
        self._rows = [row]
        while 2 ** len(self._rows) <= count:
            row = [_joined(a, b) for a, b in zip(row, row[2 ** (len(self._rows) - 1) :], strict=False)]
            self._rows.append(row)

    def of(self, first: int, last: int) -> tuple[int, int] | None:
        """From when to when; None when none of the operators ran."""
        k = (last - first + 1).bit_length() - 1
        start, end = _joined(self._rows[k][first], self._rows[k][last + 1 - 2**k])
        return None if end < 0 else (int(start), int(end))


def _joined(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return min(a[0], b[0]), max(a[1], b[1])


class _Covered:
    """Bytes between sorted ``edges`` that at least one range covers: a binary tree of the gaps between them.

    ``_by[n]`` ranges cover all of node ``n`` but not of its parent.
    """

    def __init__(self, edges: Sequence[int]) -> None:
        gaps = [b - a for a, b in pairwise(edges)]
        self._leaves = len(gaps)
        self._size = [0] * self._leaves + gaps
        for node in range(self._leaves - 1, 0, -1):
            self._size[node] = self._size[2 * node] + self._size[2 * node + 1]
        self._by = [0] * (2 * self._leaves)
        self._bytes = [0] * (2 * self._leaves)

    @property
    def bytes(self) -> int:
        return self._bytes[1]

    def change(self, first: int, end: int, by: int) -> None:
        """One range more or less covers the gaps from ``first`` to before ``end``."""
        low, high = first + self._leaves, end + self._leaves
        ends = low, high - 1
        while low < high:
            if low & 1:
                self._add(low, by)
                low += 1
            if high & 1:
                high -= 1
                self._add(high, by)
            low, high = low // 2, high // 2
        for node in ends:
            while node := node // 2:
                self._add(node, 0)

    def _add(self, node: int, by: int) -> None:
        self._by[node] += by
        inside = 0 if node >= self._leaves else self._bytes[2 * node] + self._bytes[2 * node + 1]
        self._bytes[node] = self._size[node] if self._by[node] else inside


def _steps(alive: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Bytes covered by at least one of ``alive`` (address, end, from, to), wherever that changes."""
    edges = sorted({edge for start, end, _, _ in alive for edge in (start, end)})
    index, covered = {edge: i for i, edge in enumerate(edges)}, _Covered(edges)
    changes: dict[int, list[tuple[int, int, int]]] = {}
    for start, end, since, until in alive:
        changes.setdefault(since, []).append((index[start], index[end], 1))
        changes.setdefault(until, []).append((index[start], index[end], -1))
    steps: list[tuple[int, int]] = [] if 0 in changes else [(0, 0)]
    for time in sorted(changes):
        for change in changes[time]:
            covered.change(*change)
        if not steps or covered.bytes != steps[-1][1]:
            steps.append((time, covered.bytes))
    return steps


def _rates(events: Sequence[Event], region: str) -> Iterator[Rate]:
    """Between any two starts or ends the sum over what runs then."""
    starts = sorted(events, key=lambda event: event.start)
    times = sorted({0, *(event.start for event in events), *(event.end for event in events)})
    running: list[Event] = []
    position, last = 0, None
    for time in times:
        running = [event for event in running if event.end > time]
        while position < len(starts) and starts[position].start <= time:
            running.append(starts[position])
            position += 1
        core, dma = (_sum(running, region, by_core) for by_core in (True, False))
        if last is None or (core, dma) != (last.core, last.dma):
            last = Rate(time, core, dma)
            yield last


def _sum(running: Sequence[Event], region: str, by_core: bool) -> float:
    events = (event for event in running if (event.lane == CORE) is by_core)
    return sum(event.moved[region] / (event.end - event.start) for event in events)

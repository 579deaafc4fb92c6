"""What a run looks like over time: who works on what, what lies in each memory, how fast bytes move. Times in cycles.

Everything here is whole numbers that the run recorded, so that a trace agrees with the run's counters to the cycle and
to the byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from mcusim.machine.description import Machine
from mcusim.plan.layout import pieces
from mcusim.plan.program import Buffer

if TYPE_CHECKING:
    from mcusim.engine.run import Event, Run

__all__ = ["CORE", "Rate", "Segment", "core_segments", "lanes", "occupancy", "rates"]

CORE = "core"


@dataclass(frozen=True, slots=True)
class Segment:
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
    found: dict[str, list[Event]] = {CORE: []}
    for event in run.events:
        found.setdefault(event.lane, []).append(event)
    names = sorted(found, key=lambda lane: (lane != CORE, lane))
    return {name: sorted(found[name], key=lambda event: event.start) for name in names}


def core_segments(run: Run) -> list[Segment]:
    """The core's time from 0 to the end without a gap: tasks, and waits between them.

    A wait belongs to the operator whose task comes next, the last one to the last operator, as the engine counts them:
    the segments of an operator sum to its cycles, the waits to the run's ``dma_wait``.
    """
    found: list[Segment] = []
    now = operator = 0
    for event in lanes(run)[CORE]:
        operator = event.operator
        if event.start > now:
            found.append(Segment(now, event.start, operator))
        found.append(Segment(event.start, event.end, operator, event))
        now = event.end
    if now < run.cycles:
        found.append(Segment(now, run.cycles, operator))
    return found


def occupancy(run: Run, machine: Machine) -> dict[str, list[tuple[int, int]]]:
    """Bytes in use in every region that the plan has buffers in, as steps ``(from cycle, bytes)``.

    A buffer is in use from where the first of its operators begins to wait for its data to where the last one ends;
    bytes that two buffers share count once. The most of a region is at most its ``peak_bytes``, which count what the
    plan keeps from start to end: the whole arena, buffers padded to lines. Leaves out: buffers whose operators never
    ran, and that a DMA may fill a buffer before its operator begins (buffers of copies are in use all the time).
    """
    spans = _operator_spans(core_segments(run))
    alive: dict[str, list[tuple[int, int, int, int]]] = {}  # by region: address, end, from, to
    for buffer in run.header.buffers:
        times = _alive(buffer, spans)
        if times is None:
            continue
        for part in pieces(machine, buffer.span):
            alive.setdefault(part.region, []).append((part.address, part.end, *times))
    return {name: _steps(found) for name, found in sorted(alive.items())}


def rates(run: Run) -> dict[str, list[Rate]]:
    """How fast bytes move in every region with traffic, as steps; the last one is 0 at the end.

    What a task moves is spread evenly over its time: within a task, no more is recorded.
    """
    found: dict[str, list[Event]] = {}
    for event in run.events:
        if event.end > event.start:
            for name in event.moved:
                found.setdefault(name, []).append(event)
    return {name: list(_rates(events, name)) for name, events in sorted(found.items())}


def _operator_spans(segments: Iterable[Segment]) -> dict[int, tuple[int, int]]:
    spans: dict[int, tuple[int, int]] = {}
    for segment in segments:
        start, end = spans.get(segment.operator, (segment.start, segment.end))
        spans[segment.operator] = min(start, segment.start), max(end, segment.end)
    return spans


def _alive(buffer: Buffer, spans: dict[int, tuple[int, int]]) -> tuple[int, int] | None:
    ran = [spans[operator] for operator in range(buffer.first, buffer.last + 1) if operator in spans]
    return (min(start for start, _ in ran), max(end for _, end in ran)) if ran else None


def _steps(alive: Sequence[tuple[int, int, int, int]]) -> list[tuple[int, int]]:
    """Bytes covered by at least one of ``alive`` (address, end, from, to), wherever that changes."""
    edges = sorted({edge for start, end, _, _ in alive for edge in (start, end)})
    index = {edge: i for i, edge in enumerate(edges)}
    sizes = [b - a for a, b in pairwise(edges)]
    covered = [0] * len(sizes)
    changes: dict[int, list[tuple[int, int, int]]] = {}
    for start, end, since, until in alive:
        changes.setdefault(since, []).append((index[start], index[end], 1))
        changes.setdefault(until, []).append((index[start], index[end], -1))
    steps: list[tuple[int, int]] = [] if 0 in changes else [(0, 0)]
    total = 0
    for time in sorted(changes):
        for first, last, by in changes[time]:
            for i in range(first, last):
                total -= sizes[i] if covered[i] else 0
                covered[i] += by
                total += sizes[i] if covered[i] else 0
        if not steps or total != steps[-1][1]:
            steps.append((time, total))
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
    found = (event for event in running if (event.lane == CORE) is by_core)
    return sum(event.moved[region] / (event.end - event.start) for event in found)

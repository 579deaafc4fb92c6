"""Single tasks of an overlaid program: DMA requests, cache maintenance, kernel calls."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mcusim.errors import UsageError
from mcusim.machine.description import Dma, Machine
from mcusim.plan.allocators.greedy import align_up
from mcusim.plan.overlay.hazards import CORE, TaskAccess, TaskSchedule
from mcusim.plan.pools import span_at
from mcusim.program.program import Compute, Maintain, Operand, Span, Transfer

ARENA = "arena"  # the schedule's slot for activations
Kind = Literal["input", "input1", "filter", "bias", "multiplier", "shift"]
URGENT = ("input", "input1")


@dataclass(frozen=True, slots=True)
class HeldOperand:
    """An operand in overlay buffer ``buffer``; ``filled`` are the transfers that put it there."""

    buffer: str
    span: Span
    filled: tuple[int, ...]


def controller(machine: Machine) -> Dma:
    """The DMA controller to use: the first with two streams, else the first; UsageError when there is none."""
    dmas = sorted(machine.dma.values(), key=lambda d: d.streams < 2)
    if not dmas:
        raise UsageError(f"policy 'tinyops' needs a DMA controller; machine {machine.name} has none")
    return dmas[0]


def line_bytes(machine: Machine) -> int:
    """Line of the data cache; 0 without one (or with one switched off)."""
    cache = machine.data_cache
    return cache.line if cache is not None and cache.size else 0


def cached_parts(machine: Machine, span: Span) -> Iterator[Span]:
    """The parts of ``span`` that the data cache may contain, rounded outwards to whole lines; one per region."""
    line = line_bytes(machine)
    if not line:
        return
    for region in machine.memory.values():
        start, end = max(span.address, region.base), min(span.end, region.end)
        if start >= end or region.kind == "tcm" or not region.cached:
            continue
        first = start // line * line
        yield Span(region.name, first, align_up(end, line) - first)


@dataclass
class Emitter:
    """Appends tasks to ``schedule``. Sizes and addresses in bytes. ``shared_scratch``: the overlay buffer in which
    kernels have their scratch; None when the scratch has a place of its own."""

    machine: Machine
    dma: Dma
    shared_scratch: str | None = None
    schedule: TaskSchedule = field(default_factory=TaskSchedule)
    requests: int = 0

    def request(
        self, operator: int, tile: int, kind: Kind, source: Span, buffer: HeldOperand, after: Iterable[int] = ()
    ) -> HeldOperand:
        """Copy ``source`` into ``buffer``; ``after`` holds the first part back. Inputs go on stream 0, which pre-empts
        stream 1 with the rest. More than the stream's maximum units is split into parts, each after the one before."""
        urgent = kind in URGENT or self.dma.streams < 2
        lane, most = f"{self.dma.name}.s{0 if urgent else 1}", self.dma.max_units * self.dma.beat
        parts, filled = -(-source.bytes // most), list(after)
        self.schedule.require_room(parts)
        number, done = self.requests, []
        self.requests += 1
        for part in range(parts):
            size = min(most, source.bytes - part * most)
            ends = [span_at(self.machine, s.address + part * most, size) for s in (source, buffer.span)]

            def build(task: int, edges: tuple[int, ...], ends: Sequence[Span] = ends, part: int = part) -> Transfer:
                where = (operator, tile, kind, ends[0], ends[1], number, part, parts)
                return Transfer(task, lane, *where, 1 if kind in URGENT else 0, edges)

            accesses = [TaskAccess(buffer.buffer, ends[1], True)]
            if kind in URGENT:
                accesses.append(TaskAccess(ARENA, ends[0], False))
            done.append(self.schedule.add(lane, build, accesses, filled))
            filled = done[-1:]
        return HeldOperand(buffer.buffer, buffer.span, tuple(done))

    def clean(self, operator: int, tile: int, span: Span) -> list[int]:
        """Write back what the data cache may contain of ``span``; nothing on a machine without one."""
        return [self._maintain(operator, tile, "clean", part, ()) for part in cached_parts(self.machine, span)]

    def discard(self, operator: int, tile: int, target: HeldOperand) -> list[int]:
        """Drop what kernels left in the data cache of ``target``, so that no dirty line is written over what the DMA
        puts there; nothing for a buffer without scratch."""
        if target.buffer != self.shared_scratch:
            return []
        return [self._maintain(operator, tile, "invalidate", p, ()) for p in cached_parts(self.machine, target.span)]

    def invalidate(self, operator: int, tile: int, held: HeldOperand) -> None:
        """Drop stale lines of a buffer once its transfers are done."""
        for part in cached_parts(self.machine, held.span):
            self._maintain(operator, tile, "invalidate", part, held.filled)

    def compute(self, call: Compute, held: Iterable[HeldOperand]) -> int:
        """Append ``call`` (its id and ``after`` are set here); it waits for the transfers that filled ``held``."""
        copied = list(held)
        accesses = [TaskAccess(h.buffer, h.span, False) for h in copied]
        places = {h.span for h in copied}
        accesses += [_own(o) for o in call.operands if o.span not in places and _changes(o)]
        if self.shared_scratch is not None:
            accesses += [TaskAccess(self.shared_scratch, o.span, True) for o in call.operands if o.role == "scratch"]

        def build(task: int, edges: tuple[int, ...]) -> Compute:
            what = (call.operator, call.tile, call.tiles, call.geometry, call.rows, call.operands)
            return Compute(task, *what, edges)

        return self.schedule.add(CORE, build, accesses)

    def _maintain(
        self, operator: int, tile: int, action: Literal["clean", "invalidate"], span: Span, after: Iterable[int]
    ) -> int:
        def build(task: int, edges: tuple[int, ...]) -> Maintain:
            return Maintain(task, operator, tile, action, span, edges)

        return self.schedule.add(CORE, build, after=after)


def _changes(operand: Operand) -> bool:
    """Does anything but the core's own earlier tasks matter for this operand in place?"""
    return operand.role in ("input0", "input1", "inputN", "output")


def _own(operand: Operand) -> TaskAccess:
    return TaskAccess(ARENA, operand.span, operand.access == "w")

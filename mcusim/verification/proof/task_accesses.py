"""The bytes that each task of a program accesses, those that the data cache may contain, and how tasks are named."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from mcusim.machine.description import Machine
from mcusim.program.program import Compute, Maintain, Program, Span, Task, Transfer, steps_of

TILED = ("input", "input1", "output")  # kinds of transfer that belong to one tile


def accesses(task: Task) -> Iterator[tuple[Span, bool]]:
    """What a kernel call reads and writes (scratch counts as written), what a transfer moves; maintenance: nothing.
    True means a write; reads come first."""
    if isinstance(task, Compute):
        yield from ((o.span, False) for o in task.operands if o.access == "r")
        yield from ((o.span, True) for o in task.operands if o.access != "r")
    elif isinstance(task, Transfer):
        yield task.source, False
        yield task.destination, True


def called(task: Task) -> str:
    """A task for people: ``task 7 (kernel call, operator 2 tile 1)``. Tiles are counted from 1, as all reports do; in a
    program's file they are from 0."""
    tile = f" tile {task.tile + 1}"
    if isinstance(task, Compute):
        what = f"kernel call, operator {task.operator}{tile}"
    elif isinstance(task, Transfer):
        what = f"{task.kind} transfer, operator {task.operator}{tile if task.kind in TILED else ''}"
    else:
        action = task.action if isinstance(task, Maintain) else "recorded work"
        what = f"{action}, operator {task.operator}{tile}"
    return f"task {task.id} ({what})"


def host_spans(program: Program) -> Iterator[tuple[Span, bool]]:
    """What is in memory before the program starts; True where the core wrote it through its cache: the graph's inputs,
    and state.

    Weights and the interpreter's data; state; and activations alive from the first operator that no kernel call of that
    operator has as its output, or in whose bytes it puts it.
    """
    steps = steps_of(program)
    own = [
        operand.span.address
        for task in program.tasks
        if isinstance(task, Compute) and steps[task.operator] == 0
        for operand in task.operands
        if operand.access == "w"
    ]
    early = Counter(b.span.address for b in program.header.buffers if b.kind == "activation" and b.first == 0)

    def only_written(span: Span) -> bool:
        return early[span.address] == 1 and any(span.address <= a < span.end for a in own)

    for buffer in program.header.buffers:
        span = buffer.span
        if buffer.kind in ("weights", "runtime"):
            yield span, False
            continue
        first = buffer.kind == "activation" and buffer.first == 0
        if buffer.kind == "state" or (first and not only_written(span)):
            yield span, True


class CacheLines:
    """The data cache of ``machine``; ``bytes`` is 0 without one, or with one switched off."""

    def __init__(self, machine: Machine) -> None:
        cache = machine.data_cache
        self.bytes = cache.line if cache is not None and cache.size else 0
        self._regions: list[tuple[int, int, bool]] = []
        for region in machine.memory.values():
            if self.bytes and region.kind != "tcm" and region.cached:
                keeps = cache is not None and cache.policy == "write-back" and region.attribute == "write-back"
                self._regions.append((region.base, region.end, keeps))

    def parts(self, low: int, high: int) -> Iterator[tuple[int, int, bool]]:
        """The parts of ``low`` to ``high`` that the cache may contain; True where it keeps writes (write-back)."""
        for base, end, keeps in self._regions:
            if max(low, base) < min(high, end):
                yield max(low, base), min(high, end), keeps

    def around(self, low: int, high: int) -> tuple[int, int]:
        """``low`` to ``high`` rounded outwards to whole lines."""
        return low // self.bytes * self.bytes, -(-high // self.bytes) * self.bytes

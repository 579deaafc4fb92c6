"""What a program computes under a given timing and cache behaviour, with made-up numbers for bytes and kernels.

Independent of the static proof: tasks run one after the other in an order that lanes and edges allow, the DMA on
memory, the core through a write-back cache. A kernel's outputs are a hash of all it reads. Two programs that give the
same outputs under all orders tried are taken to be equally right.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import permutations

import numpy as np

from mcusim.machine import Machine
from mcusim.program.program import Compute, Program, Span, Task, Transfer

LINE = 32
WEIGHTS = np.random.default_rng(7).integers(1, 2**63, 1 << 19, dtype=np.uint64) | np.uint64(1)


def spans(task: Task) -> list[Span]:
    if isinstance(task, Compute):
        return [o.span for o in task.operands]
    return [task.source, task.destination] if isinstance(task, Transfer) else [task.span]


class Memory:
    """One number for every byte that the programs name."""

    def __init__(self, programs: Sequence[Program], machine: Machine, evict: bool) -> None:
        named = [s for p in programs for t in p.tasks for s in spans(t)]
        named += [b.span for p in programs for b in p.header.buffers]
        pieces = sorted({(s.address // LINE * LINE, -(-s.end // LINE) * LINE) for s in named})
        merged: list[list[int]] = []
        for low, high in pieces:
            if merged and low <= merged[-1][1]:
                merged[-1][1] = max(high, merged[-1][1])
            else:
                merged.append([low, high])
        self._lows = [low for low, _ in merged]
        self._starts = np.cumsum([0] + [high - low for low, high in merged]).tolist()
        addresses = np.concatenate([np.arange(low, high, dtype=np.uint64) for low, high in merged])
        self._first = (addresses ^ np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
        self._cached = np.zeros(len(addresses), bool)
        for region in machine.memory.values():
            if machine.data_cache and machine.data_cache.size and region.attribute == "write-back":
                self._cached |= (addresses >= region.base) & (addresses < region.end)
        self._evict = evict and bool(self._cached.any())

    def start(self, program: Program) -> None:
        """As a second inference finds it: overlays' old bytes in the cache, the inputs just written through it."""
        self.memory, self.lines = self._first.copy(), self._first.copy()
        self.valid, self.dirty = np.zeros_like(self._cached), np.zeros_like(self._cached)
        made = {o.span.address for t in program.tasks if isinstance(t, Compute) for o in t.operands if o.access == "w"}
        for buffer in program.header.buffers:
            a, b = self.whole(buffer.span)
            if buffer.kind == "overlay":
                self.valid[a:b] |= self._cached[a:b]
            elif buffer.kind == "activation" and buffer.first == 0 and buffer.span.address not in made:
                self.write(buffer.span, WEIGHTS[: buffer.span.bytes])

    def place(self, span: Span) -> tuple[int, int]:
        window = bisect_right(self._lows, span.address) - 1
        at = self._starts[window] + span.address - self._lows[window]
        return at, at + span.bytes

    def whole(self, span: Span) -> tuple[int, int]:
        a, b = self.place(span)
        return a // LINE * LINE, -(-b // LINE) * LINE

    def _fill(self, span: Span) -> None:
        a, b = self.whole(span)
        need = self._cached[a:b] & ~self.valid[a:b]
        self.lines[a:b][need] = self.memory[a:b][need]
        self.valid[a:b] |= need

    def read(self, span: Span) -> np.ndarray:
        self._fill(span)
        a, b = self.place(span)
        return np.where(self._cached[a:b], self.lines[a:b], self.memory[a:b])

    def write(self, span: Span, values: np.ndarray) -> None:
        self._fill(span)
        a, b = self.place(span)
        cached = self._cached[a:b]
        self.lines[a:b][cached] = values[cached]
        self.memory[a:b][~cached] = values[~cached]
        a, b = self.whole(span)
        self.dirty[a:b] |= self._cached[a:b]

    def copy(self, source: Span, target: Span) -> None:
        a, b = self.place(source)
        c, d = self.place(target)
        self.memory[c:d] = self.memory[a:b].copy()
        if self._evict:
            self.memory[self.dirty] = self.lines[self.dirty]
            self.valid[self.dirty] = False
            self.dirty[:] = False

    def maintain(self, span: Span, action: str) -> None:
        a, b = self.whole(span)
        if "clean" in action:
            dirty = self.dirty[a:b]
            self.memory[a:b][dirty] = self.lines[a:b][dirty]
            self.dirty[a:b] = False
        if "invalidate" in action:
            self.valid[a:b] = self.dirty[a:b] = False


def orders(program: Program) -> Iterator[list[Task]]:
    """Each lane as far ahead of the others as edges allow, in turn."""
    lanes = sorted({task.lane for task in program.tasks})
    for preference in permutations(lanes):
        queues = {lane: [t for t in program.tasks if t.lane == lane][::-1] for lane in lanes}
        done: set[int] = set()
        made: list[Task] = []
        while len(made) < len(program.tasks):
            lane = next(x for x in preference if queues[x] and done.issuperset(queues[x][-1].after))
            task = queues[lane].pop()
            done.add(task.id)
            made.append(task)
        yield made


def run(memory: Memory, program: Program, order: Sequence[Task], outputs: Sequence[Span]) -> list[np.ndarray]:
    """The numbers at ``outputs`` when the tasks of ``program`` have run in ``order``."""
    memory.start(program)
    for task in order:
        if isinstance(task, Transfer):
            memory.copy(task.source, task.destination)
        elif isinstance(task, Compute):
            _call(memory, task)
        else:
            memory.maintain(task.span, task.action)
    return [memory.read(span).copy() for span in outputs]


def _call(memory: Memory, task: Compute) -> None:
    mixed = np.uint64(task.operator * 1009 + task.tile)
    with np.errstate(over="ignore"):
        for number, operand in enumerate(task.operands):
            if operand.access == "r":
                values = memory.read(operand.span)
                mixed = mixed * np.uint64(31) + np.uint64(number) + (values * WEIGHTS[: len(values)]).sum()
        for operand in task.operands:
            if operand.access != "r":
                memory.write(operand.span, WEIGHTS[: operand.span.bytes] * (mixed | np.uint64(1)))


def results(outputs: Sequence[Span], program: Program, others: Sequence[Program], machine: Machine) -> set[bytes]:
    """The different results of ``program`` under all orders and both ways of the cache."""
    found = set()
    for evict in (False, True):
        memory = Memory([program, *others], machine, evict)
        for order in orders(program):
            found.add(b"".join(v.tobytes() for v in run(memory, program, order, outputs)))
        if not memory._cached.any():
            break
    return found

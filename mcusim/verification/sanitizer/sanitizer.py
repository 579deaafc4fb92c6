"""The sanitizer: every byte that the core or the DMA reads was written by whom the program means, or it is a finding.

What a program means is its tasks one after the other, as they are listed. The native side
(:mod:`mcusim.memory.cache.shadow`) keeps for every byte who wrote it, as the core sees it and in memory, and records
reads of others' bytes; :mod:`mcusim.verification.sanitizer.explanations` says what a violation means.

Not modelled: bytes that were never written (the static proof finds them), data that is wrong in list order too, and the
stack.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mcusim.emulator.emulator import Emulator
from mcusim.memory.address_ranges import Bytes
from mcusim.memory.cache.violations import ViolationLog
from mcusim.memory.state_layout import TICK
from mcusim.program.program import Compute, Program, Span, Transfer
from mcusim.verification.proof.last_writer import ByteMap

APPLICATION = 65_535  # who wrote the inputs; tasks have their position and one
Run = tuple[int, int, int]  # first byte, end, writer


@dataclass(frozen=True, slots=True)
class Violation:
    """One violation that the native side recorded; writers by number, ``now`` in cycles."""

    kind: int
    code: int
    low: int
    high: int
    wanted: int
    seen: int
    stored: int
    held: int
    pc: int
    now: int
    other: int
    times: int


class Sanitizer:
    """Watches ``program`` run on ``emulator``; ``inputs`` are where the application wrote the graph's inputs."""

    def __init__(self, program: Program, emulator: Emulator, stack: Span, inputs: Sequence[Span], halt: bool) -> None:
        self._emulator, self._tasks = emulator, program.tasks
        self._log = ViolationLog(np.zeros(ViolationLog.WORDS, np.int64))
        self._place = {task.id: index for index, task in enumerate(program.tasks)}
        self._passed = 0  # tasks that the core has come past
        self._meant = _meant(program, inputs)
        self._kept: dict[int, Any] = {}  # what transfers in flight point at
        self.began: dict[int, int] = {}  # cycles, by position
        self.ended: dict[int, int] = {}
        self._writers: dict[int, tuple[Any, Any, Any]] = {}  # by a region's first address: seen, stored, meant
        self._share(stack, halt)
        for span in inputs:
            self.mark(span.address, span.bytes, APPLICATION)

    def _share(self, stack: Span, halt: bool) -> None:
        """Tell the native side where everything is."""
        memory, machine = self._emulator.memory, self._emulator.machine
        for region in machine.memory.values():
            if region.writable:
                seen, meant = np.zeros(region.size, np.uint16), np.zeros(region.size, np.uint16)
                view = next(content for content in memory.contents if content.base == region.base)
                stored = seen if view.view == view.memory else np.zeros(region.size, np.uint16)
                self._writers |= dict.fromkeys((region.base, *region.aliases), (seen, stored, meant))
        memory.contents = [self._with_writers(content) for content in memory.contents]
        memory.state.violations = self._log
        memory.state.stack_low, memory.state.stack_high = stack.address, stack.end
        self._emulator.state.halt_on_violation = halt

    def _with_writers(self, content: Bytes) -> Bytes:
        if content.base not in self._writers:
            return content
        seen, stored, meant = (int(array.ctypes.data) for array in self._writers[content.base])
        return replace(content, seen=seen, stored=stored, meant=meant)

    def mark(self, address: int, size: int, writer: int) -> None:
        """``writer`` wrote these bytes: the core sees that, memory has it, the program means it."""
        for views in self._views(address, size):
            for writers in views:
                writers[:] = writer

    def unstored(self, address: int, size: int) -> None:
        """What was written to these bytes is in the data cache alone."""
        for _, stored, _ in self._views(address, size):
            stored[:] = 0

    def _views(self, address: int, size: int) -> list[tuple[Any, Any, Any]]:
        views = []
        for base, arrays in self._writers.items():
            low, high = max(address, base), min(address + size, base + len(arrays[0]))
            if low < high:
                seen, stored, meant = (array[low - base : high - base] for array in arrays)
                views.append((seen, stored, meant))
        return views

    # as the run goes

    def starts(self, task: Compute, cycle: int) -> None:
        """The core comes to ``task``: the transfers listed before it have, as the program means, moved their bytes."""
        index = self._place[task.id]
        for passed in range(self._passed, index):
            other = self._tasks[passed]
            if isinstance(other, Transfer):
                target = other.destination
                for _, _, meant in self._views(target.address, target.bytes):
                    meant[:] = passed + 1
        self._passed = index
        self._emulator.memory.state.task = index + 1
        self.began.setdefault(index, cycle)

    def begins(self, task: Transfer, cycle: int) -> tuple[int, int]:
        """A transfer's first beat comes: its number, and where the writers are that its source should have."""
        index, source = self._place[task.id], task.source
        wanted = np.zeros(max(1, source.bytes), np.uint16)
        for low, high, writer in self._meant[index]:
            wanted[low - source.address : high - source.address] = writer
        self._kept[index] = wanted
        self.began[index] = cycle
        return index + 1, int(wanted.ctypes.data)

    def ends(self, task: Compute | Transfer, cycle: int) -> None:
        """``task`` is done."""
        index = self._place[task.id]
        self.ended[index] = cycle
        self._kept.pop(index, None)

    @property
    def violations(self) -> list[Violation]:
        """What was seen so far."""
        seen = (Violation(*row) for row in self._log.records.table(self._log.count).tolist())
        return [replace(violation, now=-(-violation.now // TICK)) for violation in seen]

    @property
    def lost(self) -> int:
        """How many violations found no room."""
        return self._log.lost


def _meant(program: Program, inputs: Sequence[Span]) -> dict[int, list[Run]]:
    """By a transfer's position: who, in list order, has written its source last."""
    writers: ByteMap[int] = ByteMap(int, int)
    for span in inputs:
        writers.put(span.address, span.end, APPLICATION)
    meant: dict[int, list[Run]] = {}
    for index, task in enumerate(program.tasks):
        if isinstance(task, Transfer):
            meant[index] = list(writers.known(task.source.address, task.source.end))
            writers.put(task.destination.address, task.destination.end, index + 1)
        elif isinstance(task, Compute):
            for operand in task.operands:
                if operand.access == "w":
                    writers.put(operand.span.address, operand.span.end, index + 1)
    return meant

"""Recorded work on another machine: its waits for memory change as those of a regular pattern of its accesses do.

On the machine of the recording every wait comes out as it was. Not modelled: caches of another size or policy (what
got past them is as recorded), core cycles that a wait hid, accesses that came in bursts.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from mcusim.machine.description import Machine
from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import MemoryState, RegionState
from mcusim.memory.system import AccessStats, MemorySystem
from mcusim.program.program import Asked, Work

SAMPLE = 1024  # accesses of a longer pattern that are looked at
LINE = 32  # the most bytes of an access


class Retiming:
    """One machine's answer to regular patterns of accesses; equal questions are looked up."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self._known: dict[tuple[str | int, ...], tuple[int, int]] = {}

    def demand(self, task: Work) -> dict[str, AccessStats]:
        """What ``task`` asks of each region here, its stalls in ticks."""
        demands = {}
        for asked in task.asked:
            waited, occupied = self.pattern(asked, task.cycles)
            stall = asked.wait * L.TICK
            if asked.pattern:
                stall = stall * waited // (asked.pattern * L.TICK)
            counts = asked.reads, asked.writes, asked.read_bytes, asked.write_bytes
            demands[asked.region] = AccessStats(*counts, occupied, stall)
        return demands

    def pattern(self, asked: Asked, cycles: int) -> tuple[int, int]:
        """Ticks that the core waits for such accesses spread over ``cycles`` of work, and that the memory is busy."""
        n = asked.reads + asked.writes
        if not n:
            return 0, 0
        gap = cycles * L.TICK // n
        sizes = _size(asked.reads, asked.read_bytes), _size(asked.writes, asked.write_bytes)
        shown = min(n, SAMPLE)
        writes = min(asked.writes, asked.writes * shown // n)
        counts = shown - writes, writes, *sizes, min(shown, asked.rows * shown // n)
        key = asked.region, *counts, gap
        if key not in self._known:
            self._known[key] = self._played(asked.region, counts, gap)
        waited, occupied = self._known[key]
        return waited * n // shown, occupied * n // shown

    def _played(self, region: str, counts: tuple[int, ...], gap: int) -> tuple[int, int]:
        from mcusim.memory.ports.regular_pattern import (  # native code that takes a while to compile
            RegularPattern,
            wait,
        )

        memory = MemoryState(self._fresh.copy())
        block, place = self._memory.blocks[region, False], self.machine.memory[region]
        figures = (block, place.base, place.size, *counts, gap)
        stall = wait(memory, RegularPattern(np.array(figures, np.int64)))
        return stall, RegionState(memory, block).occupied

    @cached_property
    def _memory(self) -> MemorySystem:
        return MemorySystem(self.machine)

    @cached_property
    def _fresh(self) -> Any:
        return self._memory.state.array.copy()


def _size(count: int, size: int) -> int:
    """Bytes of an access, a power of two."""
    mean = min(LINE, size // count) if count else 1
    return 1 << (mean.bit_length() - 1) if mean else 1

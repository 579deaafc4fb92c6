"""The part's own flash behind its controller: its bytes, the stores that it gets, and who waits while it works.

A store does not change the flash by itself: Unicorn makes it, and before the next block (or the next access to the
controller) it is taken back and handed to the controller, which programs or refuses it. Lines of the data cache keep
what they hold when the flash changes behind them, also while the cache is off (the core then gets the flash's bytes); a
store of the core that hits a line changes the line too, as those are written through.

Not modelled: a load of the same bytes in the block of the store, before the controller is accessed, finds what was
stored; stale bytes in the instruction cache and in the accelerator after an erase (their lines show the new bytes); a
flash that the MPU makes write-back; DMA writes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np

from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.unicorn_core import ERASED, UnicornCore
from mcusim.machine.description import Machine
from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import AddressRange, CacheState, RegionState
from mcusim.memory.system import MemorySystem
from mcusim.units import parse_duration, parse_size


@dataclass(frozen=True, slots=True)
class FlashStore:
    """``data`` was stored at ``offset`` of the flash, address ``address``, by the instruction at ``pc``."""

    offset: int
    data: bytes
    address: int
    pc: int
    record: int  # of the access, in the native tables


class FlashTimes:
    """How long operations take, in core cycles, by the parallelism (a number from 0 on) where that matters."""

    def __init__(self, figures: Mapping[str, Any], clock: int) -> None:
        self._figures, self._clock = figures, clock

    def program(self, parallelism: int = 0) -> int:
        """Of one unit."""
        return self._cycles(self._figures["program"], parallelism)

    def erase(self, size: int, parallelism: int = 0) -> int:
        """Of a sector or page of ``size`` bytes."""
        sizes = {parse_size(text): times for text, times in self._figures["erase"].items()}
        return self._cycles(sizes[size], parallelism)

    @property
    def pages(self) -> list[int]:
        """The sizes that are erased at once, in bytes, the smallest first."""
        return sorted(parse_size(text) for text in self._figures["erase"])

    def mass_erase(self, parallelism: int = 0) -> int:
        """Of a bank."""
        return self._cycles(self._figures["mass_erase"], parallelism)

    def options(self) -> int:
        """Of the option bytes."""
        return self._cycles(self._figures["options"], 0)

    def _cycles(self, times: str | Sequence[str], parallelism: int) -> int:
        time = times if isinstance(times, str) else times[min(parallelism, len(times) - 1)]
        return ceil(parse_duration(time).cycles(self._clock))


class ProgramFlash:
    """``changed`` has first and last offset of what was written since it was last emptied."""

    def __init__(
        self, machine: Machine, core: UnicornCore, state: CoreState, memory: MemorySystem, figures: Mapping[str, Any]
    ) -> None:
        self.bases: tuple[int, ...] = ()
        self.size = 0
        self.times = FlashTimes(figures, machine.core.clock)
        self._state, self._system, self._memory = state, memory, memory.state
        for region in [region for region in machine.memory.values() if region.kind == "flash"][:1]:
            self.bases, self.size = (region.base, *region.aliases), region.size
            self._bytes = self._view = core.windows[region.base]  # what it has, and what the core gets
            blocks = sorted({memory.blocks[region.name, alias] for alias in (False, True)})
            self._regions = [RegionState(memory.state, block) for block in blocks]
        self._under_way: list[tuple[int, int, int]] = []  # from offset to offset, until cycle
        self.changed: list[tuple[int, int]] = []

    def accept_stores(self, accept: bool) -> None:
        """Let stores come here, or be faults of the core."""
        self._state.flash_flag = L.PROGRAMS * accept

    @property
    def accepts_stores(self) -> bool:
        return bool(self._state.flash_flag)

    def has(self, address: int) -> bool:
        return any(base <= address < base + self.size for base in self.bases)

    def stores(self) -> Iterator[FlashStore]:
        """The stores since the last call, in their order; the flash has what it had before them."""
        log = self._state.flash_stores.table(self._state.flash_store_count).tolist()
        self._state.flash_store_count = 0
        hit = self._memory.aside == 0  # by a store, as the cache is on
        if log and hit and self._lines(0, self.size):
            self._keep_apart()
        for address, size, _, old, _, _ in reversed(log):
            (self._put if hit else self._set)(self._offset(address), _bytes(old, size))
        for address, size, value, _, pc, access in log:
            yield FlashStore(self._offset(address), _bytes(value, size), address, pc, access)

    def _offset(self, address: int) -> int:
        return next(address - base for base in self.bases if base <= address < base + self.size)

    def read(self, offset: int, size: int) -> bytes:
        return bytes(self._bytes[offset : offset + size])

    def program(self, offset: int, data: bytes) -> bool:
        """Clear the bits that ``data`` has clear; says whether all others were clear already where ``data`` asks so."""
        new = np.frombuffer(data, np.uint8)
        old = self._bytes[offset : offset + len(data)]
        clears_only = not (new & ~old).any()
        self._put(offset, (old & new).tobytes())
        return clears_only

    def erase(self, offset: int, size: int) -> None:
        """Set all bits."""
        self._put(offset, bytes([ERASED]) * size)

    def swap_halves(self) -> None:
        """Exchange what both banks hold at their addresses."""
        half = self.size // 2
        lower = self.read(0, half)
        self._put(0, self.read(half, half))
        self._put(half, lower)

    def _put(self, offset: int, data: bytes) -> None:
        """Change the flash; lines of the data cache keep what they have."""
        lines = self._lines(offset, len(data))
        if lines:
            self._keep_apart()
        kept = [] if self._memory.aside else [(low, self._view[low:end].copy()) for low, end, _ in lines]
        self._set(offset, data)
        for low, line in kept:
            self._view[low : low + line.size] = line

    def _set(self, offset: int, data: bytes) -> None:
        """Change the flash and what the core gets."""
        for memory in (self._bytes, self._view):
            memory[offset : offset + len(data)] = np.frombuffer(data, np.uint8)
        self.changed.append((offset, offset + len(data)))

    def _lines(self, offset: int, size: int) -> list[tuple[int, int, int]]:
        """First offset, end and number of each line that the data cache, on or off, holds with some of these bytes."""
        memory = self._memory
        block = memory.data_cache_block if memory.aside else memory.data_cache
        if block == 0:
            return []
        cache = CacheState(memory, block)
        line, tags = cache.line_bytes, cache.lines.table(cache.sets * cache.ways)["tag"]
        lines = []
        for base in self.bases:
            low, high = (base + offset) // line, (base + offset + size + line - 1) // line
            held = np.flatnonzero((tags >= low) & (tags < high)).tolist()
            lines += [(int(tags[i]) * line - base, int(tags[i] + 1) * line - base, i) for i in held]
        return lines

    def _keep_apart(self) -> None:
        """From now on the flash has its bytes apart from what the core gets."""
        memory = self._memory
        memory.apart |= 2
        if self._view is not self._bytes:
            return
        self._bytes = self._view.copy()
        self._system.contents = [
            replace(content, memory=self._bytes.ctypes.data) if content.base in self.bases else content
            for content in self._system.contents
        ]
        further = self._bytes.ctypes.data - self._view.ctypes.data
        for i in range(memory.ranges):
            addresses = AddressRange(memory, memory.first_range + i * AddressRange.WORDS)
            if self.has(addresses.low) and addresses.core_view:
                addresses.memory += further
        if memory.aside:  # what the lines have had no room of its own yet
            for low, end, i in self._lines(0, self.size):
                ctypes.memmove(memory.aside_room + i * (end - low), self._view[low:end].ctypes.data, end - low)

    def written(self, address: int, data: bytes) -> None:
        """The host has put ``data`` where the core gets it."""
        if self._view is not self._bytes and self.has(address):
            offset = self._offset(address)
            self._bytes[offset : offset + len(data)] = np.frombuffer(data, np.uint8)

    def begin(self, low: int, high: int, until: int) -> tuple[int, int, int]:
        """What is between these offsets cannot be read until that cycle; returns what :meth:`end` wants."""
        operation = low, high, until
        self._under_way.append(operation)
        for region in self._regions:
            if region.transfers == 0:
                region.taken_until = region.busy_until
            region.latched_line = -1
            region.transfers += 1
        self._hold()
        return operation

    def end(self, operation: tuple[int, int, int]) -> None:
        """It is over."""
        self._under_way.remove(operation)
        for region in self._regions:
            region.transfers -= 1
        self._hold()

    def _hold(self) -> None:
        """Not modelled: of two operations in two banks each holds what lies between them too."""
        low = min((entry[0] for entry in self._under_way), default=0)
        high = max((entry[1] for entry in self._under_way), default=0)
        until = max((entry[2] for entry in self._under_way), default=0)
        for region in self._regions:
            region.program_mask = (1 << (self.size - 1).bit_length()) - 1
            region.program_low, region.program_high = low, high
            region.program_until = until * L.TICK


def _bytes(value: int, size: int) -> bytes:
    return (value & (1 << 8 * size) - 1).to_bytes(size, "little")

"""The memory behind the data cache: what the DMA sees, apart from the view that Unicorn's core has.

Not modelled: memory that cannot be written (both are the same bytes there) and tightly coupled memory (never cached).
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcusim.cpu.unicorn_core import PAGE, UnicornCore
from mcusim.machine.description import Machine, Region
from mcusim.memory.address_ranges import Bytes
from mcusim.memory.state_layout import MemoryState


@dataclass(frozen=True, slots=True)
class BackingStore:
    """By region: its addresses' beginnings, and its bytes in memory."""

    regions: tuple[tuple[Region, Any], ...]

    def views(self, address: int, size: int) -> list[tuple[int, Any]]:
        """The parts of ``size`` bytes at ``address`` that memory has apart from the view: offset, and the bytes."""
        views = []
        for region, data in self.regions:
            for base in (region.base, *region.aliases):
                low, high = max(address, base), min(address + size, base + region.size)
                if low < high:
                    views.append((low - address, data[low - base : high - base]))
        return views

    def write(self, address: int, data: bytes) -> None:
        """Put ``data`` at ``address`` where memory has bytes of its own."""
        for at, view in self.views(address, len(data)):
            view[:] = np.frombuffer(data, np.uint8, view.size, at)


def behind_the_cache(machine: Machine, core: UnicornCore) -> tuple[list[Bytes], BackingStore]:
    """Where the host has every region's bytes; with a data cache, fresh memory behind what can be written."""
    cached = machine.data_cache is not None and machine.data_cache.size > 0
    contents, own = [], []
    for region in machine.memory.values():
        view = core.windows[region.base]
        data = view
        if cached and region.writable and region.kind != "tcm":
            data = np.frombuffer(mmap.mmap(-1, -(-region.size // PAGE) * PAGE), np.uint8)
            own.append((region, data))
        for base in (region.base, *region.aliases):
            contents.append(Bytes(base, base + region.size, view.ctypes.data, data.ctypes.data))
    return contents, BackingStore(tuple(own))


def room_for_lines(machine: Machine, memory: MemoryState) -> Any:
    """Where the bytes of the data cache's lines are kept while it is off; None: no cache."""
    cache = machine.data_cache
    if cache is None or not cache.size:
        return None
    room = np.zeros(cache.size, np.uint8)
    memory.aside_room = room.ctypes.data
    return room

"""A cache line between a cache and its memory: when it starts, and what of it the core waits for.

Not modelled: what :mod:`.tags` does not model.
"""

from __future__ import annotations

from mcusim.memory import devices
from mcusim.memory.state_layout import MemoryState, RegionState
from mcusim.native.functions import inlined


@inlined
def read_line(memory: MemoryState, region: RegionState, address: int, size: int) -> int:
    """The line is read as soon as its memory is free, which sets ``line_first`` and ``line_last``; returns the ticks
    until it starts."""
    start = memory.line_start = max(memory.now, region.busy_until)
    devices.line(memory, region, address, size, 0)
    return start - memory.now


@inlined
def write_line(memory: MemoryState, region: RegionState, address: int, size: int, start: int) -> int:
    """The line is written from ``start`` on, or when its memory is free; returns the ticks that takes."""
    memory.line_start = max(start, region.busy_until)
    devices.line(memory, region, address, size, 1)
    return memory.line_last


@inlined
def fill_stall(write: int, wait: int, first: int, last: int, hidden: int) -> int:
    """The core's stall in ticks for a fill that starts after ``wait``, ``hidden``: the core's own work meanwhile."""
    if write:
        return max(0, wait - last)
    return max(wait + first, wait + last - hidden)

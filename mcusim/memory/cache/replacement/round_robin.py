"""The line that was filled longest ago goes: the ways of a set in turn. Not modelled: one counter for all sets."""

from __future__ import annotations

from mcusim.memory.state_layout import CacheLine, CacheState, MemoryState
from mcusim.native.functions import inlined


@inlined
def hit(memory: MemoryState, cache: CacheState, line: CacheLine) -> None:
    """A hit changes nothing."""


@inlined
def fill(memory: MemoryState, cache: CacheState, line: CacheLine) -> None:
    """The line is the youngest one."""
    cache.clock += 1
    line.age = cache.clock


@inlined
def victim(memory: MemoryState, cache: CacheState, first: int) -> CacheLine:
    """The oldest line; an empty way is older than any."""
    oldest = cache.lines[first]
    for index in range(first + 1, first + cache.ways):
        if cache.lines[index].age < oldest.age:
            oldest = cache.lines[index]
    return oldest

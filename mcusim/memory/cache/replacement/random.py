"""Any line goes, by a 16-bit Galois register (taps 0xB400): random, and the same in every run.

Not modelled: a register of its own for each cache.
"""

from __future__ import annotations

from mcusim.memory.state_layout import CacheLine, CacheState, MemoryState
from mcusim.native.functions import inlined


@inlined
def hit(memory: MemoryState, cache: CacheState, line: CacheLine) -> None:
    """A hit changes nothing."""


@inlined
def fill(memory: MemoryState, cache: CacheState, line: CacheLine) -> None:
    """Nor does a fill."""


@inlined
def victim(memory: MemoryState, cache: CacheState, first: int) -> CacheLine:
    """The way that the register's next state names."""
    for index in range(first, first + cache.ways):
        if cache.lines[index].tag < 0:
            return cache.lines[index]
    register = memory.seed
    memory.seed = (register >> 1) ^ (0xB400 if register & 1 else 0)
    return cache.lines[first + memory.seed % cache.ways]

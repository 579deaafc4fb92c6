"""The line that was used longest ago goes. Not modelled: the trees of bits that hardware takes for many ways."""

from __future__ import annotations

from mcusim.memory.cache.replacement.round_robin import fill, victim
from mcusim.memory.state_layout import CacheLine, CacheState, MemoryState
from mcusim.native.functions import inlined

__all__ = ["fill", "hit", "victim"]


@inlined
def hit(memory: MemoryState, cache: CacheState, line: CacheLine) -> None:
    """The line is the most recently used one."""
    cache.clock += 1
    line.age = cache.clock

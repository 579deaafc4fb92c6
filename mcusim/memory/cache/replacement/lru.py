"""The line that was used longest ago goes. Not modelled: the trees of bits that hardware takes for many ways."""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache.replacement.round_robin import fill, victim
from mcusim.native.compile import State, inlined

__all__ = ["fill", "hit", "victim"]


@inlined
def hit(s: State, c: int, record: int) -> None:
    """The line is the most recently used one."""
    s[c + L.C_CLOCK] += 1
    s[record + L.AGE] = s[c + L.C_CLOCK]

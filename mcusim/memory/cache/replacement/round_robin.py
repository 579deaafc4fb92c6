"""The line that was filled longest ago goes: the ways of a set in turn. Not modelled: one counter for all sets."""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.native.compile import State, inlined


@inlined
def hit(s: State, c: int, record: int) -> None:
    """A hit changes nothing."""


@inlined
def fill(s: State, c: int, record: int) -> None:
    """The line is the youngest one."""
    s[c + L.C_CLOCK] += 1
    s[record + L.AGE] = s[c + L.C_CLOCK]


@inlined
def victim(s: State, c: int, record: int) -> int:
    """The oldest line; an empty way is older than any."""
    oldest = record
    for at in range(record + L.CACHE_LINE, record + s[c + L.C_WAYS] * L.CACHE_LINE, L.CACHE_LINE):
        if s[at + L.AGE] < s[oldest + L.AGE]:
            oldest = at
    return oldest

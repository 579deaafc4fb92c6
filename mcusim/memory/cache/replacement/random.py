"""Any line goes, by a 16-bit Galois register (taps 0xB400): random, and the same in every run.

Not modelled: a register of its own for each cache.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.native.compile import State, inlined


@inlined
def hit(s: State, c: int, record: int) -> None:
    """A hit changes nothing."""


@inlined
def fill(s: State, c: int, record: int) -> None:
    """Nor does a fill."""


@inlined
def victim(s: State, c: int, record: int) -> int:
    """The way that the register's next state names."""
    for at in range(record, record + s[c + L.C_WAYS] * L.CACHE_LINE, L.CACHE_LINE):
        if s[at + L.TAG] < 0:
            return at
    register = s[L.SEED]
    s[L.SEED] = (register >> 1) ^ (0xB400 if register & 1 else 0)
    return record + s[L.SEED] % s[c + L.C_WAYS] * L.CACHE_LINE

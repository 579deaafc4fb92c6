"""Single units that a DMA moves between memory and a peripheral's register: their bytes, behind the data cache.

Not modelled: the time that such a unit has its memory, for which nobody waits.
"""

from __future__ import annotations

import ctypes

from mcusim.memory import state_layout as L
from mcusim.memory.cache import tags
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State


def read_unit(s: State, address: int, size: int) -> bytes:
    """The ``size`` bytes that memory has at ``address``, which does not leave its region."""
    q = find(s, address)
    s[s[q + L.BLOCK] + L.DMA_READ_BYTES] += size
    return ctypes.string_at(int(s[q + L.MEM]) + address, size)


def write_unit(s: State, address: int, unit: bytes) -> None:
    """Put ``unit`` into memory; the core sees it where no line of its cache holds the place."""
    q = find(s, address)
    memory, view, c = int(s[q + L.MEM]) + address, int(s[q + L.VIEW]) + address, s[L.DATA_AT]
    s[s[q + L.BLOCK] + L.DMA_WRITE_BYTES] += len(unit)
    ctypes.memmove(memory, unit, len(unit))
    if memory != view and (c == 0 or s[L.ASIDE] or tags.find(s, c, address >> s[c + L.C_SHIFT]) < 0):
        ctypes.memmove(view, unit, len(unit))

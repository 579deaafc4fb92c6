"""Which range of addresses an access of the emulated core falls in."""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.native.compile import State, native


@native
def search(s: State, address: int) -> int:
    """Offset of the range record that contains ``address`` by bisection of the sorted ranges, or -1; remembers it."""
    low, high = 0, s[L.RANGES]
    while low < high:
        middle = (low + high) >> 1
        if address < s[s[L.RANGE_BASE] + middle * L.RANGE + L.HIGH]:
            high = middle
        else:
            low = middle + 1
    q = s[L.RANGE_BASE] + low * L.RANGE
    if low == s[L.RANGES] or address < s[q + L.LOW]:
        return -1
    s[L.FOUND + (((address >> 12) ^ (address >> 25)) & (L.FOUNDS - 1))] = q
    return q


@native
def find(s: State, address: int) -> int:
    """Offset of the range record that contains ``address``, or -1 where there is none. Unsigned 32-bit addresses."""
    q = s[L.FOUND + (((address >> 12) ^ (address >> 25)) & (L.FOUNDS - 1))]
    if s[q + L.LOW] <= address < s[q + L.HIGH]:
        return q
    return search(s, address)

"""Which operand of a kernel call the core's stalls are for: address ranges of the running call, each with its ticks.

A stall is charged to the operand whose access it delays, also where something else caused it: a write that was posted
before, a dirty line that had to make room, a row that another operand opened.

Not modelled: stalls of instruction fetches, which are counted on their own, and ranges over ``MAX_OPERANDS``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.memory import state_layout as L
from mcusim.native.compile import native

State = Any


@native
def charge(s: State, address: int, stall: int) -> None:
    """Count ``stall`` ticks for the range that holds ``address``, if one does."""
    at = L.OPERAND
    for _ in range(s[L.OPERANDS]):
        if s[at] <= address < s[at + 1]:
            s[at + 2] += stall
            return
        at += 3


def begin(s: State, ranges: Sequence[tuple[int, int]]) -> None:
    """Count from now on for ``ranges`` (first address, end); of those that overlap the first counts."""
    s[L.OPERANDS] = count = min(len(ranges), L.MAX_OPERANDS)
    s[L.OPERAND : L.OPERAND + 3 * count] = [n for low, high in ranges[:count] for n in (low, high, 0)]


def counted(s: State) -> list[int]:
    """Ticks of each range since :func:`begin`."""
    ticks: list[int] = s[L.OPERAND + 2 : L.OPERAND + 3 * int(s[L.OPERANDS]) : 3].tolist()
    return ticks

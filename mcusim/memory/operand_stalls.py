"""Which operand of a kernel call the core's stalls are for: address ranges of the running call, each with its ticks.

A stall is charged to the operand whose access it delays, also where something else caused it: a write that was posted
before, a dirty line that had to make room, a row that another operand opened.

Not modelled: stalls of instruction fetches, which are counted on their own, and ranges over ``MAX_OPERANDS``.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.memory import state_layout as L
from mcusim.native.compile import State, native


@native
def charge(s: State, address: int, stall: int) -> None:
    """Count ``stall`` ticks for the range that contains ``address``, if one does."""
    at = L.OPERANDS
    for _ in range(s[L.OPERAND_COUNT]):
        if s[at + L.O_LOW] <= address < s[at + L.O_HIGH]:
            s[at + L.O_STALL] += stall
            return
        at += L.OPERAND


def begin(s: State, ranges: Sequence[tuple[int, int]]) -> None:
    """Count from now on for ``ranges`` (first address, end); of those that overlap the first counts."""
    s[L.OPERAND_COUNT] = count = min(len(ranges), L.MAX_OPERANDS)
    for at, (low, high) in zip(range(L.OPERANDS, L.HEADER, L.OPERAND), ranges[:count], strict=False):
        s[at + L.O_LOW], s[at + L.O_HIGH], s[at + L.O_STALL] = low, high, 0


def counted(s: State) -> list[int]:
    """Ticks of each range since :func:`begin`."""
    ticks: list[int] = s[L.OPERANDS + L.O_STALL : L.OPERANDS + L.OPERAND * int(s[L.OPERAND_COUNT]) : L.OPERAND].tolist()
    return ticks

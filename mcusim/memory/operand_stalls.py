"""Which operand of a kernel call the core's stalls are for: address ranges of the running call, each with its ticks.

A stall is charged to the operand whose access it delays, also where something else caused it: a write that was posted
before, a dirty line that had to make room, a row that another operand opened.

Not modelled: stalls of instruction fetches, which are counted on their own, and ranges over ``MAX_OPERANDS``.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import MemoryState
from mcusim.native.functions import native


@native
def operand_of(memory: MemoryState, address: int) -> int:
    """The number of the range that contains ``address``, -1: none."""
    for i in range(memory.operand_count):
        if memory.operands[i].low <= address < memory.operands[i].high:
            return i
    return -1


@native
def charge(memory: MemoryState, address: int, stall: int) -> None:
    """Count ``stall`` ticks for the range that contains ``address``, if one does."""
    operand = operand_of(memory, address)
    if operand >= 0:
        memory.operands[operand].stall += stall


def begin(memory: MemoryState, ranges: Sequence[tuple[int, int]]) -> None:
    """Count from now on for ``ranges`` (first address, end); of those that overlap the first counts."""
    memory.operand_count = count = min(len(ranges), L.MAX_OPERANDS)
    if count:
        memory.operands.table(count)[:] = [(low, high, 0) for low, high in ranges[:count]]


def counted(memory: MemoryState) -> list[int]:
    """Ticks of each range since :func:`begin`."""
    ticks: list[int] = memory.operands.table(memory.operand_count)["stall"].tolist()
    return ticks

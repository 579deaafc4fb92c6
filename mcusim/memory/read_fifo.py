"""The read FIFO of an SDRAM controller (ST FMC with RBURST set): columns read ahead of those that are asked for.

A read that is not in it goes to the memory, and during the CAS latency the controller reads on: one column a clock, in
the same row, at most as many as the FIFO has lines. Each is kept with its address, the oldest is lost when there is no
line left for it. A read that finds all its columns there does without the memory; what it found is given away. A write,
a precharge and a refresh empty it (ST RM0385 13.7.3, SDRAM controller read cycle).

A column is as wide as the memory: the bytes of one that was read are not kept, so a byte next to it is read again.

Not modelled: the end of a burst that the FIFO had ahead, a second device behind the same controller.
"""

from __future__ import annotations

from mcusim.memory.state_layout import RegionState
from mcusim.native.functions import inlined, native


@inlined
def flush(region: RegionState) -> None:
    """What was read ahead is lost."""
    region.columns_held = 0


@native
def index_of(region: RegionState, column: int) -> int:
    """Where ``column`` is, or -1."""
    for i in range(region.columns_held):
        if region.columns[i] == column:
            return i
    return -1


@native
def remove(region: RegionState, index: int) -> None:
    """The line ``index`` is free; younger ones move up."""
    region.columns_held -= 1
    for i in range(index, region.columns_held):
        region.columns[i] = region.columns[i + 1]


@native
def pop_hits(region: RegionState, column: int, most: int) -> int:
    """How many of ``most`` columns from ``column`` on the FIFO has, one behind another; they are given away."""
    n = 0
    while n < most and region.columns_held:
        index = index_of(region, column + n)
        if index < 0:
            break
        remove(region, index)
        n += 1
    return n


@inlined
def read_ahead(region: RegionState, column: int) -> None:
    """A read of the memory has ended before ``column``: what comes in during its CAS latency."""
    behind = column & region.column_mask
    if behind == 0:  # of the next row
        return
    end = column + min(region.columns_ahead, region.column_mask + 1 - behind)
    if region.columns_held:
        insert(region, column, end)
        return
    column = max(column, end - region.read_fifo)
    region.columns_held = end - column
    for i in range(end - column):
        region.columns[i] = column + i


@native
def insert(region: RegionState, column: int, end: int) -> None:
    """Columns from ``column`` to below ``end`` come in; those that are there stay where they are."""
    for c in range(column, end):
        if index_of(region, c) < 0:
            if region.columns_held == region.read_fifo:
                remove(region, 0)
            region.columns[region.columns_held] = c
            region.columns_held += 1

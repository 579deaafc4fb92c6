"""The read FIFO of an SDRAM controller (ST FMC with RBURST set): columns read ahead of those that are asked for.

A read that is not in it goes to the memory, and during the CAS latency the controller reads on: one column a clock, in
the same row, at most as many as the FIFO has lines. Each is kept with its address, the oldest is lost when there is no
line left for it. A read that finds all its columns there does without the memory; what it found is given away. A write,
a precharge and a refresh empty it (ST RM0385 13.7.3, SDRAM controller read cycle).

A column is as wide as the memory: the bytes of one that was read are not kept, so a byte next to it is read again.

Not modelled: the end of a burst that the FIFO had ahead, a second device behind the same controller.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.native.compile import State, inlined, native


@inlined
def flush(s: State, r: int) -> None:
    """What was read ahead is lost."""
    s[r + L.COLUMNS_HELD] = 0


@native
def place(s: State, r: int, column: int) -> int:
    """Where ``column`` is, or -1."""
    for i in range(s[r + L.COLUMNS_HELD]):
        if s[r + L.COLUMNS + i] == column:
            return i
    return -1


@native
def take(s: State, r: int, at: int) -> None:
    """The line ``at`` is free; younger ones move up."""
    s[r + L.COLUMNS_HELD] -= 1
    for i in range(at, s[r + L.COLUMNS_HELD]):
        s[r + L.COLUMNS + i] = s[r + L.COLUMNS + i + 1]


@native
def given(s: State, r: int, column: int, most: int) -> int:
    """How many of ``most`` columns from ``column`` on the FIFO has, one behind another; they are given away."""
    n = 0
    while n < most and s[r + L.COLUMNS_HELD]:
        at = place(s, r, column + n)
        if at < 0:
            break
        take(s, r, at)
        n += 1
    return n


@native
def read_ahead(s: State, r: int, column: int) -> None:
    """A read of the memory has ended before ``column``: what comes in during its CAS latency."""
    for c in range(column, column + s[r + L.AHEAD]):
        if c & s[r + L.COLUMN_MASK] == 0:  # of the next row
            return
        if place(s, r, c) < 0:
            if s[r + L.COLUMNS_HELD] == s[r + L.READ_FIFO]:
                take(s, r, 0)
            s[r + L.COLUMNS + s[r + L.COLUMNS_HELD]] = c
            s[r + L.COLUMNS_HELD] += 1

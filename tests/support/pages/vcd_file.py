"""Reads a VCD with wellen, the reader of the Surfer waveform viewer: another language, authors and code than pyvcd,
which writes ours. Times are picoseconds, values whole numbers, strings, or None for high impedance."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import pywellen

Changes = list[tuple[int, int | str | None]]


def read_vcd(path: Path) -> dict[str, Changes]:
    """The changes of every signal by its full name."""
    waves = pywellen.Waveform(str(path))
    scale = waves.timescale
    assert (scale.factor, str(scale)) == (1, "1ps")
    found = {variable.full_name: [(t, _value(v)) for t, v in variable.tv] for variable in waves.all_vars()}
    assert all(changes[0][0] == 0 for changes in found.values())
    return found


def _value(value: int | str) -> int | str | None:
    """Bits that are no number come as text."""
    return None if isinstance(value, str) and value and set(value) == {"z"} else value


def at(changes: Changes, time: int) -> int | str | None:
    """The value at ``time``."""
    return changes[bisect_right(changes, time, key=lambda change: change[0]) - 1][1]


def high(changes: Changes, end: int) -> list[tuple[int, int]]:
    """From when to when a signal of one bit is 1."""
    times = [time for time, _ in changes[1:]] + [end]
    return [(start, until) for (start, value), until in zip(changes, times, strict=True) if value == 1]


def cycles(picoseconds: int, clock: int) -> int:
    """The cycle that begins at a time; it must be within a hundredth of a cycle."""
    exact = picoseconds * clock / 10**12
    assert abs(exact - round(exact)) < 0.01
    return round(exact)

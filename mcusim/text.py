"""Numbers and plain-text columns as every table prints them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mcusim.units import unit_text

# what a figure is kept in, and the units that it is shown in: from which size on, and how many there are in one
_UNITS = {
    "ms": (("s", 1e4, 1e-3), ("ms", 1.0, 1.0), ("µs", 1e-3, 1e3), ("ns", 0.0, 1e6)),
    "mJ": (("J", 1e4, 1e-3), ("mJ", 1.0, 1.0), ("µJ", 1e-3, 1e3), ("nJ", 0.0, 1e6)),
    "mW": (("W", 1e4, 1e-3), ("mW", 1.0, 1.0), ("µW", 1e-3, 1e3), ("nW", 0.0, 1e6)),
    "mA": (("A", 1e4, 1e-3), ("mA", 1.0, 1.0), ("µA", 0.0, 1e3)),
}
KEPT_UNITS = tuple(_UNITS)
WIDTH = 80  # columns of what is printed
_NEARLY = 0.9995  # of one: 1.00 when rounded


@dataclass(frozen=True, slots=True)
class UnitScale:
    """A unit, and how many of it are one of what the figure is kept in."""

    unit: str
    factor: float

    def shown(self, value: float | None) -> str:
        """The number alone, :func:`rounded`."""
        return rounded(None if value is None else value * self.factor)

    def text(self, value: float | None) -> str:
        """Number and unit, a dash for None."""
        return "-" if value is None else f"{_digits(value * self.factor, ',')} {self.unit}"


def pick_unit(unit: str, values: Iterable[float | None]) -> UnitScale:
    """The unit in which all of ``values``, kept in ``unit`` (ms, mJ, mW or mA), are shown: the largest one in which the
    largest of them is not below one; seconds, joules and amperes from ten on. ``unit`` itself for none but zeros."""
    largest = max((abs(value) for value in values if value is not None), default=0.0)
    if not largest:
        return UnitScale(unit, 1.0)
    name, _, factor = next(entry for entry in _UNITS[unit] if largest >= _NEARLY * entry[1])
    return UnitScale(name, factor)


def quantity(value: float | None, unit: str) -> str:
    """A figure kept in ``unit`` with three significant digits or all those before the point, in a unit that suits:
    ``32.9 µs``, ``1,007 ms``; a dash for None."""
    return pick_unit(unit, [value]).text(value)


def size(bytes: int) -> str:
    """Bytes in the largest binary unit that keeps it at least one: ``218.4 KiB``, ``16 KiB``, ``12 B``."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if bytes >= factor:
            return f"{bytes / factor:.1f} {unit}".replace(".0 ", " ")
    return f"{bytes} B"


def size_of_room(bytes: int, room: int) -> str:
    """``"218.4 KiB of 320 KiB"``; in bytes where more than there is would read the same."""
    same = size(bytes) == size(room) and bytes > room
    return f"{bytes:,} of {room:,} B" if same else f"{size(bytes)} of {size(room)}"


def with_unit(value: object, base: str) -> str:
    """A value of an axis as a text: a number of ``base`` units in one that suits, ``default`` for None."""
    if value is None:
        return "default"
    if base == "B" and isinstance(value, int):
        return size(value)
    if isinstance(value, int | float) and not isinstance(value, bool):
        return unit_text(value, base) if base else f"{value:g}" if isinstance(value, float) else str(value)
    return str(value)


def kib(bytes: int | None) -> str:
    """Bytes as KiB without the unit, a dash for None."""
    return "-" if bytes is None else f"{bytes / 1024:.0f}"


def percent(value: float | None, short: bool = False) -> str:
    """A signed percentage with one decimal (``short``: none from 10 % on), a dash for None."""
    if value is None:
        return "-"
    return f"{value:+.0f}%" if short and abs(value) >= 9.95 else f"{value:+.1f}%"


def rounded(value: float | None) -> str:
    """Three significant digits or all those before the point, a dash for None: ``0.123``, ``1.23``, ``1007``."""
    return "-" if value is None else _digits(value)


def _digits(value: float, group: str = "") -> str:
    return f"{value:{group}.0f}" if value == 0 or abs(value) >= 99.95 else f"{value:.3g}"


def printable(text: str) -> str:
    """``text`` for a terminal: lines are kept, control characters and what else does not print are escaped."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode("ascii") for c in text)


def columns(rows: Sequence[Sequence[str]], left: int = 1, indent: int = 2) -> list[str]:
    """Rows of cells as aligned lines: the first ``left`` columns to the left, the others to the right."""
    if not rows:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [c.ljust(w) if i < left else c.rjust(w) for i, (c, w) in enumerate(zip(row, widths, strict=True))]
        lines.append((" " * indent + "  ".join(cells)).rstrip())
    return lines


def wrapped(text: str, width: int = WIDTH) -> list[str]:
    """Text as indented lines of at most ``width`` columns; words are kept whole."""
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


def counted(count: int, word: str) -> str:
    """``1 point``, ``2 points``."""
    return f"{count:,} {word}{'s' * (count != 1)}"


def cut(text: str, most: int) -> str:
    """``text`` in at most that many characters; the end of a longer one is dots."""
    return text if len(text) <= most else f"{text[: most - 3]}..."


def hanging_indent(text: str, first: str = "", others: str = "  ", width: int = WIDTH) -> list[str]:
    """Text as lines of at most ``width`` columns that begin with ``first`` and ``others``; words are kept whole."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others, break_long_words=False)

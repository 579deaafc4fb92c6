"""Numbers and plain-text columns as every table prints them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence

__all__ = ["changed", "columns", "hanging", "kib", "percent", "rounded", "size", "wrapped"]


def size(bytes: int) -> str:
    """Bytes in the largest binary unit that keeps it at least one: ``218.4 KiB``, ``16 KiB``, ``12 B``."""
    for unit, factor in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if bytes >= factor:
            return f"{bytes / factor:.1f} {unit}".replace(".0 ", " ")
    return f"{bytes} B"


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
    if value is None:
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:.0f}"
    return f"{value:.3g}"


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


def changed(changes: Mapping[str, str]) -> list[str]:
    """The machine keys that were set, as one line; no line when none was."""
    return [f"changed: {', '.join(f'{key} = {value}' for key, value in changes.items())}"] if changes else []


def wrapped(text: str, width: int = 80) -> list[str]:
    """Text as indented lines of at most ``width`` columns; words are kept whole."""
    return textwrap.wrap(text, width, initial_indent="  ", subsequent_indent="    ", break_long_words=False)


def hanging(text: str, first: str = "", others: str = "  ", width: int = 80) -> list[str]:
    """Text as lines of at most ``width`` columns that begin with ``first`` and ``others``; words are kept whole."""
    return textwrap.wrap(text, width, initial_indent=first, subsequent_indent=others, break_long_words=False)

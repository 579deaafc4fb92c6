"""What followed the clocks that a user set, as a folded table of a page."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.machine.description import Machine
from mcusim.report.html.page import plain, table

_HEAD = ("key", "before", "at this clock", "by", "basis", "source")


def moved_table(machine: Machine, named: bool = False) -> str:
    """Each key that moved, with the rule and what that rests on; empty where none did. ``named``: of which machine."""
    if not machine.moved:
        return ""
    where = f" of {plain(machine.name)}" if named else ""
    fields = ("key", "before", "after", "rule", "basis", "source")
    rows = [[plain(getattr(move, name)) for name in fields] for move in machine.moved]
    head = f"{len(rows)} keys{where} moved with the clock"
    return f"<details><summary>{head}</summary>{table(_HEAD, rows, left=len(_HEAD))}</details>"


def moved_tables(machines: Sequence[Machine]) -> list[str]:
    """Of each machine that has one, once."""
    return list(dict.fromkeys(text for machine in machines if (text := moved_table(machine, named=True))))

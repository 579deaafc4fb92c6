"""What was set of a machine, and what moved with it, as text."""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.machine.clock_tree import forced
from mcusim.machine.description import Machine
from mcusim.text import hanging
from mcusim.units import hertz

__all__ = ["change_lines", "change_texts"]


def change_texts(machine: Machine, moves: bool = True) -> list[str]:
    """The keys that the user set, with ``moves`` what followed a changed clock with the rule and its basis, and whether
    the core is faster than its part is specified for: a text each, for what there is."""
    keys = ", ".join(f"{key} = {value}" for key, value in machine.changes.items())
    limit = machine.core.max_clock
    found = [f"changed: {keys}"] if keys else []
    found += [f"moved with the clock: {', '.join(_moves(machine))}"] if moves and machine.moved else []
    if limit is not None and forced(machine):
        found.append(f"beyond the part: {hertz(machine.core.clock)}, where core.max_clock is {hertz(limit)}")
    return found


def _moves(machine: Machine) -> Iterator[str]:
    """Each, but for currents, which are counted."""
    clocked = [one for one in machine.moved if not one.key.startswith("power.")]
    for one in clocked:
        yield f"{one.key} {one.before} -> {one.after} ({one.rule}; {one.basis})"
    if currents := len(machine.moved) - len(clocked):
        yield f"{currents} current{'s' * (currents > 1)} of [power] (in --json)"


def change_lines(machine: Machine, indent: str = "  ") -> list[str]:
    """:func:`change_texts` as lines of at most 80 columns."""
    return [line for text in change_texts(machine) for line in hanging(text, indent, f"{indent}  ")]

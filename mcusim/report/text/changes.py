"""What was set of a machine, and what moved with it, as text."""

from __future__ import annotations

from mcusim.machine.clock_tree import forced
from mcusim.machine.description import ClockMove, Machine
from mcusim.text import hanging
from mcusim.units import hertz

__all__ = ["change_lines", "change_texts"]


def change_texts(machine: Machine, sources: bool = False) -> list[str]:
    """The keys that the user set, what followed a changed clock with the rule and its basis, and whether the core is
    faster than its part is specified for: a text each, for what there is. ``sources``: those of the rules too."""
    keys = ", ".join(f"{key} = {value}" for key, value in machine.changes.items())
    currents = [one for one in machine.moved if one.key.startswith("power.")]
    listed = [_move(one, sources) for one in machine.moved if sources or one not in currents]
    if currents and not sources:
        listed.append(f"{len(currents)} current{'s' * (len(currents) > 1)} of [power] (in --json)")
    moves = ", ".join(listed)
    limit = machine.core.max_clock
    found = [f"changed: {keys}"] if keys else []
    found += [f"moved with the clock: {moves}"] if moves else []
    if limit is not None and forced(machine):
        found.append(f"beyond the part: {hertz(machine.core.clock)}, where core.max_clock is {hertz(limit)}")
    return found


def _move(one: ClockMove, source: bool) -> str:
    rests_on = f"{one.basis}, {one.source}" if source else one.basis
    return f"{one.key} {one.before} -> {one.after} ({one.rule}; {rests_on})"


def change_lines(machine: Machine, indent: str = "  ") -> list[str]:
    """:func:`change_texts` as lines: the keys on one, the others of at most 80 columns."""
    found: list[str] = []
    for text in change_texts(machine):
        found += [indent + text] if text.startswith("changed:") else hanging(text, indent, f"{indent}  ")
    return found

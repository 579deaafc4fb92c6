"""What was set of a machine, and what moved with it, as text."""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.machine.clock_rules import forced
from mcusim.machine.description import Machine, Qspi, Sdram
from mcusim.text import hanging_indent
from mcusim.units import hertz


def change_texts(machine: Machine, moves: bool = True) -> list[str]:
    """A text each, for what there is: the keys that the user set; with ``moves`` what followed a changed clock with the
    rule and its basis; what did not, for want of a rule; and which clocks are beyond what the part is specified for."""
    keys = ", ".join(f"{key} = {value}" for key, value in machine.changes.items())
    result = [f"changed: {keys}"] if keys else []
    result += [f"moved with the clock: {', '.join(_moves(machine))}"] if moves and machine.moved else []
    stayed = ", ".join(machine.stayed)
    result += [f"stays at every clock, as the file has no rule for it: {stayed}"] if stayed else []
    result += [f"beyond the part: {text}" for text in _beyond(machine)]
    return result


def _beyond(machine: Machine) -> Iterator[str]:
    limit = machine.core.max_clock
    if limit is not None and forced(machine):
        yield f"{hertz(machine.core.clock)}, where core.max_clock is {hertz(limit)}"
    for name, device in ((region.name, region.device) for region in machine.memory.values()):
        if isinstance(device, Sdram | Qspi) and device.max_clock is not None and device.clock > device.max_clock:
            key = f"memory.{name}"
            yield f"{key}.clock {hertz(device.clock)}, where {key}.max_clock is {hertz(device.max_clock)}"


def _moves(machine: Machine) -> Iterator[str]:
    """Each, but for currents, which are counted."""
    clocked = [clock_move for clock_move in machine.moved if not clock_move.key.startswith("power.")]
    for move in clocked:
        yield f"{move.key} {move.before} -> {move.after} ({move.rule}; {move.basis})"
    if currents := len(machine.moved) - len(clocked):
        yield f"{currents} current{'s' * (currents > 1)} of [power] (in --json)"


def change_lines(machine: Machine, indent: str = "  ") -> list[str]:
    """:func:`change_texts` as lines of at most 80 columns."""
    return [line for text in change_texts(machine) for line in hanging_indent(text, indent, f"{indent}  ")]

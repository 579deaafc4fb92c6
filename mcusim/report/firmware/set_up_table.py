"""What a firmware set up by registers, next to what the machine has, as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from mcusim.emulator.register_config import SetUpRow
from mcusim.results.emulation import EmulationResult, FirmwareSetUp, place
from mcusim.text import columns, hanging_indent, wrapped


def used(row: SetUpRow, set_up: FirmwareSetUp) -> Literal["machine", "firmware", "followed", "nothing"]:
    """Whose value the run has."""
    if row.effect != "figure":
        return "followed" if row.effect == "followed" else "nothing"
    return "firmware" if row.key in set_up.taken else "machine"


def set_up_lines(result: EmulationResult) -> list[str]:
    """Empty where the program set nothing up."""
    set_up = result.set_up
    if not any(row.pc for row in set_up.rows):
        return []
    text = ["", "Set up by the firmware"]
    differing = [row for row in set_up.rows if row.effect == "figure" and row.differs]
    if differing:
        text += _table(differing, result)
    same = [f"{row.key} {row.value}" for row in set_up.rows if row.effect == "figure" and _agrees(row)]
    text += _list("as the machine has it", same)
    text += [line for row in set_up.rows if row.value == "unknown" for line in wrapped(f"{row.key}: {row.note}")]
    text += _list("followed as it runs", [_plain(row) for row in set_up.rows if row.effect == "followed"])
    text += _list("not modelled", [f"{row.key} {row.value}" for row in set_up.rows if row.effect == "none"])
    return [*text, *(line for remark in _remarks(result, differing) for line in wrapped(remark))]


def _agrees(row: SetUpRow) -> bool:
    return not row.differs and row.value != "unknown"


def _plain(row: SetUpRow) -> str:
    return f"{row.key} {row.value}" + (f" ({row.note})" if row.note else "")


def _list(title: str, texts: list[str]) -> list[str]:
    return hanging_indent(f"{title}: {', '.join(texts)}", "  ", "    ") if texts else []


def _table(rows: list[SetUpRow], result: EmulationResult) -> list[str]:
    """A column of cycles where a run was made for each figure; one of whose the run has where that differs."""
    set_up = result.set_up
    whose: list[str] = [used(row, set_up) for row in rows]
    costs = [set_up.costs.get(row.key) for row in rows]
    wanted: dict[str, list[str]] = {
        "figure": [row.key for row in rows],
        "firmware": [row.value for row in rows],
        "machine": [row.machine or "-" for row in rows],
        "cycles": ["-" if cost is None else f"{int(cost):+,}" for cost in costs] if set_up.costs else [],
        "run has": whose if len(set(whose)) > 1 else [],
        "register": [row.register for row in rows],
        "place": [_where(row, result) for row in rows],
    }
    shown = [[name, *texts] for name, texts in wanted.items() if texts]
    return columns([[column[i] for column in shown] for i in range(1 + len(rows))])


def _where(row: SetUpRow, result: EmulationResult) -> str:
    if row.pc is None:
        return "after reset"
    line = result.image.line_at(row.pc)
    return f"{line[0].rpartition('/')[2]}:{line[1]}" if line else place(result.image, row.pc)


def _remarks(result: EmulationResult, differing: list[SetUpRow]) -> Iterator[str]:
    set_up = result.set_up
    for key, why in set_up.refused.items():
        yield f"not taken from the firmware: {key}: {why}"
    mine = [row.key for row in differing if row.key in result.machine.changes and row.key not in set_up.taken]
    if mine:
        yield f"--set goes before the firmware's: {', '.join(mine)}"
    if not set_up.taken and any(row.settable and row.key not in mine for row in differing) and not set_up.refused:
        yield "The run has the machine's figures; --machine-from-firmware takes the firmware's"
    if differing and all(used(row, set_up) == "firmware" for row in differing):
        yield "The run has the firmware's figures"

"""Parts and boards of ST that do not ship: the shipped board that is nearest, what differs, and how to come close.

Not modelled: what else differs, so peripherals, a second core, caches, flash accelerators, memories by their regions.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import log2
from typing import Any

_PART = re.compile(r"(?:stm32)?([fghl][47][0-9a-s][0-9])([a-z]?)([468bcdefghi]?)", re.IGNORECASE)


@dataclass(frozen=True)
class McuPart:
    """A line of parts, or a part, by ``name``: its ``core``, highest core clock in MHz, data ``ram`` and ``flash`` in
    KiB."""

    name: str
    core: str
    mhz: int
    ram: int
    flash: int

    @property
    def line(self) -> str:
        """``F746`` of ``STM32F746NG``."""
        return self.name[5:9]

    def __str__(self) -> str:
        ram, flash = _shown(self.ram, "KiB"), _shown(self.flash, "KiB")
        return f"{self.core} of {self.mhz} MHz, {ram} of data RAM, {flash} of flash"


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads((files("mcusim") / "machine" / "other_parts.toml").read_text("utf-8"))


def find_part(text: str) -> McuPart | None:
    """The part that ``text`` names, or whose board it does: ``h753``, ``STM32H753ZI``, ``nucleo-f446re``,
    ``portenta-h7``; None for none that is known."""
    plain = text[:80].strip().lower().replace("_", "-").replace(" ", "-")
    match = _PART.search(_table()["others"].get(plain, plain))
    if match is None or (line := _table()["lines"].get(match[1].upper())) is None:
        return None
    core, mhz, ram, most = line
    flash = _table()["flash"].get(match[3].upper(), most) if match[2] else most
    return McuPart(f"STM32{match[0].upper().removeprefix('STM32')}", core, mhz, ram, min(flash, most))


def board_part(board: str) -> McuPart:
    """The part of a shipped board."""
    part = find_part(_table()["boards"][board])
    assert part is not None  # a test sees to that
    return part


def nearest_board(part: McuPart) -> str:
    """The shipped board of the same core, and of the same series where there is one, whose clock, RAM and flash are
    nearest, as ratios."""
    boards: dict[str, McuPart] = {name: board_part(name) for name in _table()["boards"]}
    same = {name: other for name, other in boards.items() if other.core == part.core}
    series = {name: other for name, other in same.items() if other.name[5:7] == part.name[5:7]}
    return min(series or same, key=lambda name: _distance(part, boards[name]))


def _distance(part: McuPart, other: McuPart) -> float:
    pairs = ((part.mhz, other.mhz), (part.ram, other.ram), (part.flash, other.flash))
    return sum(abs(log2(a / b)) for a, b in pairs)


def differences(part: McuPart, board: str) -> str:
    """What differs on ``board``, in words."""
    other = board_part(board)
    texts = [
        f"{name} {_shown(theirs, unit)} instead of {_shown(own, unit)}"
        for name, own, theirs, unit in (
            ("clock", part.mhz, other.mhz, "MHz"),
            ("data RAM", part.ram, other.ram, "KiB"),
            ("flash", part.flash, other.flash, "KiB"),
        )
        if own != theirs
    ]
    return ", ".join(texts) or "the same core, highest clock, data RAM and flash"


def _shown(value: int, unit: str) -> str:
    return f"{value // 1024} MiB" if unit == "KiB" and value >= 1024 and value % 1024 == 0 else f"{value} {unit}"


def near_options(part: McuPart, board: str) -> str:
    """Options of ``mcusim run`` that make ``board`` as near to ``part`` as options can."""
    other, words = board_part(board), [f"--machine {board}"]
    if part.mhz != other.mhz:
        words.append(f'--clock "{part.mhz} MHz"' + " --force-clock" * (part.mhz > other.mhz))
    if part.ram < other.ram:
        words.append(f'--sram-budget "{part.ram} KiB"')
    if part.flash != other.flash:
        words.append(f'--set memory.flash.size="{part.flash} KiB"')
    return " ".join(words)

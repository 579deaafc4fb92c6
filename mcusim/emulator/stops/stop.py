"""How a run ended, what went wrong, and resets from which it went on; plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

StopKind = Literal[
    "horizon", "limit", "returned", "main", "reached", "exit", "idle", "loop", "reset", "fault", "interrupted"
]


@dataclass(frozen=True)
class Fault:
    """``kind`` is a short name, ``text`` one sentence; addresses without the Thumb bit; ``branches`` newest last."""

    kind: str
    text: str
    pc: int
    address: int | None
    registers: Mapping[str, int]
    branches: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Stop:
    """How a run ended: ``main`` returned, an address was ``reached``, ``interrupted`` by a person, and so on.

    ``status``: the program's exit status; 0 unless it gave another.
    """

    kind: StopKind
    status: int = 0
    fault: Fault | None = field(default=None)


@dataclass(frozen=True, slots=True)
class PerformedReset:
    """``cause``: software, IWDG, WWDG, option bytes; at core cycle ``cycle``, of or during the instruction ``pc``."""

    cause: str
    cycle: int
    pc: int

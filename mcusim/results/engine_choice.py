"""Inference engines side by side on boards: what a model takes with each, and which is the fastest and the smallest.

Not modelled: what an engine's own tools change in the model before they run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.results.measurement.interval import RatioInterval
from mcusim.results.result import Result

Range = tuple[float, float]
Bytes = tuple[int, int]


@dataclass(frozen=True)
class EngineRow:
    """An engine on a board.

    ``whose`` kernels, ``kernels`` as mcusim names what stands for them and ``title`` what that is. ``basis``:
    ``emulated`` (a compiled set), ``replayed`` (a cost profile of compiled code), ``fitted`` (cycles by family of
    kernels) or ``estimate`` (from published figures of other networks). ``latency_ms`` is None where the engine does
    not run the model, for a ``reason``. ``interval_ms``: low and high; ``ram`` and ``flash``: peak of on-chip RAM and
    all that flash keeps, least and most, in bytes. ``over_fastest``: the latency over the fastest engine's; ``result``
    is the run, None of an estimate. ``among_versions``: of an estimate, half of the interval of ln(its latency over
    that of another version).
    """

    name: str
    whose: str
    runtime: str
    kernels: str
    title: str
    basis: str
    latency_ms: float | None = None
    interval_ms: Range | None = None
    ram: Bytes | None = None
    flash: Bytes | None = None
    reason: str = ""
    over_fastest: RatioInterval | None = None
    among_versions: float | None = field(default=None, repr=False, compare=False)
    result: Result | None = field(default=None, repr=False, compare=False)

    @property
    def runs(self) -> bool:
        return self.latency_ms is not None

    def to_json(self) -> dict[str, Any]:
        """``engine whose runtime kernels title basis runs latency_ms interval_ms ram_bytes flash_bytes`` (least and
        most of the last three) ``reason over_fastest`` (``simulated low high level``); null for what an engine that
        does not run the model has not."""
        return {
            "engine": self.name,
            "whose": self.whose,
            "runtime": self.runtime,
            "kernels": self.kernels,
            "title": self.title,
            "basis": self.basis,
            "runs": self.runs,
            "latency_ms": self.latency_ms,
            "interval_ms": self.interval_ms and list(self.interval_ms),
            "ram_bytes": self.ram and list(self.ram),
            "flash_bytes": self.flash and list(self.flash),
            "reason": self.reason,
            "over_fastest": None if self.over_fastest is None else asdict(self.over_fastest),
        }


@dataclass(frozen=True)
class BoardEngines:
    """The engines on one board, as listed."""

    machine: str
    rows: tuple[EngineRow, ...]

    @property
    def running(self) -> list[EngineRow]:
        """Those that run the model, the fastest first."""
        return sorted((row for row in self.rows if row.runs), key=lambda row: row.latency_ms or 0.0)

    @property
    def as_fast(self) -> list[EngineRow]:
        """Engines whose ratio's interval to the fastest reaches below 1: they may be as fast."""
        return [row for row in self.running[1:] if row.over_fastest is not None and row.over_fastest.low < 1]

    @property
    def smallest(self) -> list[EngineRow]:
        """Those with the least peak in on-chip RAM, of engines that have one figure of it."""
        known = [row for row in self.running if row.ram is not None and row.ram[0] == row.ram[1]]
        least = min((row.ram for row in known if row.ram), default=None)
        return [row for row in known if row.ram == least]


@dataclass(frozen=True)
class EngineChoice(Displayed, SavedAsJson, SavedAsPage):
    """A ``model`` with each engine on each board."""

    model: str
    boards: tuple[BoardEngines, ...]

    @property
    def runs(self) -> bool:
        """Whether any engine runs the model on any of the boards."""
        return any(board.running for board in self.boards)

    def to_json(self) -> dict[str, Any]:
        """``model`` and, for each of ``boards``, ``machine fastest as_fast smallest engines``: names of engines, and
        each engine as :meth:`EngineRow.to_json` has it."""
        return {"model": self.model, "boards": [_board_json(board) for board in self.boards]}

    def _line(self) -> str:
        return f"{self.model}: {len(self.boards)} boards, {len(self.boards[0].rows) if self.boards else 0} engines"


def _board_json(board: BoardEngines) -> dict[str, Any]:
    return {
        "machine": board.machine,
        "fastest": board.running[0].name if board.running else None,
        "as_fast": _names(board.as_fast),
        "smallest": _names(board.smallest),
        "engines": [row.to_json() for row in board.rows],
    }


def _names(rows: Sequence[EngineRow]) -> list[str]:
    return [row.name for row in rows]

"""Inference engines side by side on boards: what a model takes with each, and which is the fastest and the smallest.

Not modelled: what an engine's own tools change in the model before they run it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.results.measurement.interval import RatioInterval
from mcusim.results.result import Result, sram_bytes


@dataclass(frozen=True)
class EngineRow:
    """An engine on a board.

    ``whose`` kernels, ``kernels`` as mcusim names what stands for them and ``title`` what that is. ``basis``:
    ``emulated`` (a compiled set), ``replayed`` (a cost profile of compiled code) or ``fitted`` (cycles by family of
    kernels). ``result`` is None, or without a run, where the engine does not run the model, for a ``reason``.
    ``over_fastest`` is its latency over the fastest engine's.
    """

    name: str
    whose: str
    runtime: str
    kernels: str
    title: str
    basis: str
    result: Result | None = field(default=None, repr=False)
    reason: str = ""
    over_fastest: RatioInterval | None = None

    @property
    def runs(self) -> bool:
        return self.result is not None and self.result.run is not None

    @property
    def latency_ms(self) -> float:
        """Milliseconds, of an engine that runs the model."""
        assert self.result is not None and self.result.energy is not None
        return self.result.energy.latency_ms

    @property
    def ram_bytes(self) -> int | None:
        """Peak in on-chip RAM."""
        return None if self.result is None else sram_bytes(self.result)

    @property
    def flash_bytes(self) -> int | None:
        """All that flash keeps."""
        return None if self.result is None or self.result.flash is None else self.result.flash.total

    def to_json(self) -> dict[str, Any]:
        """``engine whose runtime kernels title basis runs latency_ms interval_ms`` (low and high) ``ram_bytes
        flash_bytes reason over_fastest`` (``value low high``); null for what an engine that does not run the model has
        not."""
        interval = None if self.result is None else self.result.interval
        return {
            "engine": self.name,
            "whose": self.whose,
            "runtime": self.runtime,
            "kernels": self.kernels,
            "title": self.title,
            "basis": self.basis,
            "runs": self.runs,
            "latency_ms": self.latency_ms if self.runs else None,
            "interval_ms": None if interval is None else list(interval.latency_ms),
            "ram_bytes": self.ram_bytes if self.runs else None,
            "flash_bytes": self.flash_bytes if self.runs else None,
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
        return sorted((row for row in self.rows if row.runs), key=lambda row: row.latency_ms)

    @property
    def as_fast(self) -> list[EngineRow]:
        """Engines whose ratio's interval to the fastest reaches below 1: they may be as fast."""
        return [row for row in self.running[1:] if row.over_fastest is not None and row.over_fastest.low < 1]

    @property
    def smallest(self) -> list[EngineRow]:
        """Those with the least peak in on-chip RAM."""
        least = min((row.ram_bytes or 0 for row in self.running), default=0)
        return [row for row in self.running if row.ram_bytes == least]


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

"""A model, and the flash that it needs on boards, as data."""

from __future__ import annotations

from dataclasses import dataclass

from mcusim.display import Displayed, SavedAsJson
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.results.flash import FlashUse


@dataclass(frozen=True)
class ModelInspection(Displayed, SavedAsJson):
    """``graph``, and what the flash of each of ``boards`` keeps with the code of ``kernels``."""

    graph: Graph
    kernels: str
    boards: tuple[tuple[Machine, FlashUse], ...]

    def _line(self) -> str:
        return f"{self.graph.name[:60]}: {len(self.graph.operators)} operators, flash of {len(self.boards)} boards"

"""A model, and the flash that it needs on boards, as data."""

from __future__ import annotations

from dataclasses import dataclass

from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.results.flash import FlashUse

__all__ = ["ModelInspection"]


@dataclass(frozen=True)
class ModelInspection:
    """``graph``, and what the flash of each of ``boards`` keeps with the code of ``kernels``."""

    graph: Graph
    kernels: str
    boards: tuple[tuple[Machine, FlashUse], ...]

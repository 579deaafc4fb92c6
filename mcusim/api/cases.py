"""A row of a comparison before it is simulated."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.run_config.settings import Settings

BOARDS = ("stm32f469i-disco", "stm32f746g-disco")


@dataclass(frozen=True, slots=True)
class Case:
    """One row to simulate."""

    model: str | Path | Graph
    machine: str | Path | Machine
    settings: Settings
    step: str = ""  # of an ablation

"""What it costs to move buffers together, as data for the tables and JSON files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from mcusim.plan.allocators import Move
from mcusim.results.energy import Energy

if TYPE_CHECKING:
    from mcusim.engine.run import Traffic
    from mcusim.machine.description import Machine

__all__ = ["COPIES", "Copy", "Defragmentation"]

Copy = Literal["words", "bytes"]
COPIES: tuple[Copy, ...] = get_args(Copy)


@dataclass(frozen=True)
class Defragmentation:
    """``moves`` of buffers on ``machine``, whose offset 0 was address ``base``, in the memory named ``memory``.

    ``cycles_by_move`` is in the order of the moves; ``by_cause`` (``compute flash sram sdram qspi``) sums to
    ``cycles`` as they do. ``traffic``: bytes that crossed each region's own pins, the code's included.
    """

    machine: Machine = field(repr=False)
    copy: Copy
    base: int
    memory: str
    moves: tuple[Move, ...] = field(repr=False)
    cycles_by_move: tuple[int, ...] = field(repr=False)
    by_cause: Mapping[str, int]
    traffic: Mapping[str, Traffic]
    energy: Energy
    assumptions: tuple[str, ...] = field(default=(), repr=False)

    @property
    def cycles(self) -> int:
        """Core cycles of all moves together."""
        return sum(self.cycles_by_move)

    @property
    def bytes(self) -> int:
        """Bytes moved, padding left out."""
        return sum(move.bytes for move in self.moves)

    @property
    def seconds(self) -> float:
        """Time at the core's clock."""
        return self.cycles / self.machine.core.clock

    @property
    def energy_mj(self) -> float:
        """Energy that the supply delivers meanwhile, in mJ."""
        return self.energy.energy_mj

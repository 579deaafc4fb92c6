"""How long networks take: replayed whole, or as sums of their parts, each of which is replayed once on the board.

A search asks for thousands of networks that are made of a hundred parts; what it returns is replayed whole. What caches
keep from part to part is in the sums on average alone. Not modelled: options of a plan other than its runtime.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from mcusim.api.simulate import simulate
from mcusim.errors import UsageError
from mcusim.nas_search.network_figures import network_graph, network_parts
from mcusim.nas_search.segments import space_parts
from mcusim.nas_search.space import NasNetwork, drawn

if TYPE_CHECKING:
    from mcusim.machine.description import Machine
    from mcusim.model.graph import Graph
    from mcusim.nas_search.space import NasSpace
    from mcusim.results import Result
    from mcusim.sweeps.ordered_work import OrderedWork

R = TypeVar("R")
Step = Callable[[object], object] | None
Array = np.ndarray[Any, np.dtype[np.int64]]
WHOLE = 12  # networks that are replayed whole, of which not all may fit
NEVER = 1 << 40  # cycles of a part that does not fit the board


class ReplayedNetwork(BaseModel):
    """A whole replay: its cycles and milliseconds, and where nine measurements of ten are expected; all None where the
    network does not fit the board."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

    cycles: int | None = Field(default=None, ge=1)
    latency_ms: float | None = Field(default=None, gt=0)
    low_ms: float | None = Field(default=None, gt=0)
    high_ms: float | None = Field(default=None, gt=0)
    energy_mj: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _whole(self) -> ReplayedNetwork:
        if (self.cycles is None) != (self.latency_ms is None):
            raise ValueError("cycles and latency_ms are both there, or neither is")
        return self

    def within(self, most_ms: float, certain: bool = False) -> bool:
        """Whether it runs and takes at most ``most_ms``; ``certain``: at the upper end of where it is expected."""
        took = self.high_ms if certain else self.latency_ms
        return took is not None and took <= most_ms

    @property
    def range_text(self) -> str:
        """Where a measurement is expected, for tables."""
        return "-" if self.low_ms is None or self.high_ms is None else f"{self.low_ms:,.0f} to {self.high_ms:,.0f}"


@dataclass(frozen=True)
class ReplayBoard:
    """What networks are replayed on: a board under a runtime."""

    machine: Machine
    runtime: str
    in_place: bool = True

    def result(self, graph: Graph) -> Result:
        """Of a graph."""
        return simulate(graph, self.machine, runtime=self.runtime, in_place=None if self.in_place else False)

    def replayed(self, network: NasNetwork) -> ReplayedNetwork:
        """A whole network."""
        result = self.result(network_graph(network))
        if result.run is None or result.energy is None:
            return ReplayedNetwork()
        low, high = (None, None) if result.interval is None else result.interval.latency_ms
        return ReplayedNetwork(
            cycles=result.run.cycles, latency_ms=result.energy.latency_ms, low_ms=low, high_ms=high,
            energy_mj=result.energy.energy_mj,
        )  # fmt: skip

    def milliseconds(self, cycles: int) -> float:
        """Of the core's cycles."""
        return cycles / self.machine.core.clock * 1000


def _part_cycles(job: tuple[ReplayBoard, Graph]) -> int:
    """Of a part alone."""
    board, graph = job
    run = board.result(graph).run
    return NEVER if run is None else run.cycles


@dataclass(frozen=True)
class PartCycles:
    """Cycles of each part of a space, in the order of its rows, each from a cold start; ``joint`` is what a part takes
    more (or less) where it follows another, and ``high`` the upper end of the interval as times the latency, both on
    average of some whole networks."""

    parts: Array
    joint: int = 0
    clock: int = 10**9  # Hz of the core
    high: float = 1.0

    def within(self, cycles: int | None) -> str:
        """A limit, for errors."""
        return "" if cycles is None else f" within {cycles / self.clock * 1000:,.4g} ms"

    @classmethod
    def replayed(cls, space: NasSpace, board: ReplayBoard, work: OrderedWork, step: Step = None) -> PartCycles:
        """Each part replayed alone, then some networks whole. Raises UsageError for a board that cannot be replayed
        on."""
        part_cycles = _stepped(work.map(_part_cycles, [(board, part) for part in space_parts(space)]), step)
        if all(cycles == NEVER for cycles in part_cycles):
            raise UsageError(f"{space}: no part of its networks fits {board.machine.name}")
        alone = cls(np.array(part_cycles, np.int64), clock=board.machine.core.clock)
        choices = drawn(WHOLE, np.random.default_rng(0))
        wholes = replay_all(board, [NasNetwork.of(space, row) for row in choices], work, step)
        joints = network_parts(choices)[1] - 1
        more = [
            (own.cycles - int(sums)) / int(count)
            for own, sums, count in zip(wholes, alone.cycles(choices), joints, strict=True)
            if own.cycles is not None
        ]
        ends = [
            own.high_ms / own.latency_ms for own in wholes if own.high_ms is not None and own.latency_ms is not None
        ]
        joint = round(float(np.median(more))) if more else 0
        return replace(alone, joint=joint, high=float(np.median(ends)) if ends else 1.0)

    def cycles(self, choices: Array) -> Array:
        """Of networks, rows of :func:`mcusim.nas_search.space.drawn`."""
        ids, counts = network_parts(choices)
        ends = np.cumsum(counts)
        sums = np.concatenate([[0], np.cumsum(self.parts[ids])])
        cycles: Array = sums[ends] - sums[ends - counts] + (counts - 1) * self.joint
        return cycles


def replay_all(
    board: ReplayBoard, networks: Sequence[NasNetwork], work: OrderedWork, step: Step = None
) -> list[ReplayedNetwork]:
    """Whole networks, in their order."""
    return _stepped(work.map(_replayed, [(board, network) for network in networks]), step)


def _replayed(job: tuple[ReplayBoard, NasNetwork]) -> ReplayedNetwork:
    board, network = job
    return board.replayed(network)


def _stepped(results: Iterable[R], step: Step) -> list[R]:
    """All of them; ``step`` is called with each."""
    passed = []
    for result in results:
        passed.append(result)
        if step is not None:
            step(result)
    return passed

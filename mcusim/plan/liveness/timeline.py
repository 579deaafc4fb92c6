"""The timeline of RAM: everything that needs it while a network runs in one order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from mcusim.display import Displayed
from mcusim.model.graph import Graph
from mcusim.plan.allocators.greedy import ArenaBlock, live_bytes
from mcusim.plan.liveness.accounting import Accounting, weights_bytes
from mcusim.plan.liveness.lifetimes import lifetimes


@dataclass(frozen=True, slots=True)
class Resident:
    """``bytes`` that are in use from step ``first`` to step ``last``, both inclusive.

    ``tensors``: the activations that lie in them, in the order in which they are made (more than one when they are
    computed in place); none for ``weights``, which are those of ``operator``, or of all operators when that is None.
    """

    name: str
    kind: Literal["activation", "weights"]
    bytes: int
    first: int
    last: int
    tensors: tuple[int, ...] = ()
    operator: int | None = None


@dataclass(frozen=True)
class Timeline(Displayed):
    """``order`` lists operator indices by step; ``residents`` are activations by tensor index, then weights."""

    order: tuple[int, ...]
    residents: tuple[Resident, ...]

    @cached_property
    def blocks(self) -> tuple[ArenaBlock, ...]:
        """The residents as buffers to place."""
        return tuple(ArenaBlock(r.bytes, r.first, r.last) for r in self.residents)

    @cached_property
    def usage(self) -> tuple[int, ...]:
        """Bytes in use at each step, without alignment or fragmentation."""
        live = live_bytes(self.blocks)
        return tuple((live + [0] * len(self.order))[: len(self.order)])

    @property
    def peak(self) -> int:
        """Largest of :attr:`usage`; 0 without operators."""
        return max(self.usage, default=0)

    @property
    def bottleneck(self) -> int | None:
        """The first step that needs :attr:`peak` bytes; None without operators."""
        return self.usage.index(self.peak) if self.usage else None

    def alive(self, step: int) -> tuple[int, ...]:
        """Indices of the residents in use at ``step``."""
        return tuple(i for i, r in enumerate(self.residents) if r.first <= step <= r.last)


def timeline(graph: Graph, order: Sequence[int] | None = None, accounting: Accounting | None = None) -> Timeline:
    """Everything that ``graph`` needs RAM for when its operators run in ``order`` (default: as stored).

    Raises UsageError for an order that does not work. Not modelled: kernels' scratch buffers, what an interpreter keeps
    for itself, and that a streamed filter could be fetched in parts.
    """
    counted = accounting or Accounting()
    steps = tuple(range(len(graph.operators)) if order is None else order)
    residents = []
    for life in lifetimes(graph, order, counted.in_place):
        name = graph.tensors[life.tensor].name
        residents.append(Resident(name, "activation", life.bytes, life.first, life.last, (life.tensor, *life.shared)))
    if counted.weights == "streamed":
        for step, index in enumerate(steps):
            size = weights_bytes(graph, graph.operators[index])
            if size:
                residents.append(Resident(f"weights of operator {index}", "weights", size, step, step, operator=index))
    elif counted.weights == "resident" and steps and weights_bytes(graph):
        residents.append(Resident("weights", "weights", weights_bytes(graph), 0, len(steps) - 1))
    return Timeline(steps, tuple(residents))

"""What stays in on-chip RAM under ``tinyops`` besides its buffers: the kernels' call structures, then activations, the
smallest first, as many as fit at once.

What reads such an activation reads it there, without a copy. Not modelled: a choice by how often a tensor is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from mcusim.errors import UsageError
from mcusim.model.graph import Graph
from mcusim.plan.allocators.greedy import Arena, ArenaBlock, align_up, greedy_by_size
from mcusim.plan.arena import ALIGN, arena_of
from mcusim.plan.liveness.lifetimes import Lifetime
from mcusim.plan.options import PlanOptions
from mcusim.plan.placement import MemoryNeeds, Placement
from mcusim.plan.pools import Layout, Pool, span_at
from mcusim.program.program import Buffer


@dataclass(frozen=True)
class OnChip:
    """``nodes``: bytes of all call structures, 0 where they stay in external memory; ``lives`` of activations, with
    their offsets in an ``arena`` of their own."""

    nodes: int
    lives: tuple[Lifetime, ...]
    arena: Arena

    @property
    def bytes(self) -> int:
        """All of it."""
        return align_up(self.nodes, ALIGN) + self.arena.bytes

    @property
    def tensors(self) -> frozenset[int]:
        """Activations that stay."""
        return frozenset(t for life in self.lives for t in (life.tensor, *life.shared))

    def rest_of(self, pool: Pool) -> Pool:
        """What is left of ``pool``."""
        return replace(pool, size=max(pool.size - self.bytes, 0))

    def others(self, graph: Graph, need: MemoryNeeds, options: PlanOptions) -> MemoryNeeds:
        """``need`` without the activations that stay."""
        if not self.lives:
            return need
        lives = tuple(life for life in need.lives if life not in self.lives)
        alone = arena_of(graph, lives, (), need.allocator, options.seconds)
        return replace(need, lives=lives, activations=alone, together=alone)

    def place(self, graph: Graph, need: MemoryNeeds, layout: Layout, pool: Pool, placed: Placement) -> None:
        """Put it into ``pool``. Raises DoesNotFit."""
        if not self.bytes:
            return
        base = layout.allocate(pool, self.bytes, ALIGN, "what stays on chip", {"on chip": self.bytes})
        if self.nodes:
            self._place_nodes(need, base, placed)
            base += align_up(self.nodes, ALIGN)
        for life, offset in zip(self.lives, self.arena.offsets, strict=True):
            for tensor in (life.tensor, *life.shared):
                span = span_at(placed.machine, base + offset, graph.tensors[tensor].bytes)
                placed.tensors[tensor] = span
                placed.buffers.append(Buffer(f"tensor{tensor}", "activation", span, life.first, life.last))

    def _place_nodes(self, need: MemoryNeeds, address: int, placed: Placement) -> None:
        homes = {}
        for step, size in enumerate(need.nodes):
            homes[f"node{step}"] = span_at(placed.machine, address, size)
            address += size
        placed.buffers[:] = [replace(b, span=homes.get(b.name, b.span)) for b in placed.buffers]


def within(pool: Pool, size: int) -> int:
    """``size``. Raises UsageError where it is more than ``pool``."""
    if size > pool.size:
        raise UsageError(f"--on-chip {size:,} B is more than there is in {pool.name}: {pool.size:,} B")
    return size


def choose_on_chip(need: MemoryNeeds, size: int) -> OnChip:
    """What stays within ``size`` bytes: call structures where all of them fit, then all activations up to the largest
    size of one with which they fit at once."""
    nodes = sum(need.nodes) if align_up(sum(need.nodes), ALIGN) <= size else 0
    chosen, room = OnChip(nodes, (), Arena((), 0)), size - align_up(nodes, ALIGN)
    for limit in sorted({life.bytes for life in need.lives if life.bytes <= room}):
        lives = tuple(life for life in need.lives if life.bytes <= limit)
        arena = _arena(lives)
        if arena.bytes > room:
            break
        chosen = OnChip(nodes, lives, arena)
    return chosen


def _arena(lives: Sequence[Lifetime]) -> Arena:
    return greedy_by_size([ArenaBlock(life.bytes, life.first, life.last) for life in lives], ALIGN)

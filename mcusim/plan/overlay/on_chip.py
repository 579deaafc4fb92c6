"""What stays in on-chip RAM under ``tinyops`` besides its buffers: tensors that are named, the interpreter's data; or
the kernels' call structures, then activations, the smallest first, as many as fit at once.

What reads them reads them there, without a copy. Not modelled: a choice by how often a tensor is read
(:mod:`mcusim.advisor` makes one and names them).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph, Operator
from mcusim.plan.allocators.greedy import Arena, ArenaBlock, align_up, greedy_by_size, plan_arena
from mcusim.plan.arena import ALIGN, arena_of
from mcusim.plan.liveness.lifetimes import Lifetime
from mcusim.plan.named_homes import NamedHomes, named_homes
from mcusim.plan.operand_roles import tensor_roles
from mcusim.plan.options import PERSISTENT, TENSOR_REGIONS, Option, PlanOptions, size
from mcusim.plan.placement import MemoryNeeds, Placement, place
from mcusim.plan.pools import Layout, Pool, data_region, span_at
from mcusim.plan.ram_pools import RamPools
from mcusim.plan.static_array import FIRST_FIT, ArrayBlock, Phase, first_fit
from mcusim.program.program import Buffer

ON_CHIP = size(
    "on_chip",
    help="With {takers}: on-chip RAM kept for the kernels' call structures, then the smallest activations, which are"
    " not copied.",
)
_EMPTY = Arena((), 0)


@dataclass(frozen=True)
class OnChip:
    """``nodes``: bytes of all call structures, 0 where they are with the interpreter's data; ``lives`` of activations,
    with their offsets in an ``arena`` of their own in ``pool``; ``others``: bytes that the pool has besides."""

    pool: Pool
    nodes: int = 0
    lives: tuple[Lifetime, ...] = ()
    arena: Arena = _EMPTY
    others: int = 0

    @property
    def bytes(self) -> int:
        """Call structures and activations."""
        return align_up(self.nodes, ALIGN) + self.arena.bytes

    def put(self, graph: Graph, need: MemoryNeeds, layout: Layout, placed: Placement) -> None:
        """Into the pool. Raises DoesNotFit."""
        if not self.bytes:
            return
        base = layout.allocate(self.pool, self.bytes, ALIGN, "what stays on chip", {"on chip": self.bytes})
        if self.nodes:
            self._put_nodes(need, base, placed)
            base += align_up(self.nodes, ALIGN)
        for life, offset in zip(self.lives, self.arena.offsets, strict=True):
            for tensor in (life.tensor, *life.shared):
                span = span_at(placed.machine, base + offset, graph.tensors[tensor].bytes)
                placed.tensors[tensor] = span
                placed.buffers.append(Buffer(f"tensor{tensor}", "activation", span, life.first, life.last))

    def _put_nodes(self, need: MemoryNeeds, address: int, placed: Placement) -> None:
        homes = {}
        for step, needed in enumerate(need.nodes):
            homes[f"node{step}"] = span_at(placed.machine, address, needed)
            address += needed
        placed.buffers[:] = [replace(b, span=homes.get(b.name, b.span)) for b in placed.buffers]


@dataclass(frozen=True)
class Residents:
    """``stays`` by memory, that of the buffers first; ``pools`` of the other activations and of the interpreter's data;
    the memories of ``constants``."""

    machine: Machine
    stays: tuple[OnChip, ...]
    pools: RamPools
    homes: NamedHomes

    @property
    def rest(self) -> Pool:
        """What is left for buffers."""
        own = self.stays[0]
        return replace(own.pool, size=max(own.pool.size - own.bytes - own.others, 0))

    def read_in_place(self, graph: Graph, op: Operator) -> frozenset[str]:
        """What the operator reads where it is, as it is on chip or no DMA reaches it: ``input`` (both, where one of
        them is), ``filter``, ``bias``, ``quant``."""
        on_chip = {t for stay in self.stays for life in stay.lives for t in (life.tensor, *life.shared)}
        fixed = {t for t, home in self.homes.constants.items() if self._in_place(home)}
        roles = [role for role, t in tensor_roles(graph, op) if t in on_chip or t in fixed]
        if self.pools.persistent is not None and self._in_place(self.pools.persistent):
            return frozenset(["quant", *(_overlay(role) for role in roles)])
        return frozenset(_overlay(role) for role in roles)

    def _in_place(self, home: Pool) -> bool:
        regions = [self.machine.memory[name] for name in home.name.split("+")]
        return any(region.kind in ("sram", "tcm") or not region.dma for region in regions)

    def put(self, graph: Graph, need: MemoryNeeds, layout: Layout, options: PlanOptions, weights: Pool) -> Placement:
        """Everything but buffers into its memory, ``weights`` for the other constants. Raises DoesNotFit."""
        others = _without(graph, need, options, self.stays)
        placed = place(graph, others, layout, self.pools, weights, scratch=False, homes=self.homes.constants)
        for stay in self.stays:
            stay.put(graph, need, layout, placed)
        return placed


def residents(
    graph: Graph, machine: Machine, need: MemoryNeeds, options: PlanOptions, home: Pool, pool: Pool
) -> Residents:
    """What is where, with the activations in ``home`` by default and the buffers in ``pool``. Raises UsageError."""
    homes, region = named_homes(graph, machine, need, options, home.name), options[PERSISTENT]
    named = None if region is None else data_region(machine, PERSISTENT.flag, region)
    own = named is not None and region in pool.name.split("+")
    pools = RamPools(home, pool if own else named)
    if options[ON_CHIP] is None:
        kept = align_up(need.sizes.persistent, ALIGN) if own else 0
        return Residents(machine, _named(graph, homes, pool, kept), pools, homes)
    others: tuple[Option[Any], ...] = (TENSOR_REGIONS, PERSISTENT)
    for option in others:
        if options[option] != option.default:
            raise UsageError(f"--on-chip chooses what stays on chip: leave out --{option.flag}, or name all with that")
    return Residents(machine, (choose_on_chip(need, pool, options[ON_CHIP] or 0),), pools, homes)


def choose_on_chip(need: MemoryNeeds, pool: Pool, size: int) -> OnChip:
    """What stays within ``size`` bytes of ``pool``: call structures where all of them fit, then all activations up to
    the largest size of one with which they fit at once. Raises UsageError for more than there is."""
    if size > pool.size:
        raise UsageError(f"--on-chip {size:,} B is more than there is in {pool.name}: {pool.size:,} B")
    nodes = sum(need.nodes) if align_up(sum(need.nodes), ALIGN) <= size else 0
    chosen, room = OnChip(pool, nodes), size - align_up(nodes, ALIGN)
    for limit in sorted({life.bytes for life in need.lives if life.bytes <= room}):
        lives = tuple(life for life in need.lives if life.bytes <= limit)
        arena = greedy_by_size(_blocks(lives), ALIGN)
        if arena.bytes > room:
            break
        chosen = OnChip(pool, nodes, lives, arena)
    return chosen


def _named(graph: Graph, homes: NamedHomes, pool: Pool, others: int) -> tuple[OnChip, ...]:
    """What ``homes`` name, for each memory; first that of ``pool``, with ``others`` besides."""
    constants = [graph.tensors[t].bytes for t, home in homes.constants.items() if home.base == pool.base]
    own = [life for home, lives in homes.lives.items() if home.base == pool.base for life in lives]
    first = OnChip(pool, 0, *_packed(own), others + sum(align_up(size, ALIGN) for size in constants))
    apart = (OnChip(home, 0, *_packed(lives)) for home, lives in homes.lives.items() if home.base != pool.base)
    return (first, *apart)


def _packed(lives: Sequence[Lifetime]) -> tuple[tuple[Lifetime, ...], Arena]:
    return tuple(lives), plan_arena(_blocks(lives), ALIGN)


def _without(graph: Graph, need: MemoryNeeds, options: PlanOptions, stays: Sequence[OnChip]) -> MemoryNeeds:
    """``need`` without the activations that stay."""
    kept = {life.tensor for stay in stays for life in stay.lives}
    if not kept:
        return need
    lives = tuple(life for life in need.lives if life.tensor not in kept)
    if need.allocator == FIRST_FIT:
        phases = (Phase(life.tensor, life.first, life.last, life.bytes) for life in lives)
        alone = first_fit([ArrayBlock((phase,), ALIGN) for phase in phases])
    else:
        alone = arena_of(graph, lives, (), need.allocator, options.seconds)
    return replace(need, lives=lives, activations=alone, together=alone)


def _overlay(role: str) -> str:
    return "input" if role.startswith("input") else role


def _blocks(lives: Sequence[Lifetime]) -> list[ArenaBlock]:
    return [ArenaBlock(life.bytes, life.first, life.last) for life in lives]

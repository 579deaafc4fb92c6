"""Memories of single tensors, as ``--tensor-regions`` names them: activations on chip, constants in flash or RAM.

Not modelled: tensors that move while the network runs, and the copy of constants into a RAM before the first inference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.liveness.lifetimes import Lifetime
from mcusim.plan.options import TENSOR_REGIONS, PlanOptions
from mcusim.plan.placement import MemoryNeeds
from mcusim.plan.pools import Pool, data_region, pool_with, region_pool


@dataclass(frozen=True)
class NamedHomes:
    """What is not where the policy puts the rest: ``lives`` of activations by memory, the memories of ``constants``."""

    lives: Mapping[Pool, Sequence[Lifetime]] = field(default_factory=dict)
    constants: Mapping[int, Pool] = field(default_factory=dict)

    @property
    def activations(self) -> frozenset[int]:
        """Tensors of ``lives``."""
        lives = (life for each in self.lives.values() for life in each)
        return frozenset(t for life in lives for t in (life.tensor, *life.shared))


def named_homes(
    graph: Graph, machine: Machine, need: MemoryNeeds, options: PlanOptions, arena: str | None = None
) -> NamedHomes:
    """The homes that ``options`` name, by number of tensor; those in ``arena`` are where the policy has them anyway.

    A region that is used together with others is all of them. Raises UsageError for a tensor or a region that is not
    there, and for one that cannot be there.
    """
    lives: dict[Pool, list[Lifetime]] = {}
    named = options[TENSOR_REGIONS]
    constants, asked = {}, dict(named)
    for number, name in named:
        if number >= len(graph.tensors) or not graph.tensors[number].bytes:
            raise UsageError(f"--{TENSOR_REGIONS.flag} {number}:{name}: {graph.name} has no data in tensor {number}")
        if graph.tensors[number].constant:
            constants[number] = _memory(machine, name)
    for life in need.lives:
        names = {asked.pop(t) for t in (life.tensor, *life.shared) if t in asked}
        if len(names) > 1:
            raise UsageError(f"--{TENSOR_REGIONS.flag}: tensors {_listed(life)} share their bytes: name one region")
        for name in names:
            data_region(machine, TENSOR_REGIONS.flag, name)
            if name != arena:
                lives.setdefault(_memory(machine, name), []).append(life)
    lost = next((number for number in asked if number not in constants), None)
    if lost is not None:
        raise UsageError(
            f"--{TENSOR_REGIONS.flag} {lost}: {graph.tensors[lost].name[:80]} is no activation or constant"
        )
    return NamedHomes(lives, constants)


def _memory(machine: Machine, name: str) -> Pool:
    """On-chip RAM with the regions that it is used together with."""
    home = region_pool(machine, name)
    return pool_with(machine, name) if machine.memory[name].kind in ("sram", "tcm") else home


def _listed(life: Lifetime) -> str:
    return ", ".join(str(t) for t in (life.tensor, *life.shared))

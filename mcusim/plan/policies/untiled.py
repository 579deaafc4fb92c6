"""What policies share: the header; and a program in which every operator is one kernel call and nothing is copied."""

from __future__ import annotations

from dataclasses import replace

from mcusim.machine.description import Machine
from mcusim.model.geometry import whole
from mcusim.model.graph import Graph
from mcusim.plan.operand_roles import whole_operands
from mcusim.plan.placement import MemoryNeeds, Placement, operator_infos, place
from mcusim.plan.pools import Layout, Pool
from mcusim.plan.pytorch_arena import exported_arena_bytes
from mcusim.plan.ram_pools import RamPools
from mcusim.program.program import Compute, Header, Program
from mcusim.runtime.planning_costs import Costs


def whole_program(
    graph: Graph,
    machine: Machine,
    policy: str,
    kernels: Costs,
    need: MemoryNeeds,
    pools: RamPools,
    weights: Pool,
    options: dict[str, object],
) -> Program:
    """The program with its data in ``pools`` and the constants in pool ``weights``. Raises DoesNotFit."""
    layout = Layout(machine)
    placed = place(graph, need, layout, pools, weights)
    tasks = tuple(
        Compute(op.index, op.index, 0, 1, g, whole(g), whole_operands(graph, op, placed))
        for op, g in zip(graph.operators, need.geometries, strict=True)
    )
    header = make_header(graph, policy, kernels, need, layout, placed, options)
    if pools.scratch is not None:
        header = replace(header, memory=need.memory(scratch_apart=True))
    return Program(header, tasks)


def make_header(
    graph: Graph,
    policy: str,
    kernels: Costs,
    need: MemoryNeeds,
    layout: Layout,
    placed: Placement,
    options: dict[str, object],
    overlay: int = 0,
) -> Header:
    """A program's header, once everything has its place; ``overlay`` is the bytes of the overlay buffers."""
    return Header(
        machine=layout.machine.name,
        model=graph.name,
        model_sha256=graph.sha256,
        policy=policy,
        kernels=kernels.name,
        operators=operator_infos(graph, need.geometries),
        memory=replace(need.memory(overlay), arena_exported=_exported(graph, kernels, need)),
        peak_bytes=layout.peak_bytes(),
        buffers=tuple(placed.buffers),
        options=options,
        warnings=(*graph.warnings, *(() if kernels.uint8 else _unsigned(graph))),
        random_weights=graph.random_weights,
    )


def _exported(graph: Graph, kernels: Costs, need: MemoryNeeds) -> int | None:
    """The arena with explicit PADs, of the order, the allocator and the sharing that the published networks had."""
    plain = need.allocator == "greedy" and graph.order is None and not any(life.shared for life in need.lives)
    return exported_arena_bytes(graph, kernels, need) if plain else None


def _unsigned(graph: Graph) -> tuple[str, ...]:
    """The warnings that a network of uint8 or int16 carries: kernel sets of int8 do not run it."""
    types = [{graph.tensors[i].dtype for i in operator.outputs} for operator in graph.operators]
    return tuple(
        f"{number} operators are {dtype}: costed as int8 kernels, where a board without {dtype} ones runs an"
        " interpreter's reference kernels, several times slower"
        for dtype in ("uint8", "int16")
        if (number := sum(dtype in type_ for type_ in types))
    )

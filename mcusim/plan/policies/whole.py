"""What ``internal`` and ``external`` share: every operator is one kernel call and nothing is copied."""

from __future__ import annotations

from mcusim.machine.description import Machine
from mcusim.model.geometry import whole
from mcusim.model.graph import Graph
from mcusim.plan.layout import Layout, Pool
from mcusim.plan.operands import whole_operands
from mcusim.plan.placement import Costs, infos, place, sizes
from mcusim.plan.program import Compute, Header, Program

__all__ = ["whole_program"]


def whole_program(
    graph: Graph, machine: Machine, policy: str, kernels: Costs, arena: Pool, weights: Pool, options: dict[str, object]
) -> Program:
    """The program with the arena in pool ``arena`` and the constants in pool ``weights``. Raises DoesNotFit."""
    need, layout = sizes(graph, kernels), Layout(machine)
    placed = place(graph, need, layout, arena, weights)
    tasks = tuple(
        Compute(op.index, op.index, 0, 1, g, whole(g), whole_operands(graph, op, placed))
        for op, g in zip(graph.operators, need.geometries, strict=True)
    )
    header = Header(
        machine=machine.name,
        model=graph.name,
        model_sha256=graph.sha256,
        policy=policy,
        kernels=kernels.name,
        operators=infos(graph, need.geometries),
        memory=need.memory(),
        peak_bytes=layout.peak_bytes(),
        buffers=tuple(placed.buffers),
        options=options,
        warnings=graph.warnings,
        random_weights=graph.random_weights,
    )
    return Program(header, tasks)

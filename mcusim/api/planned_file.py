"""A model's file with a memory plan inside that TensorFlow Lite Micro follows.

Left out: plans for weights in RAM and for tensors that move, which TFLM has no form for.
"""

from __future__ import annotations

from pathlib import Path

from mcusim.errors import UsageError
from mcusim.model.graph import Graph
from mcusim.results.memory_plan import MemoryPlan

__all__ = ["ordered_file", "planned_file", "tensor_offsets"]


def ordered_file(model: str, graph: Graph, order: tuple[int, ...], replan: bool = False) -> bytes:
    """``graph``, read from ``model``, as a ``.tflite`` with its operators in ``order``.

    A file keeps every byte but its operators' order, and all of them when that is its own already; with ``replan`` an
    offline memory plan in it is dropped. A zoo network is written as ``export`` does. Raises ModelError for a file
    whose metadata speaks of another order.
    """
    from mcusim.model.reordered import reordered, with_order
    from mcusim.model.tflite.flatbuffer import read_bytes
    from mcusim.model.tflite.offline_plan import without_offline_plan
    from mcusim.model.tflite.writer import write_tflite

    path = Path(model)
    if not path.is_file():
        return write_tflite(reordered(graph, order))
    data = read_bytes(path)
    if replan:
        data = without_offline_plan(data, path)
    return data if order == tuple(range(len(order))) else with_order(data, path, order)


def planned_file(model: str, plan: MemoryPlan) -> bytes:
    """The ``.tflite`` ``model`` in the plan's order, with the chosen allocator's offsets as its offline memory plan.

    Raises UsageError for an allocator that moves tensors, weights in RAM and an alignment that TFLM's kernels could not
    work at, ModelError for a file that a plan cannot be put into. Leaves out scratch buffers: TFLM's planner finds
    their places at start-up, around the offsets given.
    """
    from mcusim.model.tflite.offline_plan import with_offline_plan

    if plan.after.accounting.weights != "flash":
        raise UsageError("a plan for TensorFlow Lite Micro has no place for weights in RAM: write it without --weights")
    if plan.placed.align % 16:
        raise UsageError(f"TensorFlow Lite Micro needs offsets at multiples of 16 B, not {plan.placed.align}")
    order = plan.after.timeline.order
    return with_offline_plan(ordered_file(model, plan.graph, order, replan=True), model, tensor_offsets(plan))


def tensor_offsets(plan: MemoryPlan) -> tuple[int, ...]:
    """The offset that the chosen allocator gives each tensor of the graph, -1 for those that it does not place.

    Raises UsageError for an allocator that moves them.
    """
    found = [-1] * len(plan.graph.tensors)
    for resident, offset in zip(plan.after.timeline.residents, plan.placed.offsets, strict=True):
        for tensor in resident.tensors:
            found[tensor] = offset
    return tuple(found)

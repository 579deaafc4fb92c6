"""Find the order of a model's operators with the least peak memory; write a model in it, or with its memory plan.

A memory plan inside the file is followed by TensorFlow Lite Micro. Not modelled: operators that run twice; plans for
weights in RAM and for tensors that move, which TFLM has no format for.
"""

from __future__ import annotations

from pathlib import Path

from mcusim.errors import ModelError, UsageError
from mcusim.model import load_model
from mcusim.model.graph import Graph, require_plain
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.timeline import timeline
from mcusim.plan.ordering import optimal_order
from mcusim.report.reorder_table import Reordered
from mcusim.results.memory_plan import MemoryPlan
from mcusim.run_config.settings import ModelArg, require_type


def ordered_file(model: str | Path | Graph, graph: Graph, order: tuple[int, ...], replan: bool = False) -> bytes:
    """``graph``, read from ``model``, as a ``.tflite`` with its operators in ``order``.

    A file keeps every byte but its operators' order, and all of them when that is its own already; with ``replan`` an
    offline memory plan in it is dropped. A zoo network is written as ``export`` does, and so is, for another
    order or a plan, a file some of whose operators were computed when it was read: without those. Raises ModelError
    for a file whose metadata speaks of another order.
    """
    from mcusim.model.reordered import file_order, reordered, with_order
    from mcusim.model.tflite.flatbuffer import read_bytes
    from mcusim.model.tflite.offline_plan import without_offline_plan
    from mcusim.model.tflite.tflite_writer import write_tflite

    same = order == tuple(range(len(order)))
    path = Path() if isinstance(model, Graph) else Path(model)
    if graph.constant_outputs and (replan or not same):
        raise ModelError(f"{model}: has outputs that are constants, which mcusim does not write: take them out")
    if not path.is_file() or (graph.folded and (replan or not same)):
        return write_tflite(reordered(graph, order))
    data = read_bytes(path)
    if replan:
        data = without_offline_plan(data, path)
    return data if same else with_order(data, path, file_order(graph, order))


def planned_file(model: str, plan: MemoryPlan) -> bytes:
    """The ``.tflite`` ``model`` in the plan's order, with the chosen allocator's offsets as its offline memory plan;
    the file's own bytes where those are the offsets that it has.

    Raises UsageError for an allocator that moves tensors, weights in RAM and an alignment that TFLM's kernels could not
    work at, ModelError for a file that a plan cannot be put into. Not modelled: scratch buffers: TFLM's planner finds
    their places at start-up, around the offsets given.
    """
    from mcusim.model.tflite.flatbuffer import read_bytes
    from mcusim.model.tflite.offline_plan import with_offline_plan

    if plan.array is not None:
        raise UsageError(f"-o writes an offline memory plan, which runtime {plan.runtime} does not follow")
    if plan.after.accounting.weights != "flash":
        raise UsageError("a plan for TensorFlow Lite Micro has no place for weights in RAM: write it without --weights")
    if plan.placed.align % 16:
        raise UsageError(f"TensorFlow Lite Micro needs offsets at multiples of 16 B, not {plan.placed.align}")
    if plan.keeps_stored:
        return read_bytes(Path(model))
    require_plain(plan.graph, "plans of several subgraphs are not written")
    order = plan.after.timeline.order
    return with_offline_plan(ordered_file(model, plan.graph, order, replan=True), model, tensor_offsets(plan))


def tensor_offsets(plan: MemoryPlan) -> tuple[int, ...]:
    """The offset that the chosen allocator gives each tensor of the graph, -1 for those that it does not place.

    Raises UsageError for an allocator that moves them.
    """
    offsets = [-1] * len(plan.graph.tensors)
    for resident, offset in zip(plan.after.timeline.residents, plan.addresses.offsets, strict=True):
        for tensor in resident.tensors:
            offsets[tensor] = offset
    return tuple(offsets)


def reorder(
    model: str | Path | Graph, *, in_place: bool = False, weights: str = "flash", seconds: float = 60.0
) -> Reordered:
    """The order of operators of ``model`` that needs the least memory at its peak, searched for at most ``seconds``.

    ``model`` is a path to a ``.tflite``, a name of `mcusim models` or a graph. ``in_place`` and ``weights`` say what
    counts (:class:`~mcusim.plan.liveness.accounting.Accounting`); the default is activations, each in bytes of its own.
    ``Reordered.data`` is the ``.tflite`` in that order: of a file every byte but its operators' order, and all of them
    when the order is the best already; a zoo network is written as ``export`` does. Raises what
    :func:`mcusim.load_model` raises, and ModelError for a file whose metadata speaks of the old order.
    """
    require_type("model", model, ModelArg)
    graph = model if isinstance(model, Graph) else load_model(model, strict=False)
    accounting = Accounting(in_place, weights)
    ordering = optimal_order(graph, seconds, accounting)
    data = ordered_file(model, graph, ordering.order)
    before, after = (timeline(graph, order, accounting).usage for order in (None, ordering.order))
    return Reordered(graph, ordering, data, before, after)

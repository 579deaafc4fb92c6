"""Plan a model's memory: an order of its operators, lifetimes of tensors, and where each allocator puts them.

Not modelled: what :mod:`mcusim.plan.liveness.timeline` and the allocators do not model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal, Unpack

from mcusim.api.memory_verdict import with_verdict
from mcusim.api.plan_array import array_plan, check_array_options
from mcusim.api.reorder import tensor_offsets
from mcusim.api.simulate import changed
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph, require_runnable
from mcusim.model.operators import interpreter_scratch, shown_type, traits_of
from mcusim.model.reordered import reordered
from mcusim.model.tflite.folding import FOLDED
from mcusim.plan import plan_options
from mcusim.plan.allocators import ALLOCATORS, MOST_MOVES, OFFLINE, allocate, moves_at_most
from mcusim.plan.arena import ALIGN, PLACING, allocator_of, arena_head, stored_offsets
from mcusim.plan.array_choice import counted_split, resolve_options
from mcusim.plan.liveness.accounting import Accounting, Weights
from mcusim.plan.liveness.timeline import Timeline, timeline
from mcusim.plan.options import ALLOCATORS as PLACES
from mcusim.plan.options import IN_PLACE, ORDERS, PATCHES, MemoryKeywords, PlanOptions, RegionKeywords
from mcusim.plan.ordering import optimal_order
from mcusim.plan.patch_figures import PatchFigures, patch_figures
from mcusim.plan.pools import sram_pool
from mcusim.results.memory_plan import COPIES, MemoryPlan, Planned
from mcusim.runtime.patches import AUTO
from mcusim.runtime.runtime import Runtime, find_runtime

__all__ = ["ORDERS", "memory", "priced"]


PLACED_ONCE = ("greedy", "optimal", OFFLINE)  # allocators whose offsets TFLM takes, or finds itself


def memory(
    model: str | Path | Graph,
    *,
    runtime: str | None = None,
    order: Literal["default", "optimal"] | str = "default",
    in_place: bool | None = None,
    im2col: str | None = None,
    weights: Weights | str = "flash",
    allocator: str | None = None,
    kernels: str | None = None,
    machine: str | Path | Machine | None = None,
    overrides: Mapping[str, str] | None = None,
    align: int | None = None,
    seconds: float = 60.0,
    **options: Unpack[MemoryKeywords],
) -> MemoryPlan:
    """The memory plan of ``model`` (a path, a name of `mcusim models`, or a graph), which ``runtime`` executes.

    Arguments are those of :func:`mcusim.plan_memory`. The plan as stored, without sharing and with the weights in
    flash, is given too; patches that need more than none are planned. Raises UsageError for a name or an alignment that
    does not exist, ModelError for an offline plan of no use.
    """
    regions = {name: given for name, given in options.items() if name in RegionKeywords.__annotations__}
    _check(order, allocator, machine, overrides, {"kernels": kernels, **regions})
    cut = plan_options(runtime=runtime, in_place=in_place, **options)
    board = None if machine is None else changed(machine, overrides)
    graph = _graph(model, cut)
    cut = resolve_options(cut, graph) if cut[PATCHES] in (None, AUTO) else counted_split(cut, graph)
    executes, in_place = cut.runtime, cut[IN_PLACE]
    if executes.array is not None:
        check_array_options(executes, allocator, weights, kernels)
        plan = array_plan(executes.executed(graph), executes, board, order, in_place, im2col, align, seconds, cut)
        return plan if executes.patches is None else replace(plan, patches=_figures(graph, executes, in_place))
    if im2col is not None:
        raise UsageError(f"--im2col has no effect with --runtime {executes.name}: its kernels have their own columns")
    graph, counted = executes.executed(graph), Accounting(bool(in_place), weights)
    plan = _arena_plan(graph, order, counted, allocator, executes.alignment if align is None else align, seconds)
    plan = replace(plan, machine=board, room=None if board is None else sram_pool(board), runtime=executes.name)
    return replace(plan := with_verdict(plan, kernels, seconds, cut), tflm_head=_tflm_head(plan))


def _graph(model: str | Path | Graph, options: PlanOptions) -> Graph:
    """Whatever TensorFlow Lite Micro may take; compiled code has to run it."""
    graph = model if isinstance(model, Graph) else load_model(model, strict=False)
    if options.runtime.array is not None:
        require_runnable(graph)
    return graph


def _figures(graph: Graph, runtime: Runtime, in_place: bool | None) -> PatchFigures:
    assert runtime.patches is not None  # the caller saw to that
    whole = find_runtime(runtime.name)
    return patch_figures(whole.executed(graph), whole, runtime.patches, in_place is not False)


def _arena_plan(
    graph: Graph, order: str, accounting: Accounting, allocator: str | None, align: int, seconds: float
) -> MemoryPlan:
    """The orders and where the allocators put their residents, for no machine."""
    ordering = optimal_order(graph, seconds, accounting) if order == "optimal" else None
    stored, asked = timeline(graph), timeline(graph, None if ordering is None else ordering.order, accounting)
    ordered = replace(graph, offline_plan=None)
    if asked.order == stored.order and accounting.weights == "flash":
        ordered = graph
    names = _able((stored, asked), chosen := _chosen(ordered, allocator, accounting.in_place))
    after = before = _planned(stored, Accounting(), names, align, seconds, graph)
    if (asked, accounting) != (stored, Accounting()):
        after = _planned(asked, accounting, names, align, seconds, ordered)
    return MemoryPlan(graph, before, after, chosen, ordering)


def _chosen(graph: Graph, allocator: str | None, in_place: bool) -> str:
    """The allocator that is meant for ``graph``, in its order; those of programs as a run means them."""
    if allocator is not None and allocator not in PLACES:
        return allocator
    return allocator_of(graph, plan_options(allocator=allocator, in_place=in_place))


def _check(
    order: str, allocator: str | None, machine: object, overrides: object, of_verdict: Mapping[str, object]
) -> None:
    known = (*ALLOCATORS, OFFLINE)
    for what, value, names in (("order", order, ORDERS), ("allocator", allocator or OFFLINE, known)):
        if value not in names:
            raise UsageError(f"{what} {value[:80]!r}: must be one of {', '.join(names)}")
    if machine is None and overrides:
        raise UsageError("--set changes a machine: name it with --machine")
    for name, raw in of_verdict.items():
        if machine is None and raw is not None:
            raise UsageError(f"--{name} is for the verdict on a machine: name it with --machine")


def priced(plan: MemoryPlan, progress: Callable[[int, int], object] | None = None) -> MemoryPlan:
    """``plan`` with what its allocator's moves cost on its machine, by words and by bytes.

    ``plan`` itself without a machine, without moves, or when the arena does not fit there. ``progress`` gets bytes
    moved and all there are. Raises what :func:`~mcusim.api.defragment.defragment` raises; does not model what it does
    not.
    """
    if plan.machine is None or not plan.placed.moves or not plan.fits:
        return plan
    from mcusim.api.defragment import defragment

    copies = COPIES if plan.placed.align % 4 == 0 else COPIES[-1:]
    total = plan.placed.moved_bytes * len(copies)
    defragmentations = []
    for number, copy in enumerate(copies):

        def step(done: int, each: int, before: int = number) -> None:
            if progress is not None:
                progress(before * each + done, total)

        defragmentations.append(defragment(plan.placed.moves, plan.machine, copy=copy, progress=step))
    return replace(plan, defragmentation=tuple(defragmentations))


def _tflm_head(plan: MemoryPlan) -> int | None:
    """The head of TFLM's arena for this plan: by its own planner where that is the allocator, else with our offsets.

    None for an operator that TFLM has not, as far as is known here, for uint8 networks, whose
    convolutions it has no kernels for, and for a plan of a network without the operators that the reader computed.
    """
    counted = plan.after.accounting
    if any(interpreter_scratch(op.type) is None for op in plan.graph.operators):
        return None
    if any(
        plan.graph.tensors[op.outputs[0]].dtype == "uint8"
        for op in plan.graph.operators
        if traits_of(shown_type(op.type)).parametric
    ):
        return None
    if plan.allocator not in PLACED_ONCE or counted.weights != "flash" or plan.placed.align != ALIGN:
        return None
    if plan.allocator == OFFLINE:  # the file as it is
        return arena_head(plan.graph.as_stored if plan.graph.folded else plan.graph, plan.graph.offline_plan)
    own = plan.allocator == "greedy" and not counted.in_place
    if plan.graph.folded:  # the file as it is; written with a plan or in another order it is without them
        plain = own and plan.ordering is None and not plan.graph.evaluated
        known = plain and all(FOLDED[op.type].in_tflm for op in plan.graph.folded)
        return arena_head(plan.graph.as_stored) if known else None
    graph = reordered(plan.graph, plan.after.timeline.order)
    return arena_head(graph, None if own else tensor_offsets(plan))


def _planned(
    lifetimes: Timeline, accounting: Accounting, names: Iterable[str], align: int, seconds: float, graph: Graph
) -> Planned:
    """The residents by each of the allocators, by the file's plan too where that can be used."""
    tensors = [resident.tensors[0] if resident.tensors else -1 for resident in lifetimes.residents]
    stored = stored_offsets(graph, tensors, "optimal", accounting.in_place)
    able = [name for name in names if name != OFFLINE] + [OFFLINE] * (stored is not None)
    if OFFLINE in names and stored is None:
        stored_offsets(graph, tensors, OFFLINE, accounting.in_place)  # says what is wrong with it
    placed = {name: allocate(lifetimes.blocks, name, align, min(seconds, PLACING), stored) for name in able}
    return Planned(lifetimes, accounting, placed)


def _able(timelines: Iterable[Timeline], allocator: str) -> list[str]:
    """The allocators to compare: not the one that would make very many moves, unless it was asked for."""
    few = all(moves_at_most(timeline.blocks) <= MOST_MOVES for timeline in timelines)
    names = [name for name in ALLOCATORS if few or name in (allocator, "linear", "greedy", "optimal")]
    return [*names, OFFLINE] if allocator == OFFLINE else names

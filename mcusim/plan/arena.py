"""The arena of a network's own data: offsets of tensors and scratch buffers, by the allocator that was asked for."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.errors import UsageError
from mcusim.model.graph import Graph
from mcusim.plan.allocators.by_name import linear
from mcusim.plan.allocators.greedy import Arena, ArenaBlock, align_up, greedy_by_size
from mcusim.plan.allocators.offline import offline_offsets
from mcusim.plan.allocators.optimal import optimal
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.lifetimes import Lifetime
from mcusim.plan.options import PlanOptions

__all__ = ["ALIGN", "PLACING", "allocator_of", "arena_of", "in_order"]

ALIGN = 16  # TFLM's buffer alignment
PLACING = 10.0  # seconds that the optimal allocator may search, at most


def in_order(graph: Graph, options: PlanOptions) -> Graph:
    """``graph`` with its operators in the order that ``options`` asks for."""
    if options.order == "default":
        return graph
    from mcusim.model.reordered import reordered
    from mcusim.plan.ordering import optimal_order

    return reordered(graph, optimal_order(graph, options.seconds, Accounting(options.in_place)).order)


def allocator_of(graph: Graph, options: PlanOptions) -> str:
    """The allocator that ``options`` means for ``graph``, whose operators are in order already. Raises UsageError."""
    stored = graph.offline_plan is not None
    if options.allocator is None:
        return "offline" if stored and not options.in_place else "greedy"
    if options.allocator == "offline" and not stored:
        why = "" if graph.order is None else " for another order of its operators than its own"
        raise UsageError(f"--allocator offline: {graph.name} has no offline memory plan in its metadata{why}")
    if options.allocator == "offline" and options.in_place:
        raise UsageError("--in-place has no effect with --allocator offline: the file's plan says what shares bytes")
    return options.allocator


def arena_of(
    graph: Graph, lives: Sequence[Lifetime], scratch: Sequence[int], allocator: str, seconds: float = PLACING
) -> Arena:
    """Offsets of ``lives``, then of the buffers of ``scratch`` (bytes by step) that have any, by ``allocator``.

    ``offline`` puts what the plan leaves out around the tensors that it places, as TFLM does. ``seconds`` limits the
    search of ``optimal``. Raises ModelError for an offline plan that cannot be used.
    """
    blocks = [ArenaBlock(life.bytes, life.first, life.last) for life in lives]
    blocks += [ArenaBlock(size, step, step) for step, size in enumerate(scratch) if size]
    if allocator == "linear":
        return linear(blocks, ALIGN)
    if allocator == "optimal":
        return optimal(blocks, ALIGN, min(seconds, PLACING)).arena
    given = offline_offsets(graph) if allocator == "offline" else {}
    fixed = {i: given[life.tensor] for i, life in enumerate(lives) if life.tensor in given}
    found = greedy_by_size(blocks, ALIGN, fixed)
    return Arena(found.offsets, align_up(found.bytes, ALIGN))  # the offsets of a file's plan can be any

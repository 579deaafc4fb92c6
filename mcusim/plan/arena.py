"""The arena of a network's own data: offsets of tensors and scratch buffers, by the allocator that was asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mcusim.errors import ModelError, UsageError
from mcusim.model.graph import Graph
from mcusim.plan.allocators.by_name import allocate
from mcusim.plan.allocators.greedy import Arena, ArenaBlock, greedy_by_size
from mcusim.plan.allocators.offline import offline_offsets
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.lifetimes import Lifetime
from mcusim.plan.options import ALLOCATOR, IN_PLACE, ORDER, PlanOptions
from mcusim.plan.static_array import FIRST_FIT
from mcusim.runtime.runtime import Runtime, find_runtime

ALIGN = find_runtime().alignment
PLACING = 10.0  # seconds that the optimal allocator may search, at most


def in_order(graph: Graph, options: PlanOptions) -> Graph:
    """``graph`` with its operators in the order that ``options`` asks for."""
    if options[ORDER] == "default":
        return graph
    from mcusim.model.reordered import reordered
    from mcusim.plan.ordering import optimal_order

    in_place = bool(options[IN_PLACE]) and options.runtime.array is None  # compiled code has other operators in place
    return reordered(graph, optimal_order(graph, options.seconds, Accounting(in_place)).order)


def allocator_of(graph: Graph, options: PlanOptions) -> str:
    """The allocator that ``options`` means for ``graph``, whose operators are in order already. Raises UsageError."""
    stored = graph.offline_plan is not None
    allocator = options[ALLOCATOR]
    if options.runtime.array is not None:
        if allocator is not None:
            raise UsageError(
                f"--allocator has no effect with --runtime {options.runtime.name}, which places its data itself"
            )
        return FIRST_FIT
    if allocator is None:
        return "offline" if stored and not options[IN_PLACE] else "greedy"
    if allocator == "offline" and not stored:
        why = "" if graph.order is None else " for another order of its operators than its own"
        raise UsageError(f"--allocator offline: {graph.name} has no offline memory plan in its metadata{why}")
    if allocator == "offline" and options[IN_PLACE]:
        raise UsageError("--in-place has no effect with --allocator offline: the file's plan says what shares bytes")
    return allocator


def arena_of(
    graph: Graph, lives: Sequence[Lifetime], scratch: Sequence[int], allocator: str, seconds: float = PLACING
) -> Arena:
    """Offsets of ``lives``, then of the buffers of ``scratch`` (bytes by step) that have any, by ``allocator``.

    ``seconds`` limits the search of ``optimal``. Raises ModelError for an offline plan that cannot be used.
    """
    blocks = [ArenaBlock(life.bytes, life.first, life.last) for life in lives]
    stored = stored_offsets(graph, [life.tensor for life in lives], allocator, any(life.shared for life in lives))
    placed = allocate([*blocks, *scratch_blocks(scratch)], allocator, ALIGN, min(seconds, PLACING), stored)
    return Arena(placed.offsets, placed.bytes)


def arena_head(graph: Graph, offsets: Sequence[int] | None = None, runtime: Runtime | None = None) -> int:
    """Bytes of the head of a runtime's arena for ``graph``, as its own greedy planner makes it of its requests: what
    ``print_allocations`` of TensorFlow Lite Micro calls so.

    ``offsets``: an offline memory plan, one offset per tensor or -1, as
    :func:`mcusim.model.tflite.offline_plan.with_offline_plan` writes it; the runtime puts around it what it leaves out,
    scratch buffers among that. Not modelled: the tail (the interpreter's own data), and requests that the runtime's
    file does not model.
    """
    asked = (runtime or find_runtime()).requests(graph)
    arguments = {} if offsets is None else {i: offsets[r.tensor] for i, r in enumerate(asked) if r.tensor is not None}
    fixed = {i: offset for i, offset in arguments.items() if offset != -1}
    return greedy_by_size(
        [ArenaBlock(request.bytes, request.first, request.last) for request in asked], ALIGN, fixed
    ).bytes


def scratch_blocks(scratch: Sequence[int]) -> list[ArenaBlock]:
    """The buffers of ``scratch``, bytes by step, that have any."""
    return [ArenaBlock(size, step, step) for step, size in enumerate(scratch) if size]


def stored_offsets(graph: Graph, tensors: Sequence[int], allocator: str, shared: bool) -> Mapping[int, int] | None:
    """The offsets of the plan in the file by place in ``tensors``, for an allocator that looks at them; else None.

    ``shared``: tensors lie in each other's bytes, by no choice of the file's. Raises ModelError for a plan that cannot
    be used where ``offline`` asks for it.
    """
    if graph.offline_plan is None or shared or allocator not in ("offline", "optimal"):
        return None
    try:
        arguments = offline_offsets(graph)
    except ModelError:
        if allocator == "offline":
            raise
        return None
    return {i: arguments[tensor] for i, tensor in enumerate(tensors) if tensor in arguments}

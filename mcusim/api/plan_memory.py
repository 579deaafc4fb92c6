"""Plan a model's memory: an order of its operators, lifetimes of tensors, and where each allocator puts them.

Not modelled: what :mod:`mcusim.plan.liveness.timeline` and the allocators do not model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from mcusim.api.reorder import tensor_offsets
from mcusim.api.simulate import changed
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.model.operators import OPERATORS
from mcusim.model.reordered import reordered
from mcusim.model.tflite.folding import FOLDED
from mcusim.plan.allocators import ALLOCATORS, MOST_MOVES, allocate, moves_at_most
from mcusim.plan.allocators.tflm_arena import ALIGNMENT as TFLM_ALIGNMENT
from mcusim.plan.allocators.tflm_arena import tflm_head
from mcusim.plan.liveness.accounting import Accounting, Weights
from mcusim.plan.liveness.timeline import Timeline, timeline
from mcusim.plan.ordering import optimal_order
from mcusim.plan.pools import sram_pool
from mcusim.results.memory_plan import COPIES, MemoryPlan, Planned

__all__ = ["ORDERS", "memory", "priced"]

ORDERS = ("default", "optimal")
PLACING = 10.0  # seconds that the optimal allocator may search, at most


def memory(
    model: str | Path | Graph,
    *,
    order: Literal["default", "optimal"] | str = "default",
    in_place: bool = False,
    weights: Weights | str = "flash",
    allocator: str = "greedy",
    machine: str | Path | Machine | None = None,
    overrides: Mapping[str, str] | None = None,
    align: int = 16,
    seconds: float = 60.0,
) -> MemoryPlan:
    """The memory plan of ``model`` (a path, a name of `mcusim models`, or a graph).

    ``order``: ``default``, as stored, or ``optimal``, that of the least peak, searched for at most ``seconds``.
    ``in_place`` and ``weights`` say what counts (:class:`~mcusim.plan.liveness.accounting.Accounting`). All allocators
    place the same blocks, at multiples of ``align`` bytes; ``allocator`` is the one that counts. The plan as stored,
    without sharing and with the weights in flash, is given too. ``machine``: whose memory it is for, with
    ``overrides`` of its keys.

    Raises UsageError for an order, weights, allocator or alignment that do not exist, and what
    :func:`mcusim.model.load_model` raises.
    """
    for what, value, known in (("order", order, ORDERS), ("allocator", allocator, tuple(ALLOCATORS))):
        if value not in known:
            raise UsageError(f"{what} {value!r}: must be one of {', '.join(known)}")
    if machine is None and overrides:
        raise UsageError("--set changes a machine: name it with --machine")
    accounting = Accounting(in_place, weights)
    board = None if machine is None else changed(machine, overrides)
    graph = model if isinstance(model, Graph) else load_model(model, allow_unknown=True)
    ordering = optimal_order(graph, seconds, accounting) if order == "optimal" else None
    limit = min(seconds, PLACING)
    stored, asked = timeline(graph), timeline(graph, None if ordering is None else ordering.order, accounting)
    names = _able((stored, asked), allocator)
    before = _planned(stored, Accounting(), names, align, limit)
    after = _planned(asked, accounting, names, align, limit)
    room = None if board is None else sram_pool(board)
    plan = MemoryPlan(graph, before, after, allocator, ordering, board, room)
    return replace(plan, tflm_head=_tflm_head(plan))


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
    found = []
    for number, copy in enumerate(copies):

        def step(done: int, each: int, before: int = number) -> None:
            if progress is not None:
                progress(before * each + done, total)

        found.append(defragment(plan.placed.moves, plan.machine, copy=copy, progress=step))
    return replace(plan, defragmentation=tuple(found))


def _tflm_head(plan: MemoryPlan) -> int | None:
    """The head of TFLM's arena for this plan: by its own planner where that is the allocator, else with our offsets.

    None for an operator that is not known, whose kernel may have scratch buffers, for uint8 networks, whose
    convolutions it has no kernels for, and for a plan of a network without the operators that the reader computed.
    """
    counted = plan.after.accounting
    if any(op.type not in OPERATORS for op in plan.graph.operators):
        return None
    if any(plan.graph.tensors[op.outputs[0]].dtype == "uint8" for op in plan.graph.operators if op.traits.parametric):
        return None
    if plan.allocator not in ("greedy", "optimal") or counted.weights != "flash" or plan.placed.align != TFLM_ALIGNMENT:
        return None
    own = plan.allocator == "greedy" and not counted.in_place
    if plan.graph.folded:  # the file as it is; written with a plan or in another order it is without them
        plain = own and plan.ordering is None and not plan.graph.evaluated
        known = plain and all(FOLDED[op.type].in_tflm for op in plan.graph.folded)
        return tflm_head(plan.graph.as_stored) if known else None
    graph = reordered(plan.graph, plan.after.timeline.order)
    return tflm_head(graph, None if own else tensor_offsets(plan))


def _planned(found: Timeline, accounting: Accounting, names: Iterable[str], align: int, seconds: float) -> Planned:
    return Planned(found, accounting, {name: allocate(found.blocks, name, align, seconds) for name in names})


def _able(timelines: Iterable[Timeline], allocator: str) -> list[str]:
    """The allocators to compare: not the one that would make very many moves, unless it was asked for."""
    few = all(moves_at_most(found.blocks) <= MOST_MOVES for found in timelines)
    return [name for name in ALLOCATORS if few or name in (allocator, "linear", "greedy", "optimal")]

"""Plan a model's memory: an order of its operators, who lives when, and where each allocator puts it.

Left out: what :mod:`mcusim.plan.timeline` and the allocators leave out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model import load_model
from mcusim.model.graph import Graph
from mcusim.plan.accounting import Accounting, Weights
from mcusim.plan.allocators import ALLOCATORS, allocate
from mcusim.plan.layout import sram_pool
from mcusim.plan.ordering import Ordering, optimal_order
from mcusim.plan.timeline import timeline
from mcusim.report.memory_plan import MemoryPlan, Planned
from mcusim.study.simulate import changed

__all__ = ["ORDERS", "memory"]

ORDERS = ("default", "optimal")
PLACING = 10.0  # seconds that the optimal allocator may search, at most


def memory(
    model: str,
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
    """The memory plan of ``model`` (a path, or a name of `mcusim models`).

    ``order``: ``default``, as stored, or ``optimal``, that of the least peak, searched for at most ``seconds``.
    ``in_place`` and ``weights`` say what counts (:class:`~mcusim.plan.accounting.Accounting`). All allocators place the
    same blocks, at multiples of ``align`` bytes; ``allocator`` is the one that counts. The plan as stored, without
    sharing and with the weights in flash, stands beside it. ``machine``: whose memory it is for, with ``overrides`` of
    its keys.

    Raises UsageError for an order, weights, allocator or alignment that do not exist, and what
    :func:`mcusim.model.load_model` raises.
    """
    if order not in ORDERS:
        raise UsageError(f"order {order!r}: must be one of {', '.join(ORDERS)}")
    if allocator not in ALLOCATORS:
        raise UsageError(f"allocator {allocator!r}: must be one of {', '.join(ALLOCATORS)}")
    if machine is None and overrides:
        raise UsageError("--set changes a machine: name it with --machine")
    accounting = Accounting(in_place, weights)
    board = None if machine is None else changed(machine, overrides)
    graph = load_model(model, allow_unknown=True)
    ordering = optimal_order(graph, seconds, accounting) if order == "optimal" else None
    limit = min(seconds, PLACING)
    before = _planned(graph, None, Accounting(), align, limit)
    after = _planned(graph, ordering, accounting, align, limit)
    room = None if board is None else sram_pool(board)
    return MemoryPlan(graph, before, after, allocator, ordering, board, room)


def _planned(graph: Graph, ordering: Ordering | None, accounting: Accounting, align: int, seconds: float) -> Planned:
    found = timeline(graph, None if ordering is None else ordering.order, accounting)
    return Planned(found, accounting, {name: allocate(found.blocks, name, align, seconds) for name in ALLOCATORS})

"""The memory plan of a model that a compiled runtime executes: one static array, placed when the code is generated.

Not modelled: what :mod:`mcusim.plan.static_array` does not model; an order of least peak is searched for without what
operators in place save.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from time import monotonic

from mcusim.errors import ModelError, UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.model.reordered import reordered
from mcusim.plan import PlanOptions, plan_options
from mcusim.plan.allocators import Placed
from mcusim.plan.allocators.greedy import ArenaBlock, live_bytes
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.timeline import Resident, Timeline
from mcusim.plan.options import IM2COL
from mcusim.plan.ordering import optimal_order
from mcusim.plan.placement import memory_needs
from mcusim.plan.pools import sram_pool
from mcusim.plan.ram_pools import RamSizes, arena_parts, chosen_pools
from mcusim.plan.static_array import FIRST_FIT, ArrayBlock, array_blocks, first_fit, static_array
from mcusim.plan.verdict import ARRAY, MemoryVerdict
from mcusim.results.flash import flash_use
from mcusim.results.memory_plan import MemoryPlan, Planned
from mcusim.run_config.kernel_choice import require_callable, resolve
from mcusim.runtime.planning_costs import costs_of
from mcusim.runtime.runtime import Runtime


def array_plan(
    graph: Graph,
    runtime: Runtime,
    board: Machine | None,
    order: str = "default",
    in_place: bool | None = None,
    im2col: str | None = None,
    align: int | None = None,
    seconds: float = 60.0,
    regions: PlanOptions | None = None,
) -> MemoryPlan:
    """The plan of ``graph``, as ``runtime`` executes it, with the verdict on ``board``; before: as stored, each tensor
    in bytes of its own. ``in_place`` and ``align`` are by default the runtime's. Raises UsageError."""
    rules = runtime.array
    assert rules is not None  # the caller saw to that
    rule, over_input = IM2COL.parse_or_default(im2col), in_place is not False
    ordering = optimal_order(graph, seconds, Accounting()) if order == "optimal" else None
    steps = tuple(range(len(graph.operators))) if ordering is None else tuple(ordering.order)
    spaced = runtime.alignment if align is None else align
    before = _placed(graph, tuple(range(len(graph.operators))), array_blocks(graph, None), spaced, False)
    ordered = reordered(graph, steps)
    after = _placed(graph, steps, array_blocks(ordered, rules.in_place if over_input else None), spaced, over_input)
    array = static_array(ordered, rules, after.placed[FIRST_FIT].bytes, over_input, rule)
    plan = MemoryPlan(
        graph, before, after, FIRST_FIT, ordering, board, None if board is None else sram_pool(board),
        runtime=runtime.name, array=array, im2col=rule,
    )  # fmt: skip
    if board is None:
        return plan
    return _with_verdict(replace(plan, kernels=runtime.kernels[1]), ordered, runtime, board, regions or PlanOptions())


def check_array_options(runtime: Runtime, allocator: str | None, weights: str, kernels: str | None) -> None:
    """Raise UsageError for what has no effect on a static array."""
    for option, explicit in (("allocator", allocator is not None), ("weights", weights != "flash")):
        if explicit:
            raise UsageError(f"--{option} has no effect with --runtime {runtime.name}, which places its data itself")
    if kernels is not None:
        require_callable(resolve(kernels, "plan", runtime), runtime)


def _placed(
    graph: Graph, steps: tuple[int, ...], blocks: Sequence[ArrayBlock], align: int, over_input: bool
) -> Planned:
    """``blocks`` where they are; a tensor that is computed over another is a resident of its own, at its offset."""
    if align < 1 or align & (align - 1):
        raise UsageError(f"an alignment of {align} B: must be a power of two")
    began = monotonic()
    arena = first_fit(blocks, align)
    phases = [(phase, offset) for block, offset in zip(blocks, arena.offsets, strict=True) for phase in block.phases]
    residents = tuple(
        Resident(graph.tensors[phase.tensor].name, "activation", phase.bytes, phase.first, phase.last, (phase.tensor,))
        for phase, _ in phases
    )
    places = tuple(((phase.first, offset),) for phase, offset in phases)
    bound = max(live_bytes([ArenaBlock(phase.bytes, phase.first, phase.last) for phase, _ in phases]), default=0)
    placed = Placed(FIRST_FIT, align, arena.bytes, min(bound, arena.bytes), places, (), monotonic() - began)
    return Planned(Timeline(steps, residents), Accounting(over_input), {FIRST_FIT: placed})


def _with_verdict(
    plan: MemoryPlan, graph: Graph, runtime: Runtime, machine: Machine, regions: PlanOptions
) -> MemoryPlan:
    """As a run of ``graph``, in the order of ``plan``, would have it, with the pool of the array and what flash keeps;
    operators without a kernel need no scratch."""
    array = plan.array
    assert array is not None  # the caller has planned it
    largest, state, needed = 0, sum(tensor.bytes for tensor in graph.tensors if tensor.variable), array.total
    kernels = resolve(None, "plan", runtime).for_planning()
    with suppress(ModelError):
        options = plan_options(runtime=runtime.name, in_place=plan.after.accounting.in_place)
        need = memory_needs(graph, costs_of(kernels, runtime), options)
        state, needed, largest = need.state, max(needed, need.together.bytes), need.sizes.scratch
    pools = chosen_pools(machine, RamSizes(array.arena, needed, largest, state), regions)
    planned = needed if pools.scratch is None else array.arena + largest
    verdict = MemoryVerdict.of_data(ARRAY, machine, pools, arena_parts(array.arena, planned, 0, state))
    flash = flash_use(graph, machine, kernels, runtime=runtime)
    whole = verdict if flash.over is None or not verdict.fits else MemoryVerdict.of(flash.over)
    return replace(plan, room=pools.arena, verdict=whole, in_ram=verdict, flash=flash)

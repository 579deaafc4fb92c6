"""The verdict on a memory plan: what `mcusim run` says of the same model, order and allocator under policy internal."""

from __future__ import annotations

from dataclasses import replace

from mcusim.errors import ModelError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.model.reordered import reordered
from mcusim.plan import PlanOptions, plan_options
from mcusim.plan.allocators import allocate
from mcusim.plan.arena import PLACING, scratch_blocks, stored_offsets
from mcusim.plan.placement import MemoryNeeds, memory_needs
from mcusim.plan.pools import largest_region
from mcusim.plan.ram_pools import RamSizes, arena_parts, chosen_pools
from mcusim.plan.verdict import ARENA, MemoryVerdict
from mcusim.results.flash import FlashUse, flash_use
from mcusim.results.memory_plan import MemoryPlan
from mcusim.run_config.kernel_choice import Kernels, require_callable, resolve
from mcusim.runtime.planning_costs import costs_of
from mcusim.runtime.runtime import Runtime, find_runtime


def with_verdict(
    plan: MemoryPlan, kernels: str | None = None, seconds: float = PLACING, regions: PlanOptions | None = None
) -> MemoryPlan:
    """``plan`` with its verdict on its machine, its data in ``regions``; itself without a machine.

    Counted: the tensors and the scratch buffers of ``kernels`` (default: those of ``mcusim run``) by the plan's
    allocator, variables and the interpreter's data; then the weights and what else flash keeps. Raises what
    :func:`mcusim.run_config.kernel_choice.resolve` raises. Not modelled: scratch buffers and data of operators that the
    kernels do not have.
    """
    if plan.machine is None or plan.room is None:
        return plan
    caller = find_runtime(plan.runtime)
    chosen = resolve(kernels, "plan", caller)
    require_callable(chosen, caller)
    graph = reordered(plan.graph, plan.after.timeline.order)
    need = _with_refused(graph, _needs(graph, chosen, caller), caller)
    blocks = [*plan.after.timeline.blocks, *scratch_blocks(() if need is None else need.scratch)]
    tensors = [resident.tensors[0] if resident.tensors else -1 for resident in plan.after.timeline.residents]
    stored = stored_offsets(graph, tensors, plan.allocator, plan.after.accounting.in_place)
    counted = allocate(blocks, plan.allocator, plan.placed.align, min(seconds, PLACING), stored)
    runtime, state = (0, 0) if need is None else (need.runtime, need.state)
    parts = arena_parts(plan.placed.bytes, counted.bytes, runtime, state)
    largest, regions = max((0,) if need is None else need.scratch, default=0), regions or PlanOptions()
    sizes = RamSizes(plan.placed.bytes, counted.bytes, largest, runtime + state)
    pools = chosen_pools(plan.machine, sizes, regions)
    if pools.scratch is not None:
        parts |= {"activations": sizes.tensors, "scratch": sizes.scratch}
    in_ram = MemoryVerdict.of_data(ARENA, plan.machine, pools, parts)
    flash = None if need is None else _flash(graph, plan.machine, chosen, caller)
    over = _in_flash(plan.machine, need, flash) if in_ram.fits and need is not None else None
    plan = replace(plan, room=pools.arena, kernels=chosen.name, counted=counted)
    return replace(plan, verdict=over or in_ram, in_ram=in_ram, flash=flash)


def _needs(graph: Graph, kernels: Kernels, runtime: Runtime) -> MemoryNeeds | None:
    """What ``graph`` needs besides its tensors, which a simple allocator places here; None for unknown operators."""
    try:
        return memory_needs(graph, costs_of(kernels.for_planning(), runtime), plan_options(allocator="linear"))
    except ModelError:
        return None


def _with_refused(graph: Graph, need: MemoryNeeds | None, runtime: Runtime) -> MemoryNeeds | None:
    """With what the runtime's reference kernels have in scratch for operators that nothing here runs, as filters of
    int4 unpacked."""
    if need is None or not graph.refused:
        return need
    scratch = [*need.scratch]
    for request in runtime.requests(graph):
        step = request.first - 2  # behind what nobody reads, and the inputs
        if request.kind == "scratch" and step in graph.refused:
            scratch[step] += request.bytes
    return replace(need, scratch=tuple(scratch))


def _flash(graph: Graph, machine: Machine, kernels: Kernels, runtime: Runtime) -> FlashUse | None:
    region = largest_region(machine, "flash")
    return None if region is None else flash_use(graph, machine, kernels.for_planning(), region.name, runtime=runtime)


def _in_flash(machine: Machine, need: MemoryNeeds, kept: FlashUse | None) -> MemoryVerdict | None:
    """The negative verdict on what is kept in flash."""
    flash = largest_region(machine, "flash")
    if flash is None or kept is None:
        return None
    if need.weights > flash.size:
        return MemoryVerdict("the block of weights", flash.name, need.weights, flash.size, {"weights": need.weights})
    return None if kept.over is None else MemoryVerdict.of(kept.over)

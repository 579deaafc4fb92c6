"""``internal``: everything that changes in on-chip SRAM, weights in flash, as TFLM does it (IM-TFLM in the paper)."""

from __future__ import annotations

from mcusim.errors import DoesNotFit, UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import ARENA, PATCH_SPLIT, PATCHES, SRAM_BUDGET, WEIGHTS, PatchKeywords, PlanOptions
from mcusim.plan.policies.untiled import whole_program
from mcusim.plan.pools import Pool, data_pools, largest_region, region_pool, sram_pool
from mcusim.plan.registry import register
from mcusim.program.program import Program
from mcusim.runtime.planning_costs import Costs
from mcusim.units import quoted

__all__ = ["plan"]


class InternalOptions(PatchKeywords, total=False):
    """``sram_budget``: the most on-chip RAM, in bytes or as a text (``"9 KiB"``); ``arena``: the region that holds all
    data, by default the first memory in which they fit."""

    sram_budget: int | str | None
    arena: str | None


OPTIONS = (SRAM_BUDGET, ARENA, PATCHES, PATCH_SPLIT)


@register("internal", "data in on-chip SRAM, weights in flash", options=OPTIONS, order=1)
def plan(graph: Graph, machine: Machine, kernels: Costs, options: PlanOptions) -> Program:
    """Arena (activations, scratch, then the interpreter's data) from the base of a memory up: the first of
    :func:`~mcusim.plan.pools.data_pools` in which it fits (nothing is copied, so that no DMA has to reach it), or the
    region ``options[ARENA]`` names; weights and biases in the largest flash, or in the region ``options[WEIGHTS]``
    names.

    The code is assumed to be in flash next to the weights; its size is not known to a plan and nothing is reserved for
    it, nor for the stack.

    Raises DoesNotFit (region, needed and available bytes) and UsageError (no flash, unknown region, budget above the
    pool).
    """
    first, *others = _pools(machine, options)
    weights = options[WEIGHTS]
    if weights is None:
        flash = largest_region(machine, "flash")
        if flash is None:
            raise UsageError(f"machine {machine.name} has no flash for the weights; name a region for them")
        weights = flash.name
    chosen: dict[str, object] = {"weights": weights, "sram_budget": options[SRAM_BUDGET]}
    home = region_pool(machine, weights)
    try:
        return whole_program(graph, machine, "internal", kernels, options, first, home, chosen)
    except DoesNotFit as reason:
        larger = (pool for pool in others if reason.region == first.name and pool.size >= reason.needed)
        if (pool := next(larger, None)) is None:
            raise
    return whole_program(graph, machine, "internal", kernels, options, pool, home, chosen)


def _pools(machine: Machine, options: PlanOptions) -> list[Pool]:
    """Where the arena may be, what comes first first. Raises UsageError."""
    asked, budget = options[ARENA], options[SRAM_BUDGET]
    if asked is None:
        first = sram_pool(machine, budget)
        return [first, *(pool.cut(budget) for pool in data_pools(machine) if pool.name != first.name)]
    holds = [one.name for one in machine.memory.values() if one.writable and one.kind in ("sram", "tcm", "sdram")]
    if asked not in holds:
        what = f"{machine.memory[asked].kind} of" if asked in machine.memory else "no region of"
        raise UsageError(f"--arena {quoted(asked)}: {what} {machine.name}; data can be in {', '.join(holds)}")
    pool = region_pool(machine, asked)
    if budget is not None and budget > pool.size:
        raise UsageError(f"an SRAM budget of {budget:,} B is more than {asked} of {machine.name}: {pool.size:,} B")
    return [pool.cut(budget)]

"""``internal``: everything that changes in on-chip SRAM, weights in flash, as TFLM does it (IM-TFLM in the paper)."""

from __future__ import annotations

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import (
    ARENA,
    PATCH_MACS,
    PATCH_SPLIT,
    PATCHES,
    PERSISTENT,
    SCRATCH,
    SRAM_BUDGET,
    WEIGHTS,
    PatchKeywords,
    PlanOptions,
    RegionKeywords,
)
from mcusim.plan.placement import memory_needs
from mcusim.plan.policies.untiled import whole_program
from mcusim.plan.pools import largest_region, region_pool
from mcusim.plan.ram_pools import chosen_pools
from mcusim.plan.registry import register
from mcusim.program.program import Program
from mcusim.runtime.planning_costs import Costs


class InternalOptions(PatchKeywords, RegionKeywords, total=False):
    """``sram_budget``: the most on-chip RAM, in bytes or as a text (``"9 KiB"``)."""

    sram_budget: int | str | None


OPTIONS = (SRAM_BUDGET, ARENA, PERSISTENT, SCRATCH, PATCHES, PATCH_SPLIT, PATCH_MACS)


@register("internal", "data in on-chip SRAM, weights in flash", options=OPTIONS, order=1)
def plan(graph: Graph, machine: Machine, kernels: Costs, options: PlanOptions) -> Program:
    """Arena (activations, scratch, then the interpreter's data) from the base of a memory up, in the pools of
    :func:`~mcusim.plan.ram_pools.chosen_pools`: nothing is copied, so that no DMA has to reach them. Weights and biases
    in the largest flash, or in the region ``options[WEIGHTS]`` names.

    The code is assumed to be in flash next to the weights; its size is not known to a plan and nothing is reserved for
    it, nor for the stack.

    Raises DoesNotFit (region, needed and available bytes) and UsageError (no flash, unknown region, budget above the
    pool).
    """
    weights = options[WEIGHTS]
    if weights is None:
        flash = largest_region(machine, "flash")
        if flash is None:
            raise UsageError(
                f"machine {machine.name} has no flash for the weights; --weights names a region for them, of"
                f" {', '.join(machine.memory)}"
            )
        weights = flash.name
    home, need = region_pool(machine, weights), memory_needs(graph, kernels, options)
    recorded: dict[str, object] = {"weights": weights, "sram_budget": options[SRAM_BUDGET]}
    pools = chosen_pools(machine, need.sizes, options)
    return whole_program(graph, machine, "internal", kernels, need, pools, home, recorded)

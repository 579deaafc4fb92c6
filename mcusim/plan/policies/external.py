"""``external``: the arena in SDRAM and the weights in external memory too (EM-TFLM in the paper)."""

from __future__ import annotations

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import PATCH_SPLIT, PATCHES, WEIGHTS, PlanOptions
from mcusim.plan.policies.untiled import whole_program
from mcusim.plan.pools import largest_region, region_pool
from mcusim.plan.registry import register
from mcusim.program.program import Program
from mcusim.runtime.planning_costs import Costs

__all__ = ["plan", "sdram"]


@register("external", "data and weights in SDRAM", options=(PATCHES, PATCH_SPLIT), order=2)
def plan(graph: Graph, machine: Machine, kernels: Costs, options: PlanOptions) -> Program:
    """Arena (activations, scratch, interpreter's data) from the base of the SDRAM up; weights after it, or in the
    region ``options[WEIGHTS]`` names (``qspi``: read in place).

    An SRAM budget plays no part: nothing lives in SRAM.

    Raises DoesNotFit and UsageError (no SDRAM, unknown region). Not modelled: the copy of the weights into SDRAM before
    the first inference, which the TinyOps firmware makes once.
    """
    arena = sdram(machine, "external")
    weights = options[WEIGHTS] or arena
    pools = region_pool(machine, arena), region_pool(machine, weights)
    return whole_program(graph, machine, "external", kernels, options, *pools, {"weights": weights})


def sdram(machine: Machine, policy: str) -> str:
    """Name of the machine's SDRAM region; UsageError when it has none."""
    region = largest_region(machine, "sdram")
    if region is None:
        raise UsageError(f"policy '{policy}' needs SDRAM; machine {machine.name} has {', '.join(machine.memory)}")
    return region.name

"""``external``: the arena in SDRAM and the weights in external memory too (EM-TFLM in the paper)."""

from __future__ import annotations

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import (
    PATCH_MACS,
    PATCH_SPLIT,
    PATCHES,
    PERSISTENT,
    SCRATCH,
    WEIGHTS,
    PlanOptions,
)
from mcusim.plan.placement import memory_needs
from mcusim.plan.policies.untiled import whole_program
from mcusim.plan.pools import largest_region, region_pool
from mcusim.plan.ram_pools import pools_apart
from mcusim.plan.registry import register
from mcusim.program.program import Program
from mcusim.runtime.planning_costs import Costs

OPTIONS = (PERSISTENT, SCRATCH, PATCHES, PATCH_SPLIT, PATCH_MACS)


@register("external", "data and weights in SDRAM", options=OPTIONS, order=2)
def plan(graph: Graph, machine: Machine, kernels: Costs, options: PlanOptions) -> Program:
    """Arena (activations, scratch, interpreter's data) from the base of the SDRAM up; weights after it, or in the
    region ``options[WEIGHTS]`` names (``qspi``: read in place).

    :data:`~mcusim.plan.options.PERSISTENT` and :data:`~mcusim.plan.options.SCRATCH` name other regions for the
    interpreter's data and the kernels' scratch buffer. An SRAM budget plays no part: else nothing lives in SRAM.

    Raises DoesNotFit and UsageError (no SDRAM, unknown region). Not modelled: the copy of the weights into SDRAM before
    the first inference, which the TinyOps firmware makes once.
    """
    arena = sdram(machine, "external")
    weights = options[WEIGHTS] or arena
    pools, need = pools_apart(machine, options, region_pool(machine, arena)), memory_needs(graph, kernels, options)
    home = region_pool(machine, weights)
    return whole_program(graph, machine, "external", kernels, need, pools, home, {"weights": weights})


def sdram(machine: Machine, policy: str) -> str:
    """Name of the machine's SDRAM region; UsageError when it has none."""
    region = largest_region(machine, "sdram")
    if region is None:
        raise UsageError(f"policy '{policy}' needs SDRAM; machine {machine.name} has {', '.join(machine.memory)}")
    return region.name

"""Plans that are made once: of the same graph, policy and options for machines that differ in timing alone.

A plan depends on address ranges, kinds of memory, the data cache's line and what a DMA stream can move, and on no clock
or latency; :func:`planned_for` is all of a machine that it may depend on. Not modelled: graphs that are equal and not
the same object.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

from mcusim.errors import DoesNotFit
from mcusim.kernels.cost.profile import Profile
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.description import Machine, Tcm
from mcusim.model.graph import Graph
from mcusim.plan.options import PlanOptions
from mcusim.plan.overlay.emitter import line_bytes
from mcusim.plan.planner import plan
from mcusim.plan.registry import find_policy
from mcusim.program.program import Program

MOST_PLANS = 64


def planned_for(machine: Machine) -> tuple[object, ...]:
    """What of ``machine`` a plan depends on."""
    regions = tuple(
        (replace(region, device=Tcm()), region.kind, region.alias_port) for region in machine.memory.values()
    )
    streams = tuple((dma.name, dma.streams, dma.beat, dma.max_units) for dma in machine.dma.values())
    return machine.name, machine.core.isa, line_bytes(machine), regions, streams


@dataclass(frozen=True, eq=False, slots=True)
class _Kept:
    graph: Graph
    asked: tuple[Any, ...]
    outcome: Program | DoesNotFit


_plans: list[_Kept] = []  # the one used last at the end
_lock = Lock()


def kept_plan(
    graph: Graph, machine: Machine, policy: str, kernels: Profile | KernelSet, options: PlanOptions
) -> Program:
    """:func:`mcusim.plan.plan`, which plans once. Raises what that raises."""
    asked = planned_for(machine), find_policy(policy), options.runtime, options, kernels  # a file's may have changed
    with _lock:
        kept = next((kept for kept in reversed(_plans) if kept.graph is graph and kept.asked == asked), None)
    if kept is None:
        kept = _Kept(graph, asked, _planned(graph, machine, policy, kernels, options))
    with _lock:
        if kept in _plans:
            _plans.remove(kept)
        del _plans[: max(0, len(_plans) + 1 - MOST_PLANS)]
        _plans.append(kept)
    if isinstance(kept.outcome, DoesNotFit):
        raise kept.outcome.with_traceback(None)
    return kept.outcome


def _planned(
    graph: Graph, machine: Machine, policy: str, kernels: Profile | KernelSet, options: PlanOptions
) -> Program | DoesNotFit:
    try:
        return plan(graph, machine, policy, kernels=kernels, options=options)
    except DoesNotFit as reason:
        return reason

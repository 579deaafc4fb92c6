"""From a graph and a machine to a program, by the name of a policy."""

from __future__ import annotations

from collections.abc import Callable

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import PlanOptions
from mcusim.plan.placement import Costs
from mcusim.plan.policies import external, internal, tinyops
from mcusim.plan.program import Program

__all__ = ["plan", "policy_names"]

Policy = Callable[[Graph, Machine, Costs, PlanOptions], Program]
_POLICIES: dict[str, Policy] = {"internal": internal.plan, "external": external.plan, "tinyops": tinyops.plan}


def policy_names() -> tuple[str, ...]:
    """Names :func:`plan` takes as ``policy``."""
    return tuple(_POLICIES)


def plan(graph: Graph, machine: Machine, policy: str, kernels: Costs, options: PlanOptions | None = None) -> Program:
    """The program that runs ``graph`` on ``machine`` under ``policy``; the same arguments give the same program.

    ``kernels`` is a kernel cost profile (it says how much scratch a kernel asks for). Raises UsageError for an unknown
    policy and for options the machine cannot meet, DoesNotFit when a region is too small. Leaves out: choosing the
    order of the operators; they run as stored.
    """
    if policy not in _POLICIES:
        raise UsageError(f"no policy '{policy}'; there are {', '.join(_POLICIES)}")
    if not graph.operators:
        raise UsageError(f"model {graph.name} has no operators: there is nothing to plan")
    return _POLICIES[policy](graph, machine, kernels, options or PlanOptions())

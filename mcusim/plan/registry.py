"""The policies there are: each file of :mod:`mcusim.plan.policies` registers its own, and no other list names them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from mcusim.errors import UsageError
from mcusim.kernels.planning_costs import Costs
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import PlanOptions
from mcusim.program.program import Program

__all__ = ["POLICY_OPTIONS", "Planner", "Policy", "all_policies", "find_policy", "policy_names", "register", "takers"]

Planner = Callable[[Graph, Machine, Costs, PlanOptions], Program]
POLICY_OPTIONS = ("sram_budget", "overlay", "buffering", "variant")
"""Fields of PlanOptions that a policy may take or not; every policy takes the others."""

_REGISTERED: dict[str, Policy] = {}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy by its name: what it does in a few words, which of POLICY_OPTIONS it takes, and its place in lists."""

    name: str
    description: str
    options: tuple[str, ...]
    order: int
    plan: Planner


def register(name: str, description: str, *, options: tuple[str, ...] = (), order: int = 100) -> Callable[..., Planner]:
    """Decorator of a policy's ``plan`` function. Policies are listed by ``order``, then by name.

    Raises ValueError for a name that another policy has, and for an option that is none of :data:`POLICY_OPTIONS`.
    """
    if name in _REGISTERED:
        raise ValueError(f"two policies are called {name!r}")
    unknown = [option for option in options if option not in POLICY_OPTIONS]
    if unknown:
        raise ValueError(f"policy {name!r} takes {unknown[0]!r}; options of policies are {', '.join(POLICY_OPTIONS)}")

    def keep(plan: Planner) -> Planner:
        _REGISTERED[name] = Policy(name, description, options, order, plan)
        return plan

    return keep


def all_policies() -> tuple[Policy, ...]:
    """All policies, in the order in which they are listed and compared."""
    _import_all()
    return tuple(sorted(_REGISTERED.values(), key=lambda policy: (policy.order, policy.name)))


def policy_names() -> tuple[str, ...]:
    """Names that :func:`mcusim.plan.plan` takes as ``policy``."""
    return tuple(policy.name for policy in all_policies())


def find_policy(name: str) -> Policy:
    """The policy of that name. Raises UsageError naming those there are."""
    _import_all()
    if name not in _REGISTERED:
        if name == "all":
            raise UsageError("one policy at a time here; `mcusim compare MODEL --policy all` shows all side by side")
        near = get_close_matches(name[:80], policy_names(), n=1)
        hint = f", did you mean {near[0]}" if near else ""
        known = [f"{policy.name}: {policy.description}" for policy in all_policies()]
        raise UsageError.of_lines(f"no policy {name[:80]!r}{hint}; there are", known)
    return _REGISTERED[name]


def takers(option: str) -> tuple[str, ...]:
    """Names of the policies on whose plans ``option`` has an effect: all, unless it is one of POLICY_OPTIONS."""
    return tuple(one.name for one in all_policies() if option not in POLICY_OPTIONS or option in one.options)


@cache
def _import_all() -> None:
    """Import every file of the folder of policies, so that it registers what it has."""
    package = import_module("mcusim.plan.policies")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")

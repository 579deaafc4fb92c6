"""The policies there are: each file of :mod:`mcusim.plan.policies` registers its own, and no other list names them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import EVERY_PLAN, Option, PlanOptions
from mcusim.program.program import Program
from mcusim.runtime.planning_costs import Costs

Planner = Callable[[Graph, Machine, Costs, PlanOptions], Program]

_REGISTERED: dict[str, Policy] = {}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy by its name: what it does in a few words, the options that it declares, and its place in lists."""

    name: str
    description: str
    options: tuple[Option[Any], ...]
    order: int
    plan: Planner


def register(
    name: str, description: str, *, options: tuple[Option[Any], ...] = (), order: int = 100
) -> Callable[..., Planner]:
    """Decorator of a policy's ``plan`` function. Policies are listed by ``order``, then by name.

    Raises ValueError for a name that another policy has, and for an option of a name that another one has.
    """
    if name in _REGISTERED:
        raise ValueError(f"two policies are called {name!r}")
    known = {option.name: option for policy in _REGISTERED.values() for option in policy.options}
    other = [option.name for option in options if known.get(option.name, option) is not option]
    if other or len({option.name for option in options}) < len(options):
        raise ValueError(f"policy {name!r}: two options are called {(other or [options[0].name])[0]!r}")

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


def policy_options() -> Mapping[str, Option[Any]]:
    """The options that policies declare, by name, in the order of the policies."""
    return {option.name: option for policy in all_policies() for option in policy.options}


def declared_options() -> Mapping[str, Option[Any]]:
    """All that can be chosen about a plan, by name: the options of policies, then those that every policy takes."""
    return {**policy_options(), **{option.name: option for option in EVERY_PLAN}}


def takers(option: str) -> tuple[str, ...]:
    """Names of the policies on whose plans ``option`` has an effect: all, unless policies declare it."""
    declared = option in policy_options()
    return tuple(
        policy.name for policy in all_policies() if not declared or any(o.name == option for o in policy.options)
    )


def policy_label(policy: str, options: Mapping[str, object]) -> str:
    """The policy with those of ``options``, as JSON has them, that are part of its name: ``tinyops 2023``."""
    own = [(option, options.get(name)) for name, option in policy_options().items() if policy in takers(name)]
    named = [(option, value) for option, value in own if option.label and value is not None]
    words = [str(option.label).format(value) for option, value in named if value != option.to_json(option.default)]
    return " ".join([policy, *words])


def plan_options(**given: Any) -> PlanOptions:
    """Options as a user gives them, in any form, None for the default; and ``seconds`` and ``costs`` of PlanOptions.

    Raises UsageError or UnitError for a value that an option does not have.
    """
    declared = declared_options()
    options = {name: given.pop(name) for name in [*given] if name in declared}
    return PlanOptions.of(declared.values(), options, **given)


@cache
def _import_all() -> None:
    """Import every file of the folder of policies, so that it registers what it has."""
    package = import_module("mcusim.plan.policies")
    for module in iter_modules(package.__path__):
        import_module(f"{package.__name__}.{module.name}")

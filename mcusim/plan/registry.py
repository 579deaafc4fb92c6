"""The policies there are: each file of :mod:`mcusim.plan.policies` registers its own, and no other list names them.

One from outside the package registers itself in the same way when it is named (:mod:`mcusim.plug_ins`). It has the
options that ship; one of its own would have to be known before the command line is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.options import EVERY_PLAN, Option, PlanOptions
from mcusim.plug_ins import (
    PlugIn,
    file_sha256,
    find_known,
    guarded,
    installed,
    is_path,
    load,
    load_installed,
    package_of,
    remember,
)
from mcusim.program.check import check_program
from mcusim.program.program import Program
from mcusim.runtime.planning_costs import Costs

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Planner = Callable[[Graph, Machine, Costs, PlanOptions], Program]

_KIND = "policy"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_REGISTERED: dict[str, Policy] = {}


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy by its name: what it does in a few words, the options that it declares, and its place in lists;
    ``plug_in`` is where it is from, None for one that ships."""

    name: str
    description: str
    options: tuple[Option[Any], ...]
    order: int
    plan: Planner
    plug_in: PlugIn | None = None


def register(
    name: str, description: str, *, options: tuple[Option[Any], ...] = (), order: int = 100
) -> Callable[..., Planner]:
    """Decorator of a policy's ``plan`` function. Policies are listed by ``order``, then by name.

    Raises ValueError for a name that another policy has, and for an option of a name that another one has.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"policy {name[:80]!r}: a name has 1 to 40 letters, digits, - and _")
    if name in _REGISTERED:
        raise ValueError(f"two policies are called {name!r}: another one has that name")
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
    """Names that :func:`mcusim.plan.plan` takes as ``policy``: those that ship, that were loaded, and that are
    installed. Raises UsageError where an installed one has the name of one that ships."""
    names = [policy.name for policy in all_policies()]
    for name in _installed():
        names += [] if name in names else [name]
    return tuple(names)


def _installed() -> dict[str, EntryPoint]:
    points = installed(_KIND)
    for name, point in points.items():
        policy = _REGISTERED.get(name)
        if policy is not None and policy.plug_in is None:
            raise UsageError(
                f"policy {name!r} of {package_of(point)} has the name of one that ships: rename it, or uninstall that"
            )
    return points


def find_policy(name: str) -> Policy:
    """The policy of that name, of a file by its path, or of an installed package. Raises UsageError naming those there
    are, or file and line of one that cannot be loaded."""
    _import_all()
    if is_path(name):
        return _from_file(name)
    if name not in _REGISTERED and (plug_in := find_known(_KIND, name)) is not None and not plug_in.package:
        return _from_file(plug_in.file, plug_in.sha256)
    if name not in _REGISTERED and (point := _installed().get(name)) is not None:
        return _from_package(name, point)
    if name not in _REGISTERED:
        if name == "all":
            raise UsageError("one policy at a time here; `mcusim compare MODEL --policy all` shows all side by side")
        near = get_close_matches(name[:80], policy_names(), n=1)
        hint = f", did you mean {near[0]}" if near else ""
        known = [f"{policy.name}: {policy.description}" for policy in all_policies()]
        raise UsageError.of_lines(f"no policy {name[:80]!r}{hint}; there are", known)
    return _REGISTERED[name]


def _from_file(path: str, wanted: str | None = None) -> Policy:
    """The one that a file registers, which may have been loaded before, and may have changed since."""
    full = str(Path(path).absolute())
    before = {policy.name: policy for policy in _REGISTERED.values() if policy.plug_in and policy.plug_in.file == full}
    for policy in before.values():
        if policy.plug_in is not None and Path(full).is_file() and file_sha256(full) == policy.plug_in.sha256:
            return policy
        del _REGISTERED[policy.name]
    shipped = set(_REGISTERED)
    try:
        _, full, digest = load(_KIND, path, wanted)
        return _registered(shipped, path, PlugIn(_KIND, "", full, digest))
    except BaseException:
        for name in [*_REGISTERED.keys() - shipped]:
            del _REGISTERED[name]
        raise


def _from_package(name: str, point: EntryPoint) -> Policy:
    shipped = set(_REGISTERED)
    _, file, digest = load_installed(_KIND, point)
    policy = _registered(shipped, file, PlugIn(_KIND, "", file, digest, package_of(point)))
    if policy.name != name:
        del _REGISTERED[policy.name]
        raise UsageError(f"{file}: the entry point is called {name!r}, and registers policy {policy.name!r}")
    return policy


def _registered(before: Collection[str], shown: str, plug_in: PlugIn) -> Policy:
    """The one policy that was registered since ``before``, by ``plug_in``, which has no name yet."""
    names = [name for name in _REGISTERED if name not in before]
    if len(names) != 1:
        what = f"registers {len(names)} policies, {', '.join(names)}" if names else "registers no policy"
        raise UsageError(f"{shown}: {what}; one plan function is decorated with mcusim.plan.registry.register")
    policy = _REGISTERED[names[0]]
    shipped = {id(option) for other in _REGISTERED.values() if other.name in before for option in other.options}
    own = [option.name for option in policy.options if id(option) not in shipped]
    own = [name for name in own if name not in {option.name for option in EVERY_PLAN}]
    if own:
        raise UsageError(f"{shown}: option {own[0]!r} is its own; a policy from outside takes those that there are")
    plug_in = replace(plug_in, name=policy.name)
    remember([plug_in])
    _REGISTERED[policy.name] = replace(policy, plug_in=plug_in, plan=partial(_planned, policy, plug_in.file))
    return _REGISTERED[policy.name]


def _planned(policy: Policy, file: str, graph: Graph, machine: Machine, costs: Costs, options: PlanOptions) -> Program:
    """The program of a policy from outside, which may do anything. Raises UsageError for what is no program, and
    ProgramError for one that cannot be."""
    with guarded(_KIND, policy.name, file):
        program: object = policy.plan(graph, machine, costs, options)
    if not isinstance(program, Program):
        raise UsageError(f"policy {policy.name}: {Path(file).name}: returns a {type(program).__name__}, not a Program")
    check_program(program, machine)
    return program


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

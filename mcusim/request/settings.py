"""What a row is computed with besides model and machine, and the check of arguments that come from Python."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any

from mcusim.display import Displayed
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import PlanOptions, declared_options, plan_options, require_effect
from mcusim.program.opaque import Costs, parse_costs
from mcusim.program.program import Program
from mcusim.request.kernels import DEFAULT_KERNELS, FIDELITIES, Kernels, resolve
from mcusim.request.period import Period
from mcusim.request.tensors import Input

__all__ = [
    "Execution",
    "Kinds",
    "MachineArg",
    "ModelArg",
    "NameArg",
    "RunRequest",
    "Settings",
    "as_list",
    "base_settings",
    "require_declared",
    "require_overrides",
    "require_type",
    "settings",
]

Kinds = tuple[tuple[type, ...], str]
ModelArg: Kinds = (str, Path, Graph), "a path, a name of `mcusim models` or a Graph"
MachineArg: Kinds = (str, Path, Machine), "a name of `mcusim machines`, a path or a Machine"
NameArg: Kinds = (str,), "a text"
MOST = 10**12  # cycles or instructions
MOST_INVOCATIONS = 1000


@dataclass(frozen=True, slots=True)
class Execution(Displayed):
    """How kernels are executed: their ``code``'s region, an interpreter's cycles an operator (None: the defaults).

    ``invocations``: inferences one after the other, which find caches and state as the one before left them; inputs and
    outputs of more than one have a leading axis for it.

    Of fidelity ``emulate`` alone: ``inputs``, ``.npy`` files or arrays; ``most_instructions`` of a kernel call;
    ``progress``, called with the MACs done and all there are; ``observe``, called with an operator's index and outputs.
    """

    code: str | None = None
    overhead: int | None = None
    inputs: Input | Sequence[Input] | None = None
    most_instructions: int | None = None
    progress: Callable[[int, int], object] | None = None
    observe: Callable[[int, list[Any]], object] | None = None
    invocations: int = 1


@dataclass(frozen=True, slots=True)
class Settings(Displayed):
    """What a row is computed with, besides model and machine."""

    policy: str = "internal"
    kernels: Kernels = field(default_factory=lambda: resolve(DEFAULT_KERNELS, "replay"))
    options: PlanOptions = field(default_factory=PlanOptions)
    fidelity: str = "replay"
    execution: Execution = field(default_factory=Execution)
    period: Period | None = None  # how often the result is wanted; no cycle depends on it


@dataclass(frozen=True, slots=True, eq=False)
class RunRequest(Displayed):
    """What a result is the answer to: ``graph`` was planned with ``settings``, to ``program`` if it fits.

    With ``given`` the program was given, as one read from a file is; then ``graph`` is None unless it was emulated.
    """

    settings: Settings
    graph: Graph | None = None
    program: Program | None = None
    given: bool = False


def require_type(argument: str, value: object, kinds: Kinds) -> None:
    """Raise UsageError naming ``argument`` when ``value`` is none of ``kinds``."""
    types, wanted = kinds
    if not isinstance(value, types):
        raise UsageError(f"{argument} = {repr(value)[:80]}: must be {wanted}, not {type(value).__name__}")


def as_list(argument: str, value: Any, kinds: Kinds) -> list[Any]:
    """``value`` as a list: one item of ``kinds`` alone, or an iterable of such. Raises UsageError."""
    if isinstance(value, kinds[0]):
        return [value]
    if not isinstance(value, Iterable):
        require_type(argument, value, (kinds[0], f"{kinds[1]}, or several"))
    items = list(value)
    for item in items:
        require_type(argument, item, kinds)
    return items


def require_overrides(overrides: object) -> None:
    """Raise UsageError unless ``overrides`` is None or a mapping from machine keys."""
    if overrides is not None:
        require_type("overrides", overrides, ((Mapping,), "a mapping of machine keys to values"))
        as_list("overrides", overrides, ((str,), "a mapping whose keys are machine keys"))


def settings(
    policy: str,
    kernels: str | Kernels | None = None,
    options: Mapping[str, object] | None = None,
    *,
    fidelity: str = "replay",
    execution: Execution | None = None,
    costs: Mapping[str, str] | None = None,
    period: Period | None = None,
) -> Settings:
    """The options of :func:`~mcusim.api.simulate.simulate`, parsed; ``options`` are those of a plan, by
    name. Raises UnitError or UsageError, also for an option without effect, TypeError for one that is not declared,
    and what :func:`~mcusim.request.kernels.resolve` raises for ``kernels``."""
    found = base_settings(kernels, options, fidelity=fidelity, policy=policy, execution=execution, costs=costs)
    require_effect([policy], options or {})
    return replace(found, period=period)


def base_settings(
    kernels: str | Kernels | None = None,
    options: Mapping[str, object] | None = None,
    *,
    fidelity: str = "replay",
    policy: str = "internal",
    execution: Execution | None = None,
    costs: Mapping[str, str] | None = None,
) -> Settings:
    """:func:`settings` for several policies, which may each take other options."""
    for argument, value in (("policy", policy), ("fidelity", fidelity)):
        require_type(argument, value, NameArg)
    if fidelity not in FIDELITIES:
        raise UsageError(
            f"fidelity {fidelity[:80]!r} is not known; choose from: {', '.join(FIDELITIES)}; for `mcusim run` also both"
        )
    require_type("kernels", kernels, ((str, Kernels, type(None)), "a text"))
    require_declared(options or {})
    chosen = plan_options(costs=_costs(costs), **(options or {}))
    asked = _execution(execution or Execution(), fidelity)
    if not isinstance(kernels, Kernels):
        kernels = resolve(kernels, fidelity)
    return Settings(policy, kernels, chosen, fidelity, asked)


def require_declared(options: Mapping[str, object]) -> None:
    """Raise TypeError, as Python does, for a keyword that is no option."""
    for name in options:
        if name not in declared_options():
            raise TypeError(f"got an unexpected keyword argument {name!r}")


def _costs(given: object) -> Costs:
    if given is None:
        return ()
    require_type("costs", given, ((Mapping,), 'a mapping of operators to texts like "12 cycles/B"'))
    assert isinstance(given, Mapping)
    as_list("costs", [*given, *given.values()], ((str,), "a mapping of texts to texts"))
    return parse_costs(given)


def _execution(asked: Execution, fidelity: str) -> Execution:
    """``asked``, checked: whole numbers, and nothing that has no effect."""
    if asked.code is not None:
        require_type("code", asked.code, ((str,), "the name of a region or None"))
    _whole("operator_overhead", asked.overhead, 0)
    _whole("max_instructions", asked.most_instructions, 1)
    if asked.invocations is None or isinstance(asked.invocations, bool):
        raise UsageError(f"invocations = {asked.invocations}: must be a whole number from 1 to {MOST_INVOCATIONS:,}")
    _whole("invocations", asked.invocations, 1, MOST_INVOCATIONS)
    if fidelity == "replay":
        for option, given in (("input", asked.inputs), ("max-instructions", asked.most_instructions)):
            if given is not None:
                raise UsageError(f"--{option} has no effect with --fidelity replay; it is for emulate")
    return asked


def _whole(name: str, value: object, least: int, most: int = MOST) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) <= most:
        raise UsageError(f"{name} = {repr(value)[:80]}: must be a whole number from {least} to {most:,}, or None")

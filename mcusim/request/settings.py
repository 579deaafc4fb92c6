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
from mcusim.plan import OVERLAYS, PlanOptions, require_effect
from mcusim.program.opaque import Costs, parse_costs
from mcusim.program.program import Program
from mcusim.request.kernels import DEFAULT_KERNELS, FIDELITIES, Kernels, resolve
from mcusim.request.period import Period
from mcusim.request.tensors import Input
from mcusim.units import parse_size

__all__ = [
    "ArenaPlan",
    "Execution",
    "Kinds",
    "MachineArg",
    "ModelArg",
    "NameArg",
    "RunRequest",
    "Settings",
    "as_list",
    "base_settings",
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
class ArenaPlan:
    """How the arena is planned: ``order``, ``allocator`` and ``in_place`` of :class:`~mcusim.plan.options.PlanOptions`;
    None is the default of each."""

    order: str | None = None
    allocator: str | None = None
    in_place: bool = False

    def checked(self) -> tuple[str, str | None, bool]:
        """The three, defaults filled in. Raises UsageError for what is no text, or not true or false."""
        for argument, value in (("order", self.order), ("allocator", self.allocator)):
            if value is not None:
                require_type(argument, value, NameArg)
        require_type("in_place", self.in_place, ((bool,), "true or false"))
        return self.order or "default", self.allocator, self.in_place


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
    kernels: str | Kernels | None,
    sram_budget: int | str | None,
    weights: str | None,
    overlay: Iterable[str] | None,
    fidelity: str,
    execution: Execution | None = None,
    buffering: str | None = None,
    arena: ArenaPlan | None = None,
    costs: Mapping[str, str] | None = None,
    variant: int | str | None = None,
    period: Period | None = None,
) -> Settings:
    """The options of :func:`~mcusim.api.simulate.simulate`, parsed; raises UnitError or UsageError, also for an
    option without effect, and what :func:`~mcusim.request.kernels.resolve` raises for ``kernels``."""
    named = (kernels, sram_budget, weights, overlay, fidelity, policy, execution, buffering, arena)
    found = base_settings(*named, costs, variant)
    require_effect([policy], sram_budget, overlay, buffering, variant)
    return replace(found, period=period)


def base_settings(
    kernels: str | Kernels | None,
    sram_budget: int | str | None,
    weights: str | None,
    overlay: Iterable[str] | None,
    fidelity: str,
    policy: str = "internal",
    execution: Execution | None = None,
    buffering: str | None = None,
    arena: ArenaPlan | None = None,
    costs: Mapping[str, str] | None = None,
    variant: int | str | None = None,
) -> Settings:
    """:func:`settings` for several policies, which may each take other options."""
    for argument, value in (("policy", policy), ("fidelity", fidelity)):
        require_type(argument, value, NameArg)
    if fidelity not in FIDELITIES:
        raise UsageError(
            f"fidelity {fidelity[:80]!r} is not known; choose from: {', '.join(FIDELITIES)}; for `mcusim run` also both"
        )
    require_type("kernels", kernels, ((str, Kernels, type(None)), "a text"))
    if weights is not None:
        require_type("weights", weights, ((str,), "the name of a region or None"))
    if isinstance(overlay, str):
        overlay = overlay.split(",")
    copied = OVERLAYS if overlay is None else as_list("overlay", overlay, ((str,), f"some of {', '.join(OVERLAYS)}"))
    if buffering is not None:
        require_type("buffering", buffering, NameArg)
    planned = (arena or ArenaPlan()).checked()
    options = PlanOptions(_budget(sram_budget), weights, frozenset(copied), buffering or "double", *planned)
    options = replace(options, costs=_costs(costs), variant=_variant(variant))
    asked = _execution(execution or Execution(), fidelity)
    if not isinstance(kernels, Kernels):
        kernels = resolve(kernels, fidelity)
    return Settings(policy, kernels, options, fidelity, asked)


def _variant(given: object) -> str:
    if given is None:
        return "2022"
    wanted = "a year, 2022 or 2023"
    if isinstance(given, bool):
        raise UsageError(f"variant = {given}: must be {wanted}, not bool")
    require_type("variant", given, ((str, int), wanted))
    return str(given)


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


def _budget(sram_budget: object) -> int | None:
    if sram_budget is None:
        return None
    if isinstance(sram_budget, str):
        return parse_size(sram_budget)
    wanted = 'whole bytes, text with a unit ("256 KiB") or None'
    if isinstance(sram_budget, bool):
        raise UsageError(f"sram_budget = {sram_budget}: must be {wanted}, not bool")
    require_type("sram_budget", sram_budget, ((Integral,), wanted))
    return int(sram_budget)  # type: ignore[call-overload,no-any-return]

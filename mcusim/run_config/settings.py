"""What a row is computed with besides model and machine, and the check of arguments that come from Python."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mcusim.display import Displayed
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import PlanOptions, declared_options, plan_options, require_effect
from mcusim.plan.options import whole
from mcusim.plan.registry import find_policy
from mcusim.plug_ins import is_path
from mcusim.program.program import Program
from mcusim.program.unknown_operators import Costs, parse_costs
from mcusim.run_config.film_window import FilmWindow
from mcusim.run_config.input_tensors import Input
from mcusim.run_config.kernel_choice import FIDELITIES, Kernels, require_callable, resolve
from mcusim.run_config.period import Period
from mcusim.run_config.run_options import BATTERY, DOMAIN, PERIOD, RUN, SLEEP, STACK_REGION, RunOptions

Kinds = tuple[tuple[type, ...], str]
ModelArg: Kinds = (str, Path, Graph), "a path, a name of `mcusim models` or a Graph"
MachineArg: Kinds = (str, Path, Machine), "a name of `mcusim machines`, a path or a Machine"
NameArg: Kinds = (str,), "a text"
MOST_INSTRUCTIONS = whole("max_instructions", 1, 10**12, metavar="N", help="Stop a kernel call that takes more.")


@dataclass(frozen=True, slots=True)
class Settings(Displayed):
    """What a row is computed with, besides model and machine.

    ``options`` are those of the plan, ``run`` those of the run. Of an emulation: ``inputs`` go in, None for random
    values (of several inferences each array has them along a leading axis of its own), a kernel call ends after
    ``most_instructions``, and ``observe`` is called with an operator's index and outputs. ``progress`` is called with
    the MACs done and all there are. ``film``: the window of which a film is taken.
    """

    policy: str = "internal"
    kernels: Kernels = field(default_factory=lambda: resolve(None, "replay"))
    options: PlanOptions = field(default_factory=PlanOptions)
    fidelity: str = "replay"
    run: RunOptions = field(default_factory=RunOptions)
    inputs: Input | Sequence[Input] | None = None
    most_instructions: int | None = None
    progress: Callable[[int, int], object] | None = None
    observe: Callable[[int, list[Any]], object] | None = None
    film: FilmWindow | None = None

    @property
    def period(self) -> Period | None:
        """How often the result is wanted; no cycle depends on it."""
        return self.run.period

    def replayed(self, kernels: Kernels) -> Settings:
        """The same by replay of ``kernels``, without what only an emulation has."""
        return replace(
            self, kernels=kernels, fidelity="replay", run=self.run.having(STACK_REGION, None), inputs=None,
            most_instructions=None, progress=None, observe=None,
        )  # fmt: skip


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
    plan: Mapping[str, object] | None = None,
    run: Mapping[str, object] | None = None,
    **others: Any,
) -> Settings:
    """:func:`base_settings` for one policy. Raises UsageError also for an option without effect under it."""
    result = base_settings(kernels, plan, run, policy=policy, **others)
    require_effect([policy], plan or {})
    return result


def base_settings(
    kernels: str | Kernels | None = None,
    plan: Mapping[str, object] | None = None,
    run: Mapping[str, object] | None = None,
    *,
    fidelity: str = "replay",
    policy: str = "internal",
    costs: Mapping[str, str] | None = None,
    inputs: Input | Sequence[Input] | None = None,
    most_instructions: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    observe: Callable[[int, list[Any]], object] | None = None,
    film: str | FilmWindow | None = None,
) -> Settings:
    """The arguments of :func:`~mcusim.api.simulate.simulate`, checked, for several policies, which may each take other
    options: ``plan`` are those of a plan, ``run`` those of a run, by name and as a user gives them.

    Raises UnitError or UsageError, TypeError for a name that is not declared, and what
    :func:`~mcusim.run_config.kernel_choice.resolve` raises for ``kernels``.
    """
    for argument, value in (("policy", policy), ("fidelity", fidelity)):
        require_type(argument, value, NameArg)
    if fidelity not in FIDELITIES:
        raise UsageError(
            f"fidelity {fidelity[:80]!r} is not known; choose from: {', '.join(FIDELITIES)}; for `mcusim run` also both"
        )
    require_type("kernels", kernels, ((str, Kernels, type(None)), "a text"))
    require_declared(plan or {}, declared_options())
    require_declared(run or {}, [option.name for option in RUN])
    most = MOST_INSTRUCTIONS.parse_or_default(most_instructions)
    own = RunOptions.of(RUN, run or {})
    _require_emulation(fidelity, {"input": inputs, "max-instructions": most, STACK_REGION.flag: own[STACK_REGION]})
    chosen = plan_options(costs=_costs(costs), **(plan or {}))
    Period.of(own[PERIOD], own[BATTERY], own[SLEEP], own[DOMAIN])
    if not isinstance(kernels, Kernels):
        kernels = resolve(kernels, fidelity, chosen.runtime)
    require_callable(kernels, chosen.runtime)
    window = film if film is None or isinstance(film, FilmWindow) else FilmWindow.parse(film)
    policy = find_policy(policy).name if is_path(policy) else policy  # a saved program may have any
    return Settings(policy, kernels, chosen, fidelity, own, inputs, most, progress, observe, window)


def _require_emulation(fidelity: str, given: Mapping[str, object]) -> None:
    for option, value in given.items():
        if value is not None and fidelity == "replay":
            raise UsageError(f"--{option} has no effect with --fidelity replay; it is for emulate")


def split(options: Mapping[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """Keywords of a plan, which may be none that is known, and those of a run."""
    run = {option.name for option in RUN}
    return (
        {name: value for name, value in options.items() if name not in run},
        {name: value for name, value in options.items() if name in run},
    )


def require_declared(options: Mapping[str, object], declared: Collection[str]) -> None:
    """Raise TypeError, as Python does, for a keyword that is no option."""
    for name in options:
        if name not in declared:
            raise TypeError(f"got an unexpected keyword argument {name!r}")


def _costs(given: object) -> Costs:
    if given is None:
        return ()
    require_type("costs", given, ((Mapping,), 'a mapping of operators to texts like "12 cycles/B"'))
    assert isinstance(given, Mapping)
    as_list("costs", [*given, *given.values()], ((str,), "a mapping of texts to texts"))
    return parse_costs(given)

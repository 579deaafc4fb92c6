"""Many runs in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Unpack

from mcusim.api.run_program import result_of
from mcusim.api.simulate import changed, replay, simulate_loaded
from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.errors import InputError, UsageError
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import policy_names, require_effect
from mcusim.plan.options import IN_PLACE, PATCHES, RUNTIME, WITHOUT, without_effect
from mcusim.program.unknown_operators import opaque_types, require_known
from mcusim.report.ablation import ablation_json, ablation_table
from mcusim.report.compare_pairs import differences_json
from mcusim.report.text.compare import compare_table, ratio
from mcusim.results import Result, to_json
from mcusim.results.measurement.measured import error_percent
from mcusim.run_config.run_options import ExecutionKeywords
from mcusim.run_config.settings import MachineArg, ModelArg, NameArg, RunRequest, Settings, as_list, base_settings
from mcusim.runtime.runtime import Runtime, find_runtime, runtime_names

__all__ = [
    "BOARDS", "Case", "Comparison", "ablation_cases", "compare_cases", "compare_programs", "product_cases",
    "runtime_bases",
]  # fmt: skip

BOARDS = ("stm32f469i-disco", "stm32f746g-disco")


@dataclass(frozen=True)
class Comparison(Displayed, SavedAsJson, SavedAsPage):
    """Results in the order asked for; ``str()`` is the table, of an ablation its steps."""

    rows: tuple[Result, ...]

    def __str__(self) -> str:
        return ablation_table(self.rows) if self.ablation else compare_table(self.rows)

    @property
    def ablation(self) -> bool:
        """Whether the rows are steps from an interpreter to compiled code."""
        return any(row.step for row in self.rows)

    def to_json(self) -> dict[str, Any]:
        """``rows`` as :func:`~mcusim.results.to_json` gives them, ``external_over_tinyops`` by model and machine, and
        ``differences``: why rows of a model differ in latency (:func:`mcusim.report.compare_pairs.differences_json`);
        of an ablation ``ablation`` too (:func:`mcusim.report.ablation.ablation_json`).
        """
        groups = groupby(self.rows, key=lambda row: (row.model, row.machine.name, row.machine.changes))
        ratios = [_ratio(model, machine, list(rows)) for (model, machine, _), rows in groups]
        entries = {
            "rows": [to_json(row) for row in self.rows],
            "external_over_tinyops": [r for r in ratios if r],
            "differences": differences_json(self.rows),
        }
        return entries | ({"ablation": ablation_json(self.rows)} if self.ablation else {})

    def _line(self) -> str:
        models = len({row.model for row in self.rows})
        ran = sum(row.fits for row in self.rows)
        return f"{len(self.rows)} rows of {models} model{'' if models == 1 else 's'}, {ran} ran"


def _ratio(model: str, machine: str, rows: Sequence[Result]) -> dict[str, Any] | None:
    pair = ratio(rows)
    if pair is None:
        return None
    simulated, published = pair
    line: dict[str, Any] = {"model": model, "machine": machine, "simulated": simulated}
    if published is not None:
        line |= {"measured": published, "error_percent": error_percent(simulated, published)}
    return line


@dataclass(frozen=True, slots=True)
class Case:
    """One row to simulate."""

    model: str | Path | Graph
    machine: str | Path | Machine
    settings: Settings
    step: str = ""  # of an ablation


def product_cases(
    models: str | Path | Graph | Iterable[str | Path | Graph],
    machines: str | Path | Machine | Iterable[str | Path | Machine] | None,
    policies: str | Iterable[str] | None,
    bases: Sequence[Settings],
) -> list[Case]:
    """Every model on every machine (default: the two Discovery boards) under every policy (default: all there are) with
    each of ``bases``, the settings of a runtime.

    One model, machine or policy need not be in a list. Raises UsageError for an argument of another type.
    """
    networks = as_list("models", models, ModelArg)
    targets = as_list("machines", machines if machines is not None else BOARDS, MachineArg)
    names = as_list("policies", policies if policies is not None else policy_names(), NameArg)
    return [Case(m, t, replace(b, policy=p)) for m in networks for t in targets for p in names for b in bases]


def runtime_bases(
    kernels: str | None, plan: Mapping[str, object], run: Mapping[str, object], **others: Any
) -> list[Settings]:
    """:func:`~mcusim.run_config.settings.base_settings` for each runtime in ``plan``: a name, a text with commas,
    a list.

    Of several, ``kernels`` are for those that do not have kernels of their own, and what is for compiled code alone is
    for those that compile. Raises what that raises.
    """
    raw = plan.get(RUNTIME.name)
    texts = raw.split(",") if isinstance(raw, str) else raw
    several = [texts] if not isinstance(texts, Iterable) else [t.strip() if isinstance(t, str) else t for t in texts]
    named = {name: find_runtime(RUNTIME.given(name)) for name in several}
    refused = [set(without_effect(runtime, plan)) for runtime in named.values()]
    for_some = {name for names in refused for name in names} - set[str].intersection(*refused)
    settings = []
    for name, runtime in named.items():
        options = {key: None if key in without_effect(runtime, for_some) else value for key, value in plan.items()}
        own = len(several) > 1 and runtime.own_kernels
        settings.append(base_settings(None if own else kernels, {**options, RUNTIME.name: name}, run, **others))
    return settings


def ablation_cases(
    models: str | Path | Graph | Iterable[str | Path | Graph],
    machines: str | Path | Machine | Iterable[str | Path | Machine] | None,
    policies: str | Iterable[str] | None,
    kernels: str | None,
    plan: Mapping[str, object],
    run: Mapping[str, object],
    **others: Any,
) -> list[Case]:
    """The cases of :func:`product_cases`, each at every step to the runtime in ``plan``, by default under ``internal``.

    ``kernels`` are an interpreter's. Raises UsageError for a runtime without steps and for what the steps choose.
    """
    runtime = find_runtime(RUNTIME.given(plan.get(RUNTIME.name)))
    _require_ladder(runtime, kernels, plan)
    bases = []
    for step in runtime.ladder:
        chosen = {**plan, RUNTIME.name: step.runtime, WITHOUT.name: sorted(step.without) or None}
        chosen[IN_PLACE.name] = step.in_place if step.runtime == runtime.name else None
        own = find_runtime(step.runtime).without(step.without).own_kernels
        bases.append((step.name, base_settings(None if own else kernels, chosen, run, **others)))
    cases = product_cases(models, machines, policies or "internal", [base for _, base in bases])
    return [replace(case, step=bases[i % len(bases)][0]) for i, case in enumerate(cases)]


def _require_ladder(runtime: Runtime, kernels: str | None, plan: Mapping[str, object]) -> None:
    """Raise UsageError for a runtime without steps, for kernels that are its own, and for what the steps choose."""
    if not runtime.ladder:
        able = " or ".join(name for name in runtime_names() if find_runtime(name).ladder)
        raise UsageError(f"--ablation takes apart a compiled runtime: name {able} with --runtime")
    both = "with and without it"
    for option, steps in ((WITHOUT, both), (IN_PLACE, both), (PATCHES, "of the uncut network")):
        if (given := plan.get(option.name)) is not None:
            flag = f"no-{option.flag}" if given is False else option.flag
            raise UsageError(f"--{flag} has no effect with --ablation, whose steps are {steps}")
    if kernels is not None and kernels in runtime.kernels:
        raise UsageError(
            f"--kernels {kernels} are those of {runtime.name}, which --ablation comes to step by step: name those of an"
            " interpreter, or none"
        )


def compare_cases(
    cases: Sequence[Case],
    *,
    overrides: Mapping[str, str] | None = None,
    allow_unknown: bool = False,
    progress: Callable[[Result], None] | None = None,
) -> Comparison:
    """Simulate the cases in order; ``progress`` is called with each finished row.

    Models and machines are loaded once each, and names checked, before the first row: an unusable one stops the
    comparison with an InputError.
    """
    from mcusim.model import load_model

    require_effect([case.settings.policy for case in cases], {})
    graph = cache(lambda model: load_model(model, allow_unknown))
    machine = cache(lambda name: changed(name, overrides))
    loaded = [
        (
            case,
            case.model if isinstance(case.model, Graph) else graph(case.model),
            changed(case.machine, overrides) if isinstance(case.machine, Machine) else machine(case.machine),
        )
        for case in cases
    ]
    types = dict.fromkeys(name for _, model, _ in loaded for name in opaque_types(op.type for op in model.operators))
    for costs in {case.settings.options.costs for case in cases}:
        require_known(types, costs)
    rows = []
    for case, model, target in loaded:
        rows.append(_row(case, model, target))
        if progress is not None:
            progress(rows[-1])
    return Comparison(tuple(rows))


def compare_programs(
    programs: Sequence[str | Path],
    machines: Sequence[str] | None,
    overrides: Mapping[str, str] | None = None,
    **options: Unpack[ExecutionKeywords],
) -> Comparison:
    """Program files replayed on each of ``machines``; None: each on the one that it was written for."""
    targets: Sequence[str | None] = machines or [None]
    rows = [replay(program, target, overrides=overrides, **options) for program in programs for target in targets]
    return Comparison(tuple(rows))


def _row(case: Case, model: Graph, machine: Machine) -> Result:
    try:
        result = simulate_loaded(model, machine, case.settings)
    except InputError as error:
        result = result_of(RunRequest(case.settings, model), machine, error)
    return replace(result, step=case.step)

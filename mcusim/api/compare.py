"""Many runs in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any, Unpack

from mcusim.api.cases import BOARDS, Case
from mcusim.api.run_program import result_of
from mcusim.api.simulate import changed, replay, simulate_loaded
from mcusim.api.table_cases import tinyops_cases
from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.errors import InputError, UsageError
from mcusim.machine import machine_names
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import policy_names, require_effect
from mcusim.plan.options import IN_PLACE, PATCHES, RUNTIME, WITHOUT, without_effect
from mcusim.plan.registry import find_policy
from mcusim.program.unknown_operators import opaque_types, require_known
from mcusim.report.compare.ablation import ablation_json, ablation_table
from mcusim.report.compare.pairs import differences_json, paired
from mcusim.report.compare.table import compare_table, ratio
from mcusim.results import Result, to_json
from mcusim.results.measurement.interval import Ratios
from mcusim.results.measurement.measured import error_percent
from mcusim.results.provenance import rows_made
from mcusim.run_config.kernel_choice import stands_for
from mcusim.run_config.run_options import RUN, ExecutionKeywords, RunKeywords, documented
from mcusim.run_config.settings import (
    MachineArg,
    ModelArg,
    NameArg,
    RunRequest,
    Settings,
    as_list,
    base_settings,
    require_overrides,
    split,
)
from mcusim.runtime.runtime import Runtime, find_runtime, runtime_names


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
        ``differences``: why rows of a model differ in latency (:func:`mcusim.report.compare.pairs.differences_json`);
        of an ablation ``ablation`` too (:func:`mcusim.report.compare.ablation.ablation_json`).
        """
        groups = groupby(self.rows, key=lambda row: (row.model, row.machine.name, row.machine.changes))
        ratios = [_ratio(model, machine, list(rows)) for (model, machine, _), rows in groups]
        entries = {
            "rows": [to_json(row) for row in self.rows],
            "made": rows_made(self.rows).to_json(),
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


@documented(*RUN)
def compare(
    models: str | Path | Graph | Iterable[str | Path | Graph] | None = None,
    machines: str | Path | Machine | Iterable[str | Path | Machine] | None = None,
    policies: str | Iterable[str] | None = None,
    kernels: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    allow_unknown: bool = False,
    costs: Mapping[str, str] | None = None,
    fidelity: str = "replay",
    ablation: bool = False,
    **options: Unpack[RunKeywords],
) -> Comparison:
    """Every model on every machine under every policy; without models, the TinyOps paper's Table 3.

    Options are those of :func:`~mcusim.api.simulate.simulate`, ``runtime`` also several (``"tflm,tinyengine"``);
    machines (``"all"``: those that ship) default to the paper's, policies to all, and one of them need not be in a
    list. A row that does not fit, or that a policy cannot plan on a machine, is a row with its reason. Raises
    :class:`~mcusim.errors.InputError` for a model, machine, key or option that cannot be used, or an option that none
    of the policies takes.
    ``ablation``: a row for each technique of ``runtime``, added one after the other to an interpreter; policy
    ``internal`` where none is named.

    Not modelled: what :func:`~mcusim.api.simulate.simulate` leaves out.
    """
    require_overrides(overrides)
    cases = comparison_cases(
        models, machines, policies, kernels, *split(options), ablation=ablation, fidelity=fidelity, costs=costs
    )
    return compare_cases(cases, overrides=overrides, allow_unknown=allow_unknown)


def comparison_cases(
    models: str | Path | Graph | Iterable[str | Path | Graph] | None,
    machines: str | Path | Machine | Iterable[str | Path | Machine] | None,
    policies: str | Iterable[str] | None,
    kernels: str | None,
    plan: Mapping[str, object],
    run: Mapping[str, object],
    *,
    table: int | None = None,
    ablation: bool = False,
    **others: Any,
) -> list[Case]:
    """What :func:`compare` simulates, checked; without models those of ``table`` of the TinyOps paper. Raises what that
    raises."""
    if models is not None and table is not None:
        raise UsageError("--table names its own models; leave out MODEL or --table")
    if ablation:
        if models is None:
            raise UsageError("--ablation takes a MODEL")
        cases = ablation_cases(models, machines, policies, kernels, plan, run, **others)
    else:
        bases = runtime_bases(kernels, plan, run, **others)
        if models is None:
            number = 3 if table is None else table
            cases = [case for base in bases for case in tinyops_cases(number, machines, policies, base)]
        else:
            cases = product_cases(models, machines, policies, bases)
    require_effect([case.settings.policy for case in cases], plan)
    return cases


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
    every = machine_names() if machines == "all" else machines
    targets = as_list("machines", every if every is not None else BOARDS, MachineArg)
    chosen = as_list("policies", policies if policies is not None else policy_names(), NameArg)
    names = [find_policy(name).name for name in chosen]
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
    named = {name: find_runtime(RUNTIME.parse_or_default(name)) for name in several}
    refused = [set(without_effect(runtime, plan)) for runtime in named.values()]
    for_some = {name for names in refused for name in names} - set[str].intersection(*refused)
    settings = []
    for name, runtime in named.items():
        options = {key: None if key in without_effect(runtime, for_some) else value for key, value in plan.items()}
        other = len(several) > 1 and (kernels is None or not runtime.takes(stands_for(kernels)))
        settings.append(base_settings(None if other else kernels, {**options, RUNTIME.name: name}, run, **others))
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
    runtime = find_runtime(RUNTIME.parse_or_default(plan.get(RUNTIME.name)))
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
    if kernels is not None and stands_for(kernels) in (*runtime.kernels, *runtime.profiles):
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
    return _with_ratios(rows)


def compare_programs(
    programs: Sequence[str | Path],
    machines: Sequence[str] | None,
    overrides: Mapping[str, str] | None = None,
    **options: Unpack[ExecutionKeywords],
) -> Comparison:
    """Program files replayed on each of ``machines``; None: each on the one that it was written for."""
    targets: Sequence[str | None] = machines or [None]
    rows = [replay(program, target, overrides=overrides, **options) for program in programs for target in targets]
    return _with_ratios(rows)


def _row(case: Case, model: Graph, machine: Machine) -> Result:
    try:
        result = simulate_loaded(model, machine, case.settings)
    except InputError as error:
        result = result_of(RunRequest(case.settings, model), machine, error)
    return replace(result, step=case.step)


def _with_ratios(rows: list[Result]) -> Comparison:
    """Each with its ratio over the row that it is explained by."""
    places: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        places.setdefault(row.model, []).append(index)
    for numbers in places.values():
        for base, number in paired([rows[index] for index in numbers]):
            own = rows[numbers[number]]
            rows[numbers[number]] = replace(own, ratios=_ratios(rows[numbers[base]], own))
    return Comparison(tuple(rows))


def _ratios(base: Result, result: Result) -> Ratios | None:
    """Of ``result`` over ``base``; None where there is nothing to divide by."""
    if base.interval is None or result.interval is None or base.energy is None or result.energy is None:
        return None
    from mcusim.measurements.interval.intervals import ratios

    return ratios((result.interval.situation, result.energy), (base.interval.situation, base.energy))

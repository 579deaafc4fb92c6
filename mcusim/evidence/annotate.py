"""Published figures and accuracy around the public calls: what was measured of a run, and how far it can be believed.

The calls of :mod:`mcusim.api` know nothing of publications; ``mcusim.simulate`` and ``mcusim.compare`` are those here.
Not modelled: what :mod:`mcusim.evidence.published.matching` and
:mod:`mcusim.evidence.interval.error_model` say they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, Unpack

from mcusim import api
from mcusim.api.compare import Case, Comparison, ablation_cases, compare_cases, product_cases, runtime_bases
from mcusim.api.diff import diff as api_diff
from mcusim.api.fidelity_comparison import FidelityComparison
from mcusim.errors import UsageError
from mcusim.evidence.interval.intervals import interval, ratios
from mcusim.evidence.interval.situation import situation
from mcusim.evidence.published.deviation import differs_from_published
from mcusim.evidence.published.matching import published_for, published_for_program
from mcusim.evidence.published.table_cases import tinyops_cases
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import require_effect
from mcusim.report.compare_pairs import paired
from mcusim.results import Result
from mcusim.results.energy import Energy
from mcusim.results.measurement.interval import Interval, Ratios
from mcusim.results.measurement.measured import Measured
from mcusim.results.saved.run_difference import RunDifference
from mcusim.results.saved.saved_run import SavedRun
from mcusim.run_config.run_options import RUN, RunKeywords, documented
from mcusim.run_config.settings import RunRequest, require_overrides, split

__all__ = ["annotate", "annotate_both", "annotate_rows", "compare", "comparison_cases", "diff", "replay", "simulate"]

P = ParamSpec("P")


def annotate(result: Result) -> Result:
    """``result`` with the published figures of that very experiment, and where a measurement of it is expected.

    A result that was put together by hand, without a ``request``, is returned as it is, and so is a firmware's own
    schedule: what was published is of inferences.
    """
    request = result.request
    if request is None or (result.run is not None and result.run.header.recorded):
        return result
    expected = None if result.run is None else _interval_of(result, request)
    return replace(result, measured=_measured(result, request), interval=expected)


def annotate_rows(comparison: Comparison) -> Comparison:
    """Every row of it, annotated, with its ratio over the row that it is explained by."""
    rows = [annotate(row) for row in comparison.rows]
    places: dict[str, list[int]] = {}
    for index, row in enumerate(rows):
        places.setdefault(row.model, []).append(index)
    for numbers in places.values():
        for base, number in paired([rows[place] for place in numbers]):
            rows[numbers[number]] = replace(
                rows[numbers[number]], ratios=_ratios(rows[numbers[base]], rows[numbers[number]])
            )
    return replace(comparison, rows=tuple(rows))


def _ratios(base: Result, result: Result) -> Ratios | None:
    """Of ``result`` over ``base``; None where there is nothing to divide by."""
    if base.interval is None or result.interval is None or base.energy is None or result.energy is None:
        return None
    return ratios((result.interval.situation, result.energy), (base.interval.situation, base.energy))


def annotate_both(both: FidelityComparison) -> FidelityComparison:
    """Both fidelities, annotated."""
    return replace(both, replay=annotate(both.replay), emulate=annotate(both.emulate))


def _measured(result: Result, request: RunRequest) -> Measured | None:
    if request.graph is not None and not request.given:
        return published_for(request.graph, result.machine, request.settings, request.program)
    assert request.program is not None
    return published_for_program(request.program, result.machine, request.settings)


def _interval_of(result: Result, request: RunRequest) -> Interval | None:
    assert result.run is not None and result.energy is not None
    chosen = request.settings
    deviation = differs_from_published(result.run.header, result.machine, chosen.run)
    kernels = chosen.kernels.label(result.kernels)
    return interval(situation(result.run, request.program, result.machine, kernels, deviation), result.energy)


def _annotated(call: Callable[P, Result]) -> Callable[P, Result]:
    @wraps(call)
    def annotated(*arguments: P.args, **options: P.kwargs) -> Result:
        return annotate(call(*arguments, **options))

    return annotated


simulate = _annotated(api.simulate)
replay = _annotated(api.replay)


def diff(
    first: str | Path | Result, second: str | Path | Result, *, fail_if: str | Iterable[str] | None = None
) -> RunDifference:
    """What ``second`` takes more than ``first``, in total and operator by operator, and the intervals of the ratios.

    Both are results or JSON files of runs, ``fail_if`` limits such as ``"latency +5 %"``: see
    :func:`mcusim.api.diff.diff`. Raises InputError for a file that is not the JSON of a run, UsageError for a limit
    that cannot be read. Not modelled: ratios of files that mcusim wrote before it had intervals, which are without.
    """
    difference = api_diff(first, second, fail_if=fail_if)
    sides = [(run.situation, _energy_of(run)) for run in (difference.second, difference.first)]
    if any(situation is None or energy is None for situation, energy in sides):
        return difference
    (item, its), (other, others) = sides
    assert item is not None and its is not None and other is not None and others is not None
    return replace(difference, ratios=ratios((item, its), (other, others)))


def _energy_of(run: SavedRun) -> Energy | None:
    latency, joules, current = (run.figures.get(name) for name in ("latency", "energy", "current"))
    if latency is None or joules is None:
        return None
    return Energy(latency, joules, current or 0.0)


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
    machines default to the paper's, policies to all, and one of them need not be in a list. A row that does not fit, or
    that a policy cannot plan on a machine, is a row with its reason. Raises :class:`~mcusim.errors.InputError` for a
    model, machine, key or option that cannot be used, or an option that none of the policies takes.
    ``ablation``: a row for each technique of ``runtime``, added one after the other to an interpreter; policy
    ``internal`` where none is named.

    Not modelled: what :func:`~mcusim.api.simulate.simulate` leaves out.
    """
    require_overrides(overrides)
    cases = comparison_cases(
        models, machines, policies, kernels, *split(options), ablation=ablation, fidelity=fidelity, costs=costs
    )
    return annotate_rows(compare_cases(cases, overrides=overrides, allow_unknown=allow_unknown))


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

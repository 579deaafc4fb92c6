"""Published figures and accuracy around the public calls: what was measured of a run, and how far it can be believed.

The calls of :mod:`mcusim.api` know nothing of publications; ``mcusim.simulate`` and ``mcusim.compare`` are those here.
Not modelled: what :mod:`mcusim.evidence.published.same_experiment` and
:mod:`mcusim.evidence.published.confidence` say they do not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import ParamSpec

from mcusim import api
from mcusim.api.both import Both
from mcusim.api.compare import Comparison, compare_cases, product_cases
from mcusim.evidence.published.confidence import confidence, differs_from_published
from mcusim.evidence.published.same_experiment import published_for, published_for_program
from mcusim.evidence.published.table_cases import tinyops_cases
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import require_effect
from mcusim.request.settings import ArenaPlan, RunRequest, base_settings, require_overrides
from mcusim.results import Result
from mcusim.results.measured import Measured

__all__ = ["annotate", "annotate_both", "annotate_rows", "compare", "replay", "simulate"]

P = ParamSpec("P")


def annotate(result: Result) -> Result:
    """``result`` with the published figures of that very experiment, and with what its latency and energy are worth.

    A result that was put together by hand, without a ``request``, is returned as it is.
    """
    request = result.request
    if request is None:
        return result
    found = replace(result, measured=_measured(result, request))
    return found if found.run is None else replace(found, confidence=_confidence_of(found, request))


def annotate_rows(comparison: Comparison) -> Comparison:
    """Every row of it, annotated."""
    return replace(comparison, rows=tuple(annotate(row) for row in comparison.rows))


def annotate_both(both: Both) -> Both:
    """Both fidelities, annotated."""
    return replace(both, replay=annotate(both.replay), emulate=annotate(both.emulate))


def _measured(result: Result, request: RunRequest) -> Measured | None:
    if request.graph is not None and not request.given:
        return published_for(request.graph, result.machine, request.settings, request.program)
    assert request.program is not None
    return published_for_program(request.program, result.machine, request.settings)


def _confidence_of(result: Result, request: RunRequest) -> str:
    assert result.run is not None
    chosen = request.settings
    deviation = differs_from_published(result.run.header, result.machine, chosen.execution)
    return confidence(result.machine, chosen.kernels.label(result.kernels), chosen.policy, deviation)


def _annotated(call: Callable[P, Result]) -> Callable[P, Result]:
    @wraps(call)
    def annotated(*arguments: P.args, **options: P.kwargs) -> Result:
        return annotate(call(*arguments, **options))

    return annotated


simulate = _annotated(api.simulate)
replay = _annotated(api.replay)


def compare(
    models: str | Path | Graph | Iterable[str | Path | Graph] | None = None,
    machines: str | Path | Machine | Iterable[str | Path | Machine] | None = None,
    policies: str | Iterable[str] | None = None,
    kernels: str | None = None,
    *,
    overrides: Mapping[str, str] | None = None,
    sram_budget: int | str | None = None,
    weights: str | None = None,
    overlay: Iterable[str] | None = None,
    buffering: str | None = None,
    order: str | None = None,
    allocator: str | None = None,
    in_place: bool = False,
    allow_unknown: bool = False,
    costs: Mapping[str, str] | None = None,
    fidelity: str = "replay",
) -> Comparison:
    """Every model on every machine under every policy; without models, the TinyOps paper's Table 3.

    Options are those of :func:`~mcusim.api.simulate.simulate`; machines default to the paper's, policies to all, and
    one of them need not be in a list. A row that does not fit, or that a policy cannot plan on a machine, is a row with
    its reason. Raises :class:`~mcusim.errors.InputError` for a model, machine, key or option that cannot be used, or an
    option that none of the policies takes.

    Not modelled: what :func:`~mcusim.api.simulate.simulate` leaves out.
    """
    require_overrides(overrides)
    arena = ArenaPlan(order, allocator, in_place)
    base = base_settings(kernels, sram_budget, weights, overlay, fidelity, "internal", None, buffering, arena, costs)
    if models is None:
        cases = tinyops_cases(3, machines, policies, base)
    else:
        cases = product_cases(models, machines, policies, base)
    require_effect([case.settings.policy for case in cases], sram_budget, overlay, buffering)
    return annotate_rows(compare_cases(cases, overrides=overrides, allow_unknown=allow_unknown))

"""Many runs in one table, simulated and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from mcusim.api.simulate import changed, simulate_row
from mcusim.errors import InputError
from mcusim.evidence.published.same_experiment import measured_row
from mcusim.evidence.published.table_cases import Case, product_cases, tinyops_cases
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import require_effect
from mcusim.report.compare_pairs import differences_json
from mcusim.report.text.compare import compare_table, ratio
from mcusim.request.kernel_choice import profile_for, set_for
from mcusim.request.settings import base_settings, expect_overrides
from mcusim.results import Result, to_json
from mcusim.results.measured import error_percent

__all__ = ["Comparison", "compare", "compare_cases"]


@dataclass(frozen=True)
class Comparison:
    """Results in the order asked for; ``str()`` is the table."""

    rows: tuple[Result, ...]

    def __str__(self) -> str:
        return compare_table(self.rows)

    def to_json(self) -> dict[str, Any]:
        """``rows`` as :func:`~mcusim.results.to_json` gives them, ``external_over_tinyops`` by model and machine, and
        ``differences``: why rows of a model differ in latency (:func:`mcusim.report.compare_pairs.differences_json`).
        """
        groups = groupby(self.rows, key=lambda row: (row.model, row.machine.name, row.machine.changes))
        ratios = [_ratio(model, machine, list(rows)) for (model, machine, _), rows in groups]
        return {
            "rows": [to_json(row) for row in self.rows],
            "external_over_tinyops": [r for r in ratios if r],
            "differences": differences_json(self.rows),
        }


def _ratio(model: str, machine: str, rows: Sequence[Result]) -> dict[str, Any] | None:
    found = ratio(rows)
    if found is None:
        return None
    simulated, published = found
    line: dict[str, Any] = {"model": model, "machine": machine, "simulated": simulated}
    if published is not None:
        line |= {"measured": published, "error_percent": error_percent(simulated, published)}
    return line


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
    allow_unknown: bool = False,
    fidelity: str = "replay",
) -> Comparison:
    """Every model on every machine under every policy; without models, the TinyOps paper's Table 3.

    Options are those of :func:`~mcusim.api.simulate.simulate`; machines and policies default to the paper's, and one
    of them need not be in a list. A row that does not fit, or that a policy cannot plan on a machine, is a row with its
    reason. Raises :class:`~mcusim.errors.InputError` for a model, machine, key or option that cannot be used, or an
    option that none of the policies takes.

    Not modelled: what :func:`~mcusim.api.simulate.simulate` does not model.
    """
    expect_overrides(overrides)
    base = base_settings(kernels, sram_budget, weights, overlay, fidelity, buffering=buffering)
    if models is None:
        cases = tinyops_cases(3, machines, policies, base)
    else:
        cases = product_cases(models, machines, policies, base)
    require_effect([case.settings.policy for case in cases], sram_budget, overlay, buffering)
    return compare_cases(cases, overrides=overrides, allow_unknown=allow_unknown)


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

    for kernels, fidelity in dict.fromkeys((case.settings.kernels, case.settings.fidelity) for case in cases):
        _ = profile_for(kernels) if fidelity == "replay" else set_for(kernels)
    require_effect([case.settings.policy for case in cases])
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
    rows = []
    for case, model, target in loaded:
        rows.append(_row(case, model, target))
        if progress is not None:
            progress(rows[-1])
    return Comparison(tuple(rows))


def _row(case: Case, model: Graph, machine: Machine) -> Result:
    try:
        return simulate_row(model, machine, case.settings)
    except InputError as error:
        return Result(
            model=model.name,
            machine=machine,
            policy=case.settings.policy,
            kernels=case.settings.kernels,
            fidelity=case.settings.fidelity,
            macs=None,
            unusable=str(error),
            sram_budget=case.settings.options.sram_budget,
            measured=measured_row(model, machine, case.settings),
        )

"""Many rows beside each other, simulated and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from mcusim.errors import InputError, ModelError
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import require_effect
from mcusim.report import Result, to_json
from mcusim.report.compare_table import compare_table, ratio
from mcusim.report.measured import error_percent
from mcusim.study.cases import MAY_BE_MISSING, Case, product_cases, tinyops_cases
from mcusim.study.published import measured
from mcusim.study.simulate import DEFAULT_KERNELS, base_settings, simulate_row

__all__ = ["Comparison", "compare", "compare_cases"]


@dataclass(frozen=True)
class Comparison:
    """Results in the order asked for; ``str()`` is the table."""

    rows: tuple[Result, ...]

    def __str__(self) -> str:
        return compare_table(self.rows)

    def to_json(self) -> dict[str, Any]:
        """``rows`` as :func:`~mcusim.report.to_json` gives them, and ``external_over_tinyops`` by model and machine."""
        groups = groupby(self.rows, key=lambda row: (row.model, row.machine.name))
        ratios = [_ratio(model, machine, list(rows)) for (model, machine), rows in groups]
        return {"rows": [to_json(row) for row in self.rows], "external_over_tinyops": [r for r in ratios if r]}


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
    models: Iterable[str | Path | Graph] | None = None,
    machines: Iterable[str | Path | Machine] | None = None,
    policies: Iterable[str] | None = None,
    kernels: str = DEFAULT_KERNELS,
    *,
    overrides: Mapping[str, str] | None = None,
    sram_budget: int | str | None = None,
    weights: str | None = None,
    overlay: Iterable[str] | None = None,
    allow_unknown: bool = False,
    fidelity: str = "replay",
) -> Comparison:
    """Every model on every machine under every policy; without models, the TinyOps paper's Table 3.

    Options are those of :func:`~mcusim.study.simulate.simulate`; machines and policies default to the paper's. A row
    that does not fit, or that a policy cannot plan on a machine, is a row with its reason. Raises
    :class:`~mcusim.errors.InputError` for a model, machine, key or option that cannot be used, or an
    option that none of the policies takes.

    Leaves out what :func:`~mcusim.study.simulate.simulate` leaves out.
    """
    overlays = None if overlay is None else list(overlay)
    base = base_settings(kernels, sram_budget, weights, overlays, fidelity)
    if models is None:
        cases = tinyops_cases(3, machines, policies, base)
    else:
        cases = product_cases(models, machines, policies, base)
    require_effect([case.settings.policy for case in cases], sram_budget, overlays)
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
    from mcusim.kernels import load_profile
    from mcusim.model import load_model

    for name in dict.fromkeys(case.settings.kernels for case in cases):
        load_profile(name)
    require_effect([case.settings.policy for case in cases])
    graph = cache(lambda model: load_model(model, allow_unknown))
    machine = cache(lambda name: load_machine(name, overrides))
    loaded = [
        (case, _loaded(case.model, graph), case.machine if isinstance(case.machine, Machine) else machine(case.machine))
        for case in cases
    ]
    rows = []
    for case, model, target in loaded:
        rows.append(_row(case, model, target))
        if progress is not None:
            progress(rows[-1])
    return Comparison(tuple(rows))


def _loaded(model: str | Path | Graph, load: Callable[[str | Path], Graph]) -> Graph | str:
    """The graph, or the name of one of the paper's models that cannot be built."""
    if isinstance(model, Graph):
        return model
    try:
        return load(model)
    except InputError:
        if str(model) in MAY_BE_MISSING:
            return str(model)
        raise


def _row(case: Case, model: Graph | str, machine: Machine) -> Result:
    try:
        if isinstance(model, str):
            raise ModelError("model not available: the papers do not give its architecture")
        return simulate_row(model, machine, case.settings)
    except InputError as error:
        name = model if isinstance(model, str) else model.name
        return Result(
            model=name,
            machine=machine,
            policy=case.settings.policy,
            kernels=case.settings.kernels,
            fidelity=case.settings.fidelity,
            macs=None,
            unusable=str(error),
            sram_budget=case.settings.options.sram_budget,
            measured=measured(name, machine.name, case.settings.policy),
        )

"""Which rows a comparison has: a product of models, machines and policies, or a table of the TinyOps paper."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from mcusim.errors import UsageError
from mcusim.evidence.published.same_experiment import SRAM_BUDGETS
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.request.settings import MACHINE, MODEL, NAME, Settings, many

__all__ = ["POLICIES", "Case", "product_cases", "tinyops_cases"]

POLICIES = ("internal", "external", "tinyops")

_F469, _F746 = "stm32f469i-disco", "stm32f746g-disco"
# the networks with explicit PADs, as they are inferred to have run: mcusim/plan/pytorch_arena.py
_TABLES: dict[int, tuple[tuple[str, str, str], ...]] = {
    2: (
        ("proxyless-w0.25-r160-pad", _F469, "internal"),
        ("proxyless-w0.40-r080-pad", _F469, "tinyops"),
        ("mbv3-w0.40-r096-pad", _F469, "tinyops"),
        ("mcunet-f469-pad", _F469, "tinyops"),
        ("mnasnet-w1.00-r080-pad", _F469, "tinyops"),
        ("mnasnet-w1.00-r096-pad", _F469, "tinyops"),
        ("proxyless-w0.25-r192-pad", _F746, "internal"),
        ("proxyless-w0.85-r064-pad", _F746, "tinyops"),
        ("mcunet-f746-pad", _F746, "tinyops"),
        ("mnasnet-w1.00-r096-pad", _F746, "tinyops"),
        ("mnasnet-w1.00-r128-pad", _F746, "tinyops"),
    ),
    3: tuple(
        (model, machine, policy)
        for model, machine in (("proxyless-w0.25-r160-pad", _F469), ("proxyless-w0.25-r192-pad", _F746))
        for policy in POLICIES
    ),
}


@dataclass(frozen=True, slots=True)
class Case:
    """One row to simulate."""

    model: str | Path | Graph
    machine: str | Path | Machine
    settings: Settings


def product_cases(
    models: str | Path | Graph | Iterable[str | Path | Graph],
    machines: str | Path | Machine | Iterable[str | Path | Machine] | None,
    policies: str | Iterable[str] | None,
    base: Settings,
) -> list[Case]:
    """Every model on every machine (default: both boards of the paper) under every policy (default: all three).

    One model, machine or policy need not be in a list. Raises UsageError for an argument of another type.
    """
    networks = many("models", models, MODEL)
    targets = many("machines", machines if machines is not None else (_F469, _F746), MACHINE)
    names = many("policies", policies if policies is not None else POLICIES, NAME)
    return [Case(m, t, replace(base, policy=p)) for m in networks for t in targets for p in names]


def tinyops_cases(
    table: int = 3,
    machines: str | Path | Machine | Iterable[str | Path | Machine] | None = None,
    policies: str | Iterable[str] | None = None,
    base: Settings | None = None,
) -> list[Case]:
    """The rows of the paper's Table 2 or 3 that have one of ``machines`` and ``policies``; None keeps all.

    Without a budget in ``base``, SRAM is limited as in the paper's Table 1. Raises UsageError for another table or
    when no row is left.
    """
    if table not in _TABLES:
        raise UsageError(f"there is no table {table}; choose one of {', '.join(map(str, sorted(_TABLES)))}")
    kept_machines = None if machines is None else set(map(str, many("machines", machines, MACHINE)))
    kept_policies = None if policies is None else set(many("policies", policies, NAME))
    cases = [
        Case(model, machine, _settings(base or Settings(), machine, policy))
        for model, machine, policy in _TABLES[table]
        if (kept_machines is None or machine in kept_machines) and (kept_policies is None or policy in kept_policies)
    ]
    if not cases:
        raise UsageError(f"table {table} has no row for these machines and policies; name a MODEL to compare others")
    return cases


def _settings(base: Settings, machine: str, policy: str) -> Settings:
    if base.options.sram_budget is None:
        base = replace(base, options=replace(base.options, sram_budget=SRAM_BUDGETS[machine]))
    return replace(base, policy=policy)

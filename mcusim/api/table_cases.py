"""The rows of a table of the TinyOps paper, to be simulated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from mcusim.api.cases import BOARDS, Case
from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.measurements.published.matching import SRAM_BUDGETS
from mcusim.plan import SRAM_BUDGET
from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plan.registry import takers
from mcusim.run_config.settings import MachineArg, NameArg, Settings, as_list

_F469, _F746 = BOARDS
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
        for policy in ("internal", "external", "tinyops")
    ),
}


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
    kept_machines = None if machines is None else set(map(str, as_list("machines", machines, MachineArg)))
    kept_policies = None if policies is None else set(as_list("policies", policies, NameArg))
    cases = [
        Case(model, machine, _settings(base or Settings(), machine, policy))
        for model, machine, policy in _TABLES[table]
        if (kept_machines is None or machine in kept_machines) and (kept_policies is None or policy in kept_policies)
    ]
    if not cases:
        raise UsageError(f"table {table} has no row for these machines and policies; name a MODEL to compare others")
    return cases


def _settings(base: Settings, machine: str, policy: str) -> Settings:
    if base.options[SRAM_BUDGET] is None:
        base = replace(base, options=base.options.having(SRAM_BUDGET, SRAM_BUDGETS[machine]))
    if policy in takers(BUFFER_SIZES.name):  # as the paper's planner has them
        base = replace(base, options=base.options.having(BUFFER_SIZES, "largest"))
    return replace(base, policy=policy)

"""``mcusim compare``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from mcusim.commands.shared import options
from mcusim.commands.shared.declare import argument, flag, option
from mcusim.commands.shared.flat_options import grouped
from mcusim.commands.shared.option_groups import Planning, Written
from mcusim.commands.shared.output import Output, check_outputs, fail, write_bytes
from mcusim.commands.shared.policy_help import ExecutionFlags, GivenPeriod
from mcusim.commands.shared.progress import bar_of_steps
from mcusim.errors import UsageError
from mcusim.text import quantity

if TYPE_CHECKING:
    from mcusim.api.compare import Comparison
    from mcusim.results import Result


Machines = Annotated[
    str | None, option("LIST", "Machines, separated by commas, or all of those that ship.", names="--machine -m")
]
Policies = Annotated[
    str | None, option("LIST", "Policies, separated by commas, or all (default).", names="--policy -p")
]
Explain = Annotated[bool, flag("--explain", "Say below the table why runs of a model differ in time.")]
Html = Annotated[
    Path | None, option("FILE", "Plots: runs on one time scale, and what makes them differ.", names="--html")
]
Brief = Annotated[
    bool, flag("--brief", "A line for each model, boards as columns; exit status 1 when a model fits none of them.")
]
Ablation = Annotated[
    bool, flag("--ablation", "What each technique of a compiled --runtime is worth, from an interpreter on (internal).")
]


@dataclass(frozen=True)
class ComparisonOutputs:
    """What is made of the rows."""

    explain: Explain = False
    brief: Brief = False
    html: Html = None

    def check(self, ablation: bool) -> None:
        """Raise UsageError for what --brief has no room for."""
        others = {"--explain": self.explain, "--html": self.html, "--ablation": ablation}
        named = next((name for name, value in others.items() if value), None)
        if self.brief and named:
            raise UsageError(f"--brief and {named} are two tables: leave one of them out")


@grouped
def compare(
    models: Annotated[list[str] | None, argument("MODEL", "Paths or zoo names; default: the paper's.")] = None,
    *,
    machine: Machines = None,
    policy: Policies = None,
    table: Annotated[int | None, option("N", "A table of the TinyOps paper: 2, or 3 (the default).")] = None,
    planning: Planning,
    kernels: options.Kernels = None,
    fidelity: options.Fidelity = "replay",
    how: ExecutionFlags,
    repeated: GivenPeriod,
    ablation: Ablation = False,
    shown: ComparisonOutputs,
    written: Written,
) -> int:
    """Models x machines x policies in one table, simulated next to measured. Program files (.jsonl) work too.

    Without MODEL: the rows of the TinyOps paper's Table 3 (or --table 2), with the SRAM budgets of its Table 1.

    \b
    Examples:
      mcusim compare my.tflite --machine stm32f469i-disco,stm32f746g-disco
      mcusim compare mcunet-in1 --runtime tflm,tinyengine
      mcusim compare mcunet-vww1 --runtime tinyengine --ablation
      mcusim compare ds-cnn --policy internal,tinyops --explain --html c.html
      mcusim compare ds-cnn mcunet-in1 --machine all --brief
      mcusim compare mbv3-w0.50-r112 --machine stm32f469i-disco --variant 2023
    """
    machines, policies = options.machine_list(machine), options.comma_list(policy, "--policy")
    inputs = [*(models or ()), *(machines or ()), kernels]
    output = written.to(*inputs)
    shown.check(ablation)
    check_outputs([shown.html] if shown.html else [], written.json, inputs, written.force)
    if models and all(model.endswith(".jsonl") for model in models):
        named = {"policy": policy, "table": table, "kernels": kernels, "ablation": ablation or None, **repeated}
        _require_none(named, fidelity, planning)
        return _finish(_programs(models, machines, planning, how), shown, output, written)
    chosen = {"table": table, "ablation": ablation, "fidelity": fidelity}
    comparison = _simulated((models, machines, policies, kernels), planning, {**how, **repeated}, chosen)
    return _finish(comparison, shown, output, written)


def _require_none(named: Mapping[str, object], fidelity: str, planning: Planning) -> None:
    """Raise UsageError for what a program, which is there already, says itself."""
    emulated = None if fidelity == "replay" else fidelity
    for name, value in {**named, "fidelity": emulated, "cost": planning.cost, **planning.given}.items():
        if value is not None:
            flag = f"no-{name}" if value is False else name
            raise UsageError(f"--{flag.replace('_', '-')} is for models: a program (.jsonl) is replayed as it is")


def _finish(comparison: Comparison, shown: ComparisonOutputs, output: Output, written: Written) -> int:
    """Write what was asked for; the exit status."""
    if shown.brief:
        return _brief(comparison.rows, output)
    from mcusim.report.compare.pairs import differences_lines
    from mcusim.report.compare.table import compare_table

    def text() -> str:
        if not comparison.ablation:
            return compare_table(comparison.rows, shown.explain)
        return "\n".join([str(comparison), *(["", *differences_lines(comparison.rows)] if shown.explain else [])])

    _write(shown.html, comparison.rows, written.force)
    output.emit(text, comparison.to_json)
    return _status(comparison.rows)


def _brief(rows: Sequence[Result], output: Output) -> int:
    from mcusim.report.compare.brief import brief_json, brief_table, homeless

    output.emit(lambda: brief_table(rows), lambda: brief_json(rows))
    if models := homeless(rows):
        fail(f"{', '.join(models[:5])}{', ...' if len(models) > 5 else ''} fits no board")
    return 1 if models else 0


def _programs(models: list[str], machines: list[str] | None, planning: Planning, how: ExecutionFlags) -> Comparison:
    """Program files on each machine, by default each on its own."""
    from mcusim.api.compare import compare_programs

    return compare_programs(models, machines, planning.overrides, **how)


def _simulated(
    what: tuple[Any, ...], planning: Planning, run: Mapping[str, object], chosen: Mapping[str, Any]
) -> Comparison:
    """Models, machines, policies and kernels of ``what``."""
    from mcusim.api.compare import compare_cases, comparison_cases

    models, machines, policies, kernels = what
    every = None if policies == ["all"] else policies
    cases = comparison_cases(
        models or None, machines, every, kernels, planning.given, run, costs=planning.costs, **chosen
    )
    with bar_of_steps("simulating", "rows", len(cases)) as step:
        return compare_cases(cases, overrides=planning.overrides, allow_unknown=planning.allow_unknown, progress=step)


def _write(html: Path | None, rows: Sequence[Result], force: bool) -> None:
    if html is not None:
        from mcusim.report.compare.page import compare_page

        write_bytes(html, compare_page(rows).encode(), force)


def _status(rows: Sequence[Result]) -> int:
    """0 when a row ran, within the period if there is one; 1 when none did but one has a verdict, 2 when none could be
    planned."""
    late = [row.duty for row in rows if row.duty is not None and not row.duty.met]
    if any(row.fits for row in rows) and len(late) < sum(row.fits for row in rows):
        return 0
    if late:
        least, period = min(duty.latency_ms for duty in late), quantity(late[0].period_ms, "ms")
        fail(f"no row ends within the period of {period}; the fastest takes {quantity(least, 'ms')}")
        return 1
    fail(f"none of {len(rows)} rows ran; the first: {rows[0].negative or rows[0].unusable}")
    return 1 if any(row.negative for row in rows) else 2

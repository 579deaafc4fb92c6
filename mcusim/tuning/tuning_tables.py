"""A tuning as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mcusim.text import columns, hanging_indent
from mcusim.tuning.config_space import shown
from mcusim.tuning.log import TrialRecord
from mcusim.tuning.tune import TunedTask, TuningPlan

WAITS = {"sdram", "qspi", "dma_wait"}


def tuning_text(plan: TuningPlan, tasks: Sequence[TunedTask]) -> str:
    """A paragraph for each layer with a template, and what kernel sets take for it."""
    lines = [f"{plan.machine.name}, tuner {plan.tuner}, seed {plan.seed}"]
    for task in tasks:
        counts = Counter(record.result for record in task.records)
        more = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in counts.items() if name != "ok")
        lines += ["", task.name, f"  {len(task.records)} trials{f', {more}' if more else ''}"]
        lines += columns(_rows(plan, task), left=1)
        best = task.best
        if best is not None:
            said = task.task.to_json(best.config).get("options")
            lines += hanging_indent(said or shown(best.config), f"  best, trial {best.trial}: ", "    ")
        else:
            lines += hanging_indent(task.records[0].text, "  no trial is right; the first: ", "    ")
    return "\n".join(lines)


def _rows(plan: TuningPlan, task: TunedTask) -> list[list[str]]:
    base = task.default.cycles
    figures = {"default": base, "best": task.best.cycles if task.best else None}
    figures |= {f"kernels {name}": result.cycles for name, result in task.sets.items()}
    if task.best is not None and WAITS & {*task.default.causes}:  # of a plan
        figures["default, waits"], figures["best, waits"] = _waits(task.default), _waits(task.best)
    rows = [["", "cycles", "ms", "of the default"]]
    for name, cycles in figures.items():
        if cycles is None:
            rows.append([name, "-", "-", "-"])
        else:
            ms = f"{cycles / plan.machine.core.clock * 1e3:.3f}"
            rows.append([name, f"{cycles:,.0f}", ms, f"{cycles / base:.3f}" if base else "-"])
    return rows


def _waits(record: TrialRecord) -> float:
    """Cycles of a plan's trial that are for external memory and transfers."""
    return sum(cycles for cause, cycles in record.causes.items() if cause in WAITS)


def tuning_json(plan: TuningPlan, tasks: Sequence[TunedTask]) -> dict[str, Any]:
    """All of it; a record is as in the log."""
    best = {task.name: task.best for task in tasks}
    what = {task.name: task.task.to_json(b.config if (b := best[task.name]) else None) for task in tasks}
    return {
        "machine": plan.machine.name, "clock_hz": plan.machine.core.clock, "tuner": plan.tuner, "seed": plan.seed,
        "tasks": [
            {
                "task": task.name, **what[task.name], "default_cycles": task.default.cycles,
                "best": b.model_dump() if (b := best[task.name]) else None,
                "sets": {name: {"cycles": r.cycles, "causes": dict(r.causes)} for name, r in task.sets.items()},
                "records": [record.model_dump() for record in task.records],
            }
            for task in tasks
        ],
    }  # fmt: skip

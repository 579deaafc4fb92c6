"""A tuning as text and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mcusim.text import columns, hanging
from mcusim.tuning.space import shown
from mcusim.tuning.tune import TunedTask, TuningPlan

__all__ = ["tuning_json", "tuning_text"]


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
            lines += hanging(shown(best.config), f"  best, trial {best.trial}: ", "    ")
        else:
            lines += hanging(task.records[0].text, "  no trial is right; the first: ", "    ")
    return "\n".join(lines)


def _rows(plan: TuningPlan, task: TunedTask) -> list[list[str]]:
    base = task.default.cycles
    figures = {"default": base, "best": task.best.cycles if task.best else None}
    figures |= {f"kernels {name}": result.cycles for name, result in task.sets.items()}
    rows = [["", "cycles", "ms", "of the default"]]
    for name, cycles in figures.items():
        if cycles is None:
            rows.append([name, "-", "-", "-"])
        else:
            ms = f"{cycles / plan.machine.core.clock * 1e3:.3f}"
            rows.append([name, f"{cycles:,.0f}", ms, f"{cycles / base:.3f}" if base else "-"])
    return rows


def tuning_json(plan: TuningPlan, tasks: Sequence[TunedTask]) -> dict[str, Any]:
    """All of it; a record is as in the log."""
    return {
        "machine": plan.machine.name, "clock_hz": plan.machine.core.clock, "tuner": plan.tuner, "seed": plan.seed,
        "tasks": [
            {
                "task": task.name, "template": task.template, "operators": list(task.layer.operators),
                "places": dict(task.layer.places), "default_cycles": task.default.cycles,
                "best": task.best.model_dump() if task.best else None,
                "sets": {name: {"cycles": r.cycles, "causes": dict(r.causes)} for name, r in task.sets.items()},
                "records": [record.model_dump() for record in task.records],
            }
            for task in tasks
        ],
    }  # fmt: skip

"""A board whose figures nobody has printed: measurements simulated on a machine that was changed."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from pathlib import Path

from mcusim.evidence.calibrate.experiments import Rig
from mcusim.evidence.calibrate.measurements import Experiment, Row
from mcusim.evidence.calibrate.parameters import OVERHEAD, candidates
from mcusim.machine import load_machine

QUANTITIES = ("latency_ms", "supply_current_ma")
LOOPS = ("read_u32", "write_u32")


def networks(policies: Sequence[str], models: Sequence[str] = ("ds-cnn",)) -> list[Experiment]:
    return [Experiment(model=model, policy=policy) for model in models for policy in policies]


def loops(base: int, functions: Sequence[str] = LOOPS) -> list[Experiment]:
    return [Experiment(program="memory", function=name, arguments=(hex(base), "8192")) for name in functions]


def measure(
    machine: str,
    changes: Mapping[str, str],
    experiments: Sequence[Experiment],
    quantities: Sequence[str] = QUANTITIES,
    noise: float = 0.0,
) -> list[Row]:
    """What the changed machine gives; ``noise`` is the standard deviation of each number, as a share of it."""
    kinds = {False: quantities, True: ("cycles",)}
    rows = [Row("", e, quantity, 1.0) for e in experiments for quantity in kinds[bool(e.program)]]
    random_ = random.Random(1)
    keys = {key: text for key, text in changes.items() if key != OVERHEAD}
    target = load_machine(machine, keys)
    overhead = {key: float(text.split()[0]) for key, text in changes.items() if key == OVERHEAD}
    values = Rig(target, rows, candidates(target, 0)).simulate(overhead)
    return [
        Row("", row.experiment, row.quantity, value * (1 + noise * random_.gauss(0, 1)))
        for row, value in zip(rows, values, strict=True)
    ]


def write(path: Path, rows: Sequence[Row]) -> Path:
    """The rows as a CSV file."""
    lines = ["model,policy,weights,program,function,arguments,quantity,value,set"]
    for row in rows:
        e = row.experiment
        changes = "; ".join(f"{key}={value}" for key, value in e.set)
        called = (e.program, e.function, " ".join(e.arguments))
        lines.append(",".join((e.model, e.policy, e.weights or "", *called, row.quantity, f"{row.value:.9g}", changes)))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path

"""A replayed and an emulated run of one program side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from mcusim.report.run.changes import change_lines
from mcusim.report.run.interval_text import interval_lines
from mcusim.report.run.verdict_text import timed, verdict_text
from mcusim.results.measurement.measured import output_text
from mcusim.results.result import Result
from mcusim.text import columns, hanging_indent, percent, pick_unit, wrapped


@dataclass(frozen=True)
class OperatorDifference:
    """One operator under both fidelities, in core cycles; waiting for its data is part of both."""

    index: int
    type: str
    replay: int
    emulate: int

    @property
    def percent(self) -> float:
        """By how much the replay differs from the emulation."""
        return 100 * (self.replay - self.emulate) / max(1, self.emulate)

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"difference_percent": self.percent}


def differences(replay: Result, emulate: Result) -> list[OperatorDifference]:
    """Operator by operator; empty when one of the two did not run."""
    if replay.run is None or emulate.run is None:
        return []
    pairs = zip(replay.run.operators, emulate.run.operators, strict=True)
    return [OperatorDifference(a.index, a.type, a.cycles, b.cycles) for a, b in pairs]


def summary(differences: Sequence[OperatorDifference]) -> dict[str, float] | None:
    """Of the operators' absolute differences the median and the largest, and the signed one of the whole run."""
    if not differences:
        return None
    sizes = [abs(difference.percent) for difference in differences]
    whole = OperatorDifference(
        0,
        "",
        sum(difference.replay for difference in differences),
        sum(difference.emulate for difference in differences),
    )
    return {"median": median(sizes), "worst": max(sizes), "run": whole.percent}


def both_table(replay: Result, emulate: Result, slowest: int = 10) -> str:
    """The text that ``mcusim run --fidelity both`` prints."""
    settings = f"policy {replay.planner}: replay of {replay.kernels} and emulation of {emulate.kernels}"
    verdict = [*hanging_indent(text), ""] if (text := _verdict(replay, emulate)) else []
    lines = [*verdict, f"{emulate.model} on {emulate.machine.name}", f"  {settings}"]
    lines += [*change_lines(emulate.machine), ""]
    negative = replay.negative or emulate.negative
    if negative is not None or replay.run is None or emulate.run is None:
        return "\n".join([*lines, *wrapped(str(negative))])
    lines += _figures(replay, emulate)
    lines += ["", "Cycles by cause", *_causes(replay, emulate)]
    operator_differences = differences(replay, emulate)
    shown = sorted(operator_differences, key=lambda difference: (-difference.emulate, difference.index))[:slowest]
    lines += ["", f"Slowest operators ({len(shown)} of {len(operator_differences)})", *_operators(shown)]
    total = summary(operator_differences) or {}
    lines += ["", f"Operators differ by {total['median']:.1f} % in the median, {total['worst']:.1f} % at most."]
    lines += ["", "Output", *(line for output in emulate.outputs for line in wrapped(output_text(output))), ""]
    for result in (replay, emulate):
        lines += interval_lines(result.interval, f", {result.fidelity}")
    return "\n".join(lines).rstrip("\n")


def _verdict(replay: Result, emulate: Result) -> str:
    """That of the emulation, and what the replay says; '' where there is none."""
    text = verdict_text(emulate)
    return f"{text}; replayed {timed(replay)}" if text and replay.run and emulate.run else text


def _figures(replay: Result, emulate: Result) -> list[str]:
    rows = [["", "replay", "emulate", "difference"]]
    for label, name, unit in (
        ("latency", "latency_ms", "ms"),
        ("energy", "energy_mj", "mJ"),
        ("supply current", "supply_current_ma", "mA"),
    ):
        a, b = replay.value(name) or 0.0, emulate.value(name) or 0.0
        scale = pick_unit(unit, [a, b])
        rows.append([label, scale.text(a), scale.text(b), _change(a, b)])
    return columns(rows)


def _causes(replay: Result, emulate: Result) -> list[str]:
    assert replay.run is not None and emulate.run is not None
    rows = [["", "replay", "emulate", "difference"]]
    for cause, cycles in replay.run.by_cause.items():
        other = emulate.run.by_cause[cause]
        if cycles or other:
            rows.append([cause, f"{cycles:,}", f"{other:,}", _change(cycles, other)])
    a, b = replay.run.cycles, emulate.run.cycles
    return columns([*rows, ["total", f"{a:,}", f"{b:,}", _change(a, b)]])


def _operators(differences: Sequence[OperatorDifference]) -> list[str]:
    rows = [["operator", "type", "replay", "emulate", "difference"]]
    rows += [[str(o.index), o.type, f"{o.replay:,}", f"{o.emulate:,}", percent(o.percent)] for o in differences]
    return columns(rows, left=2)


def _change(a: float, b: float) -> str:
    return percent(100 * (a - b) / b) if b else "-"

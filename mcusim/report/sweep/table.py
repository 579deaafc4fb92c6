"""A sweep as text: how its points ended, and the best of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import nan
from typing import Any

from mcusim.plan.policies.tinyops import BUFFER_SIZES
from mcusim.plan.registry import takers
from mcusim.program.unknown_operators import left_out_text
from mcusim.report.run.interval_text import ends, percentage
from mcusim.report.sweep.figures.point_table import StudyLike
from mcusim.results.measurement.interval import LEVEL
from mcusim.text import WIDTH, columns, counted, hanging_indent, kib, pick_unit, quantity, with_unit, wrapped

_BEST = (("fastest", "latency_ms"), ("least energy", "energy_mj"), ("least SRAM", "peak_sram_bytes"))
_FIGURES = (("latency_ms", "ms"), ("energy_mj", "mJ"))
_LISTED = 24  # points without a file
_MODELS = 5  # that are listed
_REASONS = 3  # of failed points that are listed
_SHOWN = 34  # columns of an input's value
Rows = Sequence[Mapping[str, Any]]


def sweep_table(study: StudyLike, rows: Rows, listed: bool = False) -> str:
    """How many of ``rows`` ended how; of each model the best by latency, energy and on-chip RAM, and by the energy of
    each ``period``, with the inputs that differ; and why points failed. Of equals the first is named. ``listed``: every
    point first, or where there are too many that a file has them."""
    rows = [{**row, **{key: with_unit(row[key], study.units.get(key, "")) for key in study.inputs}} for row in rows]
    counts = Counter(str(row["status"]) for row in rows)
    ended = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    lines = [f"{study.title or study.name}: {counted(len(rows), 'point')}, {ended}"]
    varied = [key for key in study.inputs if key != "model" and len({repr(row[key]) for row in rows}) > 1]
    if listed and len(rows) <= _LISTED:
        lines += ["", *_points(rows, varied)]
    elif listed:
        lines += [f"  more than {_LISTED} points: -o, --csv or --json has them"]
    models = list(dict.fromkeys(row["model"] for row in rows if row["status"] == "ok"))
    for model in models[:_MODELS]:
        ran = [row for row in rows if row["status"] == "ok" and row["model"] == model]
        lines += ["", f"  {_short(model)}", *_best(ran, varied), *_periods(ran, varied)]
    if len(models) > _MODELS:
        lines += ["", f"  and {counted(len(models) - _MODELS, 'other model')}"]
    lines += _buffer_rule(study, rows)
    for names in dict.fromkeys(row["left_out"] for row in rows if row.get("left_out")):
        lines += ["", *wrapped(f"totals are {left_out_text(tuple(names.split(', ')))}")]
    reasons = Counter(str(row["error"]) for row in rows if row["status"] != "ok")
    for reason, count in reasons.most_common(_REASONS):
        lines += ["", *wrapped(f"{counted(count, 'point')}: {reason[:400]}")]
    if len(reasons) > _REASONS:
        more = len(reasons) - _REASONS
        lines += ["", f"  and {counted(more, 'other reason')}: the column error has them"]
    return "\n".join(lines)


def _buffer_rule(study: StudyLike, rows: Rows) -> list[str]:
    """That buffers of a policy with a rule for their sizes are not as ``run`` has them, where the study names none."""
    ran = {str(row.get("policy")) for row in rows if row["status"] == "ok"} & {*takers(BUFFER_SIZES.name)}
    if not ran or BUFFER_SIZES.name in study.inputs:
        return []
    flag = f"--{BUFFER_SIZES.name.replace('_', '-')}"
    text = f"{' and '.join(sorted(ran))}: buffers as large as the budget, as run {flag} largest; run alone: the fastest"
    return ["", *wrapped(text)]


def _best(ran: Rows, varied: Sequence[str]) -> list[str]:
    """Of each figure the best point; intervals where the table has them."""
    pairs = [(title, min(ran, key=lambda row: row[column])) for title, column in _BEST]
    latency = pick_unit("ms", [best["latency_ms"] for _, best in pairs])
    energy = pick_unit("mJ", [best["energy_mj"] for _, best in pairs])
    known = all(best.get(name) is not None for _, best in pairs for name in ("latency_low_ms", "energy_low_mj"))
    level = [percentage(LEVEL)] * known
    table = [["", *(_tail(key) for key in varied), latency.unit, *level, energy.unit, *level, "SRAM KiB"]]
    for title, best in pairs:
        cells = [latency.shown(best["latency_ms"]), energy.shown(best["energy_mj"])]
        if known:
            cells.insert(1, ends((best["latency_low_ms"], best["latency_high_ms"]), latency))
            cells.append(ends((best["energy_low_mj"], best["energy_high_mj"]), energy))
        table.append([title, *(_short(best[key]) for key in varied), *cells, kib(best["peak_sram_bytes"])])
    lines = columns(table, left=1 + len(varied), indent=4)
    if max(map(len, lines)) > WIDTH:  # the points side by side
        return columns([list(row) for row in zip(*table, strict=True)], left=1 + len(table), indent=4)
    return lines


def _periods(ran: Rows, varied: Sequence[str]) -> list[str]:
    """Of each period the point of least energy with sleep in the rest; nothing without periods."""
    lines = []
    for period in dict.fromkeys(row["period"] for row in ran if row.get("period") is not None):
        met = [row for row in ran if row["period"] == period and (row["period_energy_mj"] or nan) > 0]
        text = f"every {period}: no point meets that"
        if met:
            best = min(met, key=lambda row: row["period_energy_mj"])
            at = ", ".join(f"{_tail(key)} {_short(best[key])}" for key in varied if key != "period")
            text = f"every {period}: least energy {quantity(best['period_energy_mj'], 'mJ')}{at and f' at {at}'}"
        lines += hanging_indent(text, "    ", "      ")
    return lines


def _points(rows: Rows, varied: Sequence[str]) -> list[str]:
    """Every point with what differs, its figures or how it ended."""
    models = ["model"] if len({row["model"] for row in rows}) > 1 else []
    ran = [row for row in rows if row["status"] == "ok"]
    latency, energy = (pick_unit(unit, [row[name] for row in ran]) for name, unit in _FIGURES)
    table = [[*map(_tail, [*models, *varied]), latency.unit, energy.unit, "SRAM KiB", ""]]
    for row in rows:
        figures = [latency.shown(row["latency_ms"]), energy.shown(row["energy_mj"]), kib(row["peak_sram_bytes"])]
        status = "" if row["status"] == "ok" else str(row["status"])
        table.append([*(_short(row[key]) for key in [*models, *varied]), *figures, status])
    return columns(table, left=len(models) + len(varied))


def _tail(key: str) -> str:
    """The end of a long machine key: ``timing.tRCD``."""
    return ".".join(key.split(".")[-2:])


def _short(value: object) -> str:
    text = "-" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"…{text[1 - _SHOWN :]}"


def estimate_text(name: str, fields: Mapping[str, Any]) -> str:
    """What a dry run found: points, runs and seconds."""
    points, drawn, seconds = fields["points"], fields["points_before_filters"], fields["seconds"]
    kept = f" of {drawn:,} before the filters" if drawn != points else ""
    shared = f", {fields['runs']:,} different runs" if fields["runs"] != points else ""
    lines = [f"{name}: {counted(points, 'point')}{kept}{shared}"]
    if seconds is None:
        return "\n".join([*lines, "  no point that was tried ran, so that the time is not known"])
    share = "in one process" if fields["jobs"] == 1 else f"in {fields['jobs']} processes"
    timed = "1 point that was timed" if fields["timed"] == 1 else f"{fields['timed']} points that were timed"
    return "\n".join([*lines, f"  about {_duration(seconds)} {share}, by {timed}"])


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"

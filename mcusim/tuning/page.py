"""The page of ``mcusim tune``: one offline HTML file.

Not modelled: more than 1,000 lines of a space, which are then evenly taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from math import ceil, floor, log10
from typing import TYPE_CHECKING, Any

from mcusim.report.html.page import PlotFigure, page, plain, shortened, table
from mcusim.report.html.style import LAYOUT, MERGED, PART_COLOURS, axis, tooltip

if TYPE_CHECKING:
    from mcusim.tuning.log import TrialRecord
    from mcusim.tuning.tune import TunedTask, TuningPlan

MOST_LINES = 1000
SPREAD = 0.35  # of the distance between two values: lines of one value lie side by side
BEST, TRIAL, OURS = "#cf5c36", "#8f98a3", "#6ea8dc"
SCALE = ("#1b7f79", "#57a773", "#c2a83e", "#e08e45", "#cf5c36", "#a4243b")  # from fast to slow
# side by side where there is room, each with its own axes
SIDE_BY_SIDE = (
    '<div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));column-gap:1.5rem">'
)
LEAST = 0.015  # of the longest bar: shorter causes are one
_PLAIN: dict[str, Any] = {**LAYOUT, "margin": {"l": 64, "r": 14, "t": 28, "b": 44}}


def tuning_page(plan: TuningPlan, tasks: Sequence[TunedTask]) -> str:
    """For each layer with a template: how the best came, what the model expected, the whole space, and why the best is
    the best. Equal records give equal text."""
    memories = any("policy" in task.task.described for task in tasks)
    made = "planned by its options" if memories else "compiled"
    lead = (
        f"<p>{plain(plan.machine.name)} at {plan.machine.core.clock / 1e6:g} MHz, tuner {plain(plan.tuner)}, seed"
        f" {plan.seed}. Every trial is {made}, run on the emulated core, and compared with LiteRT byte by byte.</p>"
    )
    parts: list[Any] = [lead, _summary(plan, tasks)]
    for task in tasks:
        parts += [f"<h2>{plain(task.name)}</h2>", _outcomes(task)]
        if task.best is not None:
            said = task.task.to_json(task.best.config).get("options")
            parts += [f"<p>The best: <code>{plain(said)}</code></p>"] if said else []
            parts += [SIDE_BY_SIDE, _progress(plan, task), *_expected(plan, task), "</div>"]
            parts += [_causes(plan, task), _space(plan, task)]
    return page("A plan tuned to a board" if memories else "Kernels tuned to a board", parts)


def _summary(plan: TuningPlan, tasks: Sequence[TunedTask]) -> str:
    sets = [*dict.fromkeys(name for task in tasks for name in task.sets)]
    head = ["layer", "configuration", "best, ms", "default, ms", *(f"{name}, ms" for name in sets)]
    rows = []
    for task in tasks:
        figures = [task.best.cycles if task.best else None, task.default.cycles]
        figures += [task.sets[name].cycles if name in task.sets else None for name in sets]
        config = ", ".join(f"{k} {v}" for k, v in task.best.config.items()) if task.best else "-"
        rows.append([plain(task.name), plain(config), *(_ms(plan, cycles) for cycles in figures)])
    return table(head, rows, left=2)


def _ms(plan: TuningPlan, cycles: float | None) -> str:
    return "-" if cycles is None else f"{cycles / plan.machine.core.clock * 1e3:,.3f}"


def _outcomes(task: TunedTask) -> str:
    """How trials ended, with the first text of each other end."""
    counts = Counter(record.result for record in task.records)
    first = {record.result: record.text for record in reversed(task.records)}
    others = [
        f"{count:,} {name.replace('_', ' ')} ({plain(shortened(first[name], 160))})"
        for name, count in counts.items()
        if name != "ok"
    ]
    return f"<p>{len(task.records):,} trials{''.join(f'; {text}' for text in others)}.</p>"


def _hover(plan: TuningPlan, record: TrialRecord) -> str:
    lines = [f"<b>trial {record.trial}</b>: {_ms(plan, record.cycles)} ms"]
    return "<br>".join([*lines, *(f"{plain(name)} {plain(str(value))}" for name, value in record.config.items())])


def _progress(plan: TuningPlan, task: TunedTask) -> PlotFigure:
    """Each trial, the best so far, and what the plain configuration and the kernel sets take."""
    right = [record for record in task.records if record.cycles is not None]
    ms = 1e3 / plan.machine.core.clock
    best = list(accumulate((record.best_of for record in task.records), min))
    shown = [(trial, cycles * ms) for trial, cycles in enumerate(best) if cycles != float("inf")]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "markers", "name": "trial", "x": [r.trial for r in right],
            "y": [(r.cycles or 0.0) * ms for r in right], "text": [_hover(plan, r) for r in right],
            "hovertemplate": "%{text}<extra></extra>", "marker": {"color": TRIAL, "size": 6, "opacity": 0.7},
        },
        {
            "type": "scatter", "mode": "lines", "name": "best so far", "x": [trial for trial, _ in shown],
            "y": [value for _, value in shown], "line": {"color": BEST, "width": 2.5, "shape": "hv"},
            "hovertemplate": "%{y:.3f} ms<extra></extra>",
        },
    ]  # fmt: skip
    for number, (name, result) in enumerate(task.sets.items()):
        if result.cycles is not None:
            traces.append(
                {
                    "type": "scatter", "mode": "lines", "name": plain(name), "x": [0, len(task.records) - 1],
                    "y": [result.cycles * ms] * 2, "hovertemplate": tooltip(plain(name), _ms(plan, result.cycles)),
                    "line": {"color": PART_COLOURS[number], "width": 1.5, "dash": "dash"},
                }
            )  # fmt: skip
    layout = {
        **_PLAIN,
        "xaxis": axis("trial"),
        "yaxis": axis("ms", type="log", tickvals=_ticks(shown)) if shown[0][1] > 2 * shown[-1][1] else axis("ms"),
        "showlegend": True,
    }
    return PlotFigure("<b>Best so far</b>", traces, layout, height=380)


def _ticks(shown: Sequence[tuple[int, float]]) -> list[float]:
    """1, 2, 5 of each decade."""
    last = max(value for _, value in shown)
    first = min(value for _, value in shown)
    decades = range(floor(log10(first)), ceil(log10(last)) + 2)
    return [digit * 10.0**decade for decade in decades for digit in (1, 2, 5)]


def _expected(plan: TuningPlan, task: TunedTask) -> list[PlotFigure]:
    """What the model of the cycles expected against what was measured; none for tuners without one."""
    known = [record for record in task.records if record.cycles is not None and record.predicted]
    if not known:
        return []
    ms = 1e3 / plan.machine.core.clock
    x, y = [(r.predicted or 0.0) * ms for r in known], [(r.cycles or 0.0) * ms for r in known]
    ends = [min(*x, *y), max(*x, *y)]
    traces: list[dict[str, Any]] = [
        {
            "type": "scatter", "mode": "lines", "x": ends, "y": ends, "hoverinfo": "skip",
            "line": {"color": MERGED, "width": 1, "dash": "dot"}, "showlegend": False,
        },
        {
            "type": "scatter", "mode": "markers", "x": x, "y": y, "text": [_hover(plan, r) for r in known],
            "hovertemplate": "%{text}<br>expected %{x:.3f} ms<extra></extra>", "showlegend": False,
            "marker": {"color": OURS, "size": 7, "opacity": 0.8},
        },
    ]  # fmt: skip
    off = sorted(abs(a / b - 1) for a, b in zip(x, y, strict=True))[len(x) // 2]
    layout = {**_PLAIN, "xaxis": axis("expected by the model, ms"), "yaxis": axis("measured, ms")}
    return [PlotFigure(f"<b>Expected and measured</b>: {off:.0%} off in the median", traces, layout, height=380)]


def _causes(plan: TuningPlan, task: TunedTask) -> PlotFigure:
    """Where the cycles went: of the plain configuration, the best one, and the kernel sets."""
    assert task.best is not None
    bars: dict[str, Mapping[str, float]] = {"best": task.best.causes, "default": task.default.causes}
    bars |= {f"kernels {name}": result.causes for name, result in task.sets.items() if result.causes}
    names = sorted({name for causes in bars.values() for name in causes}, key=lambda n: -task.default.causes.get(n, 0))
    bars, ms = _merged(bars), 1e3 / plan.machine.core.clock
    names = [name for name in names if any(name in causes for causes in bars.values())] + ["others"]
    traces = [
        {
            "type": "bar", "orientation": "h", "name": plain(name), "y": [plain(bar) for bar in bars],
            "x": [causes.get(name, 0.0) * ms for causes in bars.values()],
            "marker": {"color": PART_COLOURS[number % len(PART_COLOURS)]},
            "hovertemplate": f"{plain(name)} %{{x:.3f}} ms<extra></extra>",
        }
        for number, name in enumerate(names)
    ]  # fmt: skip
    layout = {
        **_PLAIN, "barmode": "stack", "margin": {"l": 120, "r": 14, "t": 60, "b": 44}, "showlegend": True,
        "xaxis": axis("ms"), "yaxis": axis(autorange="reversed", type="category"),
    }  # fmt: skip
    return PlotFigure(_why(task), traces, layout, height=90 + 52 * len(bars))


def _merged(bars: Mapping[str, Mapping[str, float]]) -> dict[str, Mapping[str, float]]:
    """Causes that are short in all bars as one."""
    longest = max(sum(causes.values()) for causes in bars.values())
    kept = {name for causes in bars.values() for name, cycles in causes.items() if cycles >= LEAST * longest}
    return {
        bar: {name: cycles for name, cycles in causes.items() if name in kept}
        | {"others": sum(cycles for name, cycles in causes.items() if name not in kept)}
        for bar, causes in bars.items()
    }


def _why(task: TunedTask) -> str:
    """The causes that set the best apart from the default, and from the fastest set."""
    assert task.best is not None
    texts = []
    against: dict[str, Mapping[str, float]] = {"the default": task.default.causes}
    sets = {name: result for name, result in task.sets.items() if result.cycles is not None}
    if sets:
        fastest = min(sets, key=lambda name: sets[name].cycles or 0.0)
        against[f"kernels {fastest}"] = sets[fastest].causes
    for name, causes in against.items():
        change = {
            cause: task.best.causes.get(cause, 0.0) - causes.get(cause, 0.0) for cause in {*causes, *task.best.causes}
        }
        total = sum(causes.values())
        largest = sorted(change, key=lambda cause: -abs(change[cause]))[:3]
        parts = ", ".join(f"{plain(cause)} {change[cause] / total:+.0%}" for cause in largest)
        if total:
            texts.append(f"against {plain(name)} {sum(change.values()) / total:+.0%} ({parts})")
    return f"<b>Why the best is the best</b>: {'; '.join(texts)}"


def _space(plan: TuningPlan, task: TunedTask) -> PlotFigure:
    """Each right trial as a line over its knobs and its time, the fastest on top."""
    records = sorted((r for r in task.records if r.cycles is not None), key=lambda r: -r.best_of)
    records = records[:: -(-len(records) // MOST_LINES)]
    knobs = [name for name in task.default.config if len({str(r.config[name]) for r in records}) > 1]
    values = {name: _values(name, records) for name in knobs}
    low, high = records[-1].best_of, records[0].best_of
    traces = []
    for number, colour in reversed([*enumerate(SCALE)]):
        begin, end = (len(records) * (len(SCALE) - 1 - number + k) // len(SCALE) for k in (0, 1))
        part = records[begin:end]
        if not part:
            continue
        traces.append(_lines(plan, part, records, knobs, values, (low, high), colour))
    notes = [
        {
            "text": plain(shortened(str(value), 22)), "x": index, "y": at / max(len(values[name]) - 1, 1), "xref": "x",
            "yref": "y", "xanchor": "left", "yanchor": "middle", "showarrow": False, "font": {"size": 11},
        }
        for index, name in enumerate(knobs)
        for at, value in enumerate(values[name])
    ]  # fmt: skip
    notes += [
        {**notes[0], "text": f"{_ms(plan, cycles)} ms", "x": len(knobs), "y": height}
        for height, cycles in ((0.0, low), (1.0, high))
        if notes
    ]
    labels = [*(plain(name) for name in knobs), "time"]
    layout = {
        **_PLAIN, "margin": {"l": 14, "r": 70, "t": 40, "b": 60}, "annotations": notes, "showlegend": True,
        "xaxis": axis(range=[-0.1, len(labels) - 0.4], zeroline=False),
        "yaxis": axis(range=[-0.3, 1.3], showticklabels=False, showgrid=False, zeroline=False),
        "meta": {"labels": labels},
    }  # fmt: skip
    return PlotFigure(
        "<b>The space</b>: a line each trial, by its time; a legend's entry hides its lines", traces, layout
    )


def _values(name: str, records: Sequence[TrialRecord]) -> list[int | str]:
    items = {record.config[name] for record in records}
    return sorted(items, key=lambda value: (isinstance(value, str), value))


def _lines(
    plan: TuningPlan, part: Sequence[TrialRecord], records: Sequence[TrialRecord], knobs: Sequence[str],
    values: Mapping[str, Sequence[int | str]], ends: tuple[float, float], colour: str,
) -> dict[str, Any]:  # fmt: skip
    """Lines of one colour."""
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str] = []
    low, high = ends
    for record in part:
        beside = SPREAD * (records.index(record) / max(len(records) - 1, 1) - 0.5)
        heights = [(values[name].index(record.config[name]) + beside) / max(len(values[name]) - 1, 1) for name in knobs]
        x += [*range(len(knobs) + 1), None]
        y += [*heights, (record.best_of - low) / (high - low or 1.0), None]
        text += [*[_hover(plan, record)] * (len(knobs) + 1), ""]
    shown = [_ms(plan, record.cycles) for record in (part[-1], part[0])]
    return {
        "type": "scatter", "mode": "lines", "name": f"{shown[0]} – {shown[1]} ms", "x": x, "y": y, "text": text,
        "hovertemplate": "%{text}<extra></extra>", "line": {"color": colour, "width": 1.2}, "opacity": 0.7,
    }  # fmt: skip

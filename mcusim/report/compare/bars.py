"""Runs of one model as plots: lanes on one axis of time, totals, operators, what makes them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcusim.machine.description import Machine
from mcusim.report.html.page import PlotFigure, plain
from mcusim.report.html.style import CAUSE_COLOURS, LAYOUT, axis, legend, tooltip
from mcusim.report.run.figures.lanes import as_json, lanes
from mcusim.report.run.figures.operator_bars import operator_labels
from mcusim.report.run.figures.time_series import lane_chips
from mcusim.results.difference import Difference, in_words
from mcusim.results.energy import ENERGY_COLOURS, operator_energy
from mcusim.text import quantity

if TYPE_CHECKING:
    from mcusim.engine.run import Run

# distinguishable with any colour vision: M. Okabe and K. Ito, "Color Universal Design", 2008
RUN_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#8c8c8c")
_ROW, _BAR = 24, 30  # pixels
_PARTS = 14  # of a difference that are drawn
_LETTER = 5.9


def lanes_compared(runs: Mapping[str, Run]) -> PlotFigure:
    """Operators, core and DMA streams of each run, on one axis of ms; ``runs`` by label, which is plain text."""
    data, notes, at = [], [], 0
    names: dict[int, str] = {}
    for label, run in runs.items():
        rows = lanes(run)
        data.append(as_json(rows, 1e3 / run.clock))
        names |= {-(at + i): lane.name for i, lane in enumerate(rows)}
        notes.append(_heading(f"<b>{plain(label)}</b>, {quantity(run.cycles / run.clock * 1e3, 'ms')}", -at + 0.55))
        at += len(rows) + 1
    longest = max(run.cycles / run.clock * 1e3 for run in runs.values())
    layout: dict[str, Any] = {
        **LAYOUT,
        "margin": {"l": 66, "r": 10, "t": 8, "b": 46},
        "annotations": notes,
        "xaxis": axis("ms", range=[0, longest or 1], zeroline=False, hoverformat=",.4f"),
        "yaxis": {
            "range": [1.5 - at, 1.4], "fixedrange": True, "showgrid": False, "zeroline": False,
            "tickvals": list(names), "ticktext": list(names.values()), "tickfont": {"size": 11},
        },
        "meta": {"lanes": data, "gap": 1},
    }  # fmt: skip
    caption = "<b>On one time scale</b> <span class=dim>drag to zoom, double-click to see all</span>"
    legends = "".join(f"<div>{legend}</div>" for legend in lane_chips(list(runs.values())))
    return PlotFigure(f"{caption}{legends}", [], layout, height=_ROW * (at + 1) + 54)


def totals_figure(runs: Mapping[str, Run], machines: Mapping[str, Machine]) -> list[PlotFigure]:
    """Milliseconds by cause and millijoules by part: one bar a run, the first one on top."""
    labels = [plain(label) for label in runs]
    times = {cause: [run.by_cause.get(cause, 0) / run.clock * 1e3 for run in runs.values()] for cause in CAUSE_COLOURS}
    energy = [operator_energy(run, machines[label]) for label, run in runs.items()]
    joules = {
        part: [sum(own[part] for own in by_operator.values()) for by_operator in energy] for part in ENERGY_COLOURS
    }
    return [
        _stacked("Time by cause", "ms", labels, times, CAUSE_COLOURS),
        _stacked("Energy by what drew it", "mJ", labels, joules, ENERGY_COLOURS),
    ]


def operators_figure(runs: Mapping[str, Run], colours: Mapping[str, str]) -> PlotFigure | None:
    """Milliseconds of each operator, one bar a run; None where the runs have not the same operators."""
    labels = [operator_labels(run) for run in runs.values()]
    if any(names != labels[0] for names in labels) or not labels[0]:
        return None
    values: dict[str, Sequence[float | None]] = {
        plain(label): [o.cycles / run.clock * 1e3 for o in run.operators] for label, run in runs.items()
    }
    return operator_bars(labels[0], values, {plain(label): colours[label] for label in runs}, list(runs))


def operator_bars(
    labels: Sequence[str],
    values: Mapping[str, Sequence[float | None]],
    colours: Mapping[str, str],
    names: Sequence[str] | None = None,
) -> PlotFigure:
    """Milliseconds of each operator, a bar for each of ``values`` that is not None, by a name in plotly's markup.

    ``labels`` are the operators', ``names`` the plain texts of the legend (default: those of ``values``).
    """
    traces = []
    for name, own in values.items():
        shown = [i for i, ms in enumerate(own) if ms is not None]
        texts = [tooltip(f"<b>{name}</b>", f"{labels[i]}: {own[i]:,.4g} ms") for i in shown]
        traces.append(_bar(shown, [own[i] for i in shown], name, colours[name], texts))
    foot = round(_LETTER * max(map(len, labels))) + 24
    layout = {
        **LAYOUT,
        "barmode": "group",
        "bargap": 0.15,
        "margin": {"l": 52, "r": 10, "t": 8, "b": foot},
        "xaxis": {
            "range": [-0.6, len(labels) - 0.4], "showgrid": False, "zeroline": False, "tickfont": {"size": 10},
        },
        "yaxis": axis("ms", rangemode="tozero", nticks=6),
        "meta": {"labels": list(labels)},
    }  # fmt: skip
    caption = f"<b>By operator</b><div>{legend('', dict(zip(names or values, colours.values(), strict=True)))}</div>"
    return PlotFigure(caption, traces, layout, height=230 + foot)


def differences_figure(pairs: Mapping[str, Sequence[Difference]]) -> PlotFigure | None:
    """The largest parts of each difference, ms to the right; ``pairs`` by label. None without any.

    Of more than seven differences the seven largest are drawn.
    """
    largest = sorted(pairs, key=lambda label: -abs(sum(part.ms for part in pairs[label])))[: len(RUN_COLOURS)]
    shown = {label: pairs[label] for label in pairs if label in largest and pairs[label]}
    size: dict[str, float] = {}
    for parts in shown.values():
        for part in parts:
            size[in_words(part)] = max(size.get(in_words(part), 0.0), abs(part.ms))
    names = sorted(size, key=lambda name: (size[name], name))[-_PARTS:]
    if not names:
        return None
    colours = dict(zip(shown, RUN_COLOURS, strict=False))
    traces = []
    for label, parts in shown.items():
        ms = {name: sum(part.ms for part in parts if in_words(part) == name) for name in names}
        texts = [tooltip(f"<b>{plain(label)}</b>", f"{plain(name)}: {value:+,.4g} ms") for name, value in ms.items()]
        bar = _bar(list(ms.values()), list(range(len(names))), plain(label), colours[label], texts)
        traces.append({**bar, "orientation": "h"})
    layout = {
        **LAYOUT,
        "barmode": "group",
        "bargap": 0.4,
        "margin": {"l": 10, "r": 10, "t": 8, "b": 44},
        "xaxis": axis("ms", nticks=7),
        "yaxis": {
            "range": [-0.5, len(names) - 0.2], "showticklabels": False, "showgrid": False, "zeroline": False,
            "fixedrange": True,
        },
        "annotations": [_heading(plain(name), i + 0.3) for i, name in enumerate(names)],
    }  # fmt: skip
    less = [f"{len(size) - len(names)} smaller parts"] if len(size) > len(names) else []
    less += [f"{len(pairs) - len(shown)} smaller differences"] if len(pairs) > len(shown) else []
    more = f"; not drawn: {', '.join(less)}" if less else ""
    caption = f"<b>What takes longer</b> <span class=dim>what takes less points to the left{more}</span>"
    caption += f"<div>{legend('', {k: colours[k] for k in shown})}</div>"
    return PlotFigure(caption, traces, layout, height=70 + len(names) * (30 + 6 * len(shown)))


def _bar(x: Sequence[Any], y: Sequence[Any], name: str, colour: str, texts: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": list(x),
        "y": list(y),
        "marker": {"color": colour, "line": {"width": 0}},
        "hovertemplate": list(texts),
        "showlegend": False,
    }


def _stacked(
    title: str, unit: str, labels: Sequence[str], parts: Mapping[str, Sequence[float]], colours: Mapping[str, str]
) -> PlotFigure:
    shown = {part: values for part, values in parts.items() if any(values)}
    traces = []
    for part, values in shown.items():
        texts = [
            tooltip(f"<b>{part} {value:,.4g} {unit}</b>", label) for label, value in zip(labels, values, strict=True)
        ]
        traces.append({**_bar(values, labels, part, colours[part], texts), "orientation": "h", "width": 0.7})
    layout = {
        **LAYOUT,
        "barmode": "stack",
        "margin": {"l": 10, "r": 10, "t": 8, "b": 44},
        "xaxis": axis(unit, rangemode="tozero", nticks=6),
        "yaxis": {
            "type": "category", "autorange": "reversed", "automargin": True, "showgrid": False, "fixedrange": True,
            "tickfont": {"size": 11},
        },
    }  # fmt: skip
    caption = f"<b>{title}</b><div>{legend('', {part: colours[part] for part in shown})}</div>"
    return PlotFigure(caption, traces, layout, height=62 + _BAR * len(labels))


def _heading(text: str, y: float) -> dict[str, Any]:
    place = {"xref": "x domain", "x": 0, "xanchor": "left", "yref": "y", "y": y, "yanchor": "bottom"}
    return {"text": text, "showarrow": False, **place, "font": {"size": 11}, "borderpad": 0}

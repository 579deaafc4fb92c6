"""Stacked bars by operator: the cycles by what they were spent on, and the energy by what drew it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcusim.machine.description import Machine
from mcusim.report.html.page import PlotFigure, plain, shortened
from mcusim.report.html.style import CAUSE_COLOURS, LAYOUT, axis, legend, tooltip
from mcusim.results.energy import ENERGY_COLOURS, operator_energy

if TYPE_CHECKING:
    from mcusim.engine.run import OperatorRun, Run

_PLOTS, _LETTER = 470, 5.9  # pixels: both plots without labels, a letter of a label


def breakdown_figure(run: Run, machine: Machine) -> PlotFigure:
    """Milliseconds of each operator by cause over its millijoules by part, on one axis of operators.

    The bars' tops are the operator's time and energy; nothing is left out.
    """
    energy = operator_energy(run, machine)
    labels = operator_labels(run)
    causes = causes_of(run)
    parts = [part for part in ENERGY_COLOURS if any(own[part] > 0 for own in energy.values())]
    joules = {part: [energy[o.index][part] for o in run.operators] for part in parts}
    traces = times(run, "y") + _bars(run, joules, ENERGY_COLOURS, "y2", "mJ")
    foot = round(_LETTER * max(map(len, labels), default=0)) + 24
    caption = (
        "<b>Where cycles and energy went, by operator</b>"
        f"<div>{legend('ms', {cause: CAUSE_COLOURS[cause] for cause in causes})}</div>"
        f"<div>{legend('mJ', {part: ENERGY_COLOURS[part] for part in parts})}</div>"
    )
    return PlotFigure(caption, traces, _layout(labels, foot), height=_PLOTS + foot)


def times(run: Run, y: str) -> list[dict[str, Any]]:
    """The milliseconds of each operator: a trace a cause."""
    ms = 1e3 / run.clock
    entries = {cause: [o.by_cause.get(cause, 0) * ms for o in run.operators] for cause in causes_of(run)}
    return _bars(run, entries, CAUSE_COLOURS, y, "ms")


def causes_of(run: Run) -> list[str]:
    """The causes that cost any cycles, in their fixed order."""
    return [cause for cause in CAUSE_COLOURS if run.by_cause.get(cause, 0)]


def operator_labels(run: Run) -> list[str]:
    """One label of the x axis per operator, ``3 CONV_2D``."""
    return [f"{o.index} {plain(shortened(o.type, 24))}" for o in run.operators]


def _layout(labels: Sequence[str], foot: int) -> dict[str, Any]:
    return {
        **LAYOUT,
        "barmode": "stack",
        "margin": {"l": 52, "r": 10, "t": 8, "b": foot},
        "xaxis": {
            "anchor": "y2", "range": [-0.6, max(len(labels), 1) - 0.4], "showgrid": False, "zeroline": False,
            "tickfont": {"size": 10},
        },
        "yaxis": axis("ms", domain=[0.54, 1], rangemode="tozero", nticks=6),
        "yaxis2": axis("mJ", domain=[0, 0.46], rangemode="tozero", nticks=6),
        "meta": {"labels": list(labels)},
    }  # fmt: skip


def _bars(
    run: Run,
    parts: Mapping[str, Sequence[float]],
    colours: Mapping[str, str],
    y: str,
    unit: str,
) -> list[dict[str, Any]]:
    """A trace a part; the pointer shows all parts of its operator."""
    labels = operator_labels(run)
    wholes = [
        _told(operator, label, {part: values[i] for part, values in parts.items()}, unit)
        for i, (operator, label) in enumerate(zip(run.operators, labels, strict=True))
    ]
    return [
        {
            "type": "bar",
            "yaxis": y,
            "name": part,
            "x": [i for i, value in enumerate(values) if value],
            "y": [round(value, 6) for value in values if value],
            "width": 0.86 if len(labels) <= 150 else 1,
            "marker": {"color": colours[part], "line": {"color": "#ffffff", "width": 0}},
            "hovertemplate": [_at(wholes[i], part, value, unit) for i, value in enumerate(values) if value],
            "showlegend": False,
        }
        for part, values in parts.items()
    ]


def _at(whole: str, part: str, value: float, unit: str) -> str:
    return tooltip(f"<b>{part} {value:,.4g} {unit}</b>", whole)


def _told(operator: OperatorRun, label: str, parts: Mapping[str, float], unit: str) -> str:
    whole = sum(parts.values())
    tiles = f", {operator.tiles} tiles" if operator.tiles > 1 else ""
    lines = [f"of {label}{tiles}: {whole:,.4g} {unit}"]
    lines += [f"{part} {value:,.4g} ({value / whole:.0%})" for part, value in parts.items() if value and whole]
    return "<br>".join(lines)

"""Effects of a sweep's inputs: a tornado chart of what each changes alone, and heat maps of latency.

The heat maps are over the two inputs that matter most, one for each model (and machine).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log10
from typing import Any

from mcusim.report.html import style
from mcusim.report.html.page import PlotFigure, plain, shortened
from mcusim.report.sweep.figures.point_table import BAD, GOOD, OUTPUTS, Level, Point, Sweep
from mcusim.text import percent

LAYOUT: dict[str, Any] = {**style.LAYOUT, "margin": {"l": 58, "r": 14, "t": 12, "b": 44}, "showlegend": False}


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """A linear axis with plain numbers, about seven of them; a title as HTML that plotly takes."""
    return style.axis(title, **{"nticks": 7, **more})


def note(text: str, x: float, y: float, **more: Any) -> dict[str, Any]:
    """A text in the plot; ``more`` says which axes ``x`` and ``y`` are of, and how it is anchored."""
    return {"text": text, "x": x, "y": y, "showarrow": False, "font": {"size": 11}, **more}


MOST_MAPS = 12
# of one hue that gets denser, so that text on it can be read in light and dark
_SCALE = [[0, "rgba(213,94,0,0.04)"], [1, "rgba(213,94,0,0.72)"]]


def heat_maps(sweep: Sweep) -> list[PlotFigure]:
    """At most :data:`MOST_MAPS`, none for a sweep with less than two inputs that vary.

    A cell has the least latency of its points; a dash where none ran.
    """
    facets = ["model", "machine"] if "machine" in sweep.varying and len(sweep.varying) > 2 else ["model"]
    free = [name for name in sweep.ranked if name not in facets]
    if len(free) < 2:
        facets = ["model"] if len(sweep.varying) > 1 else []
        free = [name for name in [*sweep.ranked, "model"] if name not in facets]
    if len(free) < 2 or ("model" in free[:2] and len(sweep.models) < 2):
        return []
    across, down = sorted(free[:2], key=lambda name: -len(sweep.levels(name)))
    entries: dict[tuple[Any, ...], list[Point]] = {}
    for point in sweep.points:
        entries.setdefault(tuple(point[name] for name in facets), []).append(point)
    groups = list(entries.items())[:MOST_MAPS]
    return [
        heat_map(sweep, key, points, across, down, facets=facets)
        for key, points in groups
        if any(point["status"] == "ok" for point in points)
    ]


def heat_map(
    sweep: Sweep, key: tuple[Any, ...], points: Sequence[Point], across: str, down: str,
    z: str = "latency_ms", facets: Sequence[str] = (),
) -> PlotFigure:  # fmt: skip
    """The least ``z`` of the ``points``, those with ``key``, over two inputs; a dash where none ran."""
    columns, rows = sweep.levels(across), sweep.levels(down)
    cells = [[_cell(points, across, column, down, row, z) for column in columns] for row in rows]
    scale = sweep.scale(z)
    trace = {
        "type": "heatmap",
        "x": [column.label for column in columns],
        "y": [row.label for row in rows],
        "z": [[None if best is None else _shade(best[z]) for best, _ in row] for row in cells],
        "text": [["–" if best is None else scale.shown(best[z]) for best, _ in row] for row in cells],
        "texttemplate": "%{text}",
        "textfont": {"size": 12},
        "customdata": [[reason if best is None else sweep.tooltip(best) for best, reason in row] for row in cells],
        "hovertemplate": "%{customdata}<extra></extra>",
        "hoverongaps": True,
        "colorscale": _SCALE,
        "showscale": False,
        "xgap": 2,
        "ygap": 2,
    }
    title = ", ".join(plain(shortened(str(part))) for part in key) or "all models"
    rest = [name for name in sweep.varying if name not in (across, down, *facets)]
    least = f", the least over {', '.join(map(plain, rest))}" if rest else ""
    caption = f"<b>{title}</b>: {sweep.heading(z)}, by {plain(across)} and {plain(down)}{least}"
    categories = {"type": "category", "showgrid": False, "automargin": True, "nticks": 0}
    layout = LAYOUT | {
        "margin": {"l": 20, "r": 10, "t": 8, "b": 40},
        "xaxis": axis(plain(across), **categories),
        "yaxis": axis(plain(down), **categories),
    }
    name = "-".join(["heat-map", z, "over", across, down, *map(str, key)])
    return PlotFigure(caption, [trace], layout, height=max(190, 110 + 34 * len(rows)), name=name)


def _shade(value: float) -> float:
    """By how many tens: a figure of 0 or less is next to nothing."""
    return log10(max(value, 1e-12))


def _cell(
    points: Sequence[Point], across: str, column: Level, down: str, row: Level, z: str
) -> tuple[Point | None, str]:
    """The point of least ``z``, and what to say where none ran."""
    inside = [point for point in points if column.has(point[across]) and row.has(point[down])]
    ran = [point for point in inside if point["status"] == "ok" and point.get(z) is not None]
    if ran:
        return min(ran, key=lambda point: point[z]), ""
    return None, plain(shortened(str(inside[0]["error"] or f"no {z}"), 160)) if inside else "no such point"


_ROW = 46  # pixels


def tornado(sweep: Sweep, output: str) -> PlotFigure | None:
    """The inputs from the largest effect on the latency down, in percent of the mean; None when nothing varies."""
    effects = {name: sweep.effects(name, output) for name in reversed(sweep.ranked)}
    effects = {name: entries for name, entries in effects.items() if len(entries) > 1}
    if not effects:
        return None
    traces, notes = [], []
    for index, (name, pairs) in enumerate(effects.items()):
        ends = min(pairs, key=lambda pair: pair[1]), max(pairs, key=lambda pair: pair[1])
        text = "<br>".join(f"{level}: {_change(factor)}" for level, factor in pairs)
        for (_, factor), colour in zip(ends, (GOOD, BAD), strict=True):
            traces.append(_bar(index, 100 * factor - 100, colour, f"<b>{plain(name)}</b><br>{text}"))
        changes = ", ".join(f"{shortened(level, 22)} {_change(factor)}" for level, factor in ends)
        label = f"{plain(shortened(name, 40))}: {changes}"
        notes.append(note(label, 0, index + 0.27, xref="paper", xanchor="left", yanchor="bottom"))
    reach = max(abs(100 * factor - 100) for effect in effects.values() for _, factor in effect) or 1.0
    layout = LAYOUT | {
        "margin": {"l": 10, "r": 10, "t": 8, "b": 44},
        "barmode": "overlay",
        "annotations": notes,
        "xaxis": axis("change of the mean, %", range=[-1.1 * reach, 1.1 * reach], zeroline=True),
        "yaxis": axis(range=[-0.6, len(effects) - 0.2], showticklabels=False, showgrid=False, zeroline=False),
    }
    return PlotFigure(
        f"<b>{OUTPUTS[output][0]}</b>",
        traces,
        layout,
        height=70 + _ROW * max(len(effects), 2),
        name=f"effects-{output}",
    )


def _change(factor: float) -> str:
    return percent(100 * factor - 100, short=True)


def _bar(place: int, change: float, colour: str, hover: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [change],
        "y": [place],
        "width": 0.5,
        "hovertext": [hover],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {"color": colour},
    }

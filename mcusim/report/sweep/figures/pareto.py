"""Pareto fronts of one model: latency against energy and against peak SRAM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.report.html.page import PlotFigure, plain, shortened
from mcusim.report.sweep.figures.effects_bars import LAYOUT, axis
from mcusim.report.sweep.figures.point_table import COLOURS, SYMBOLS, Point, Sweep

_GREY = "#7d8590"
_MOST = 3000  # points of all models together
_AGAINST = ("energy_mj", "peak_sram_bytes")


def front(points: Sequence[tuple[float, float]]) -> list[int]:
    """The places of the points that no other one is as good as in both numbers and better in one, by the first.

    Of equal points the first counts.
    """
    order = sorted(range(len(points)), key=lambda n: (*points[n], n))
    result: list[int] = []
    least = float("inf")
    for index in order:
        if points[index][1] < least:
            result.append(index)
            least = points[index][1]
    return result


def pareto(sweep: Sweep, model: str) -> PlotFigure:
    """The points of ``model`` that ran, one colour for each machine and policy, the fronts as lines through them.

    Of more than 3,000 points of all models some on the fronts and some others, evenly taken.
    """
    points = _some([point for point in sweep.ran if point["model"] == model], _MOST // len(sweep.models))
    groups: dict[str, list[Point]] = {}
    for point in points:
        groups.setdefault(_group(sweep, point), []).append(point)
    traces = []
    for number, (name, group) in enumerate(groups.items()):
        for row, output in enumerate(_AGAINST):
            mark = {"color": COLOURS[number % len(COLOURS)], "symbol": SYMBOLS[number // len(COLOURS) % len(SYMBOLS)]}
            traces.append(_marks(sweep, group, output, row, name, mark))
    best = [_front(sweep, points, output, row) for row, output in enumerate(_AGAINST)]
    fastest = min(points, key=lambda point: point["latency_ms"])
    caption = (
        f"<b>{plain(shortened(model))}</b>: least latency {sweep.scales['latency_ms'].text(fastest['latency_ms'])}"
    )
    least = min(points, key=lambda point: point["energy_mj"])
    return PlotFigure(
        f"{caption}, least energy {sweep.scales['energy_mj'].text(least['energy_mj'])}",
        [*best, *traces],
        _layout(sweep, len(groups)),
        height=620,
        name=f"pareto-{model}",
    )


def _some(points: Sequence[Point], most: int) -> Sequence[Point]:
    if len(points) <= most:
        return points
    share = max(most // 3, 1)
    kept = set(range(0, len(points), -(-len(points) // share)))
    for output in _AGAINST:
        best = front([(point["latency_ms"], point[output]) for point in points])
        kept.update(best[:: -(-len(best) // share)])
    return [points[index] for index in sorted(kept)]


def _group(sweep: Sweep, point: Point) -> str:
    named = [name for name in sweep.varying if name in ("machine", "policy")] or sweep.ranked[:1]
    return ", ".join(sweep.label(name, point[name]) for name in named) or "all points"


def _marks(
    sweep: Sweep, group: Sequence[Point], output: str, row: int, name: str, mark: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "legendgroup": name,
        "showlegend": row == 0,
        "x": [sweep.scaled("latency_ms", point["latency_ms"]) for point in group],
        "y": [sweep.scaled(output, point[output]) for point in group],
        "yaxis": "y" if row == 0 else "y2",
        "text": [sweep.tooltip(point) for point in group],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {**mark, "size": 8, "opacity": 0.85},
    }


def _front(sweep: Sweep, points: Sequence[Point], output: str, row: int) -> dict[str, Any]:
    pairs = [(sweep.scaled("latency_ms", point["latency_ms"]), sweep.scaled(output, point[output])) for point in points]
    chosen = [pairs[index] for index in front(pairs)]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": "Pareto front",
        "legendgroup": "Pareto front",
        "showlegend": row == 0,
        "x": [x for x, _ in chosen],
        "y": [y for _, y in chosen],
        "yaxis": "y" if row == 0 else "y2",
        "line": {"color": _GREY, "width": 2, "shape": "hv"},
        "hoverinfo": "skip",
    }


def _layout(sweep: Sweep, groups: int) -> dict[str, Any]:
    legend = {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 11}}
    return LAYOUT | {
        "margin": {"l": 58, "r": 14, "t": 44 + 20 * ((groups + 1) // 2), "b": 44},
        "showlegend": True,
        "legend": legend | {"bgcolor": "rgba(0,0,0,0)", "itemsizing": "constant"},
        "xaxis": axis(sweep.title("latency_ms"), anchor="y2", rangemode="tozero"),
        "yaxis": axis(sweep.title("energy_mj"), domain=[0.54, 1], rangemode="tozero"),
        "yaxis2": axis(sweep.title("peak_sram_bytes"), domain=[0, 0.46], rangemode="tozero"),
    }

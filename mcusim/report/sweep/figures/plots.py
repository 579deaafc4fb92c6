"""Plots that a user asks for: an output over an axis, a line for each value of others, or a heat map of two inputs."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mcusim.errors import UsageError
from mcusim.report.html.page import PlotFigure, plain, shortened
from mcusim.report.sweep.figures.effects_bars import LAYOUT, axis, heat_map
from mcusim.report.sweep.figures.point_table import COLOURS, SYMBOLS, Point, Sweep
from mcusim.units import quoted

MOST = 12  # figures of a plot, one for each model
_LOG = 20  # times the smallest value from which an axis is logarithmic
_TICKS = 10  # values of an input that are all written
_KEYS = ("x", "y", "by", "z")


@dataclass(frozen=True, slots=True)
class PlotRequest:
    """Columns of the table: ``y`` over ``x``, a line for each combination of ``by``; where ``y`` is an input a heat map
    of ``z`` over both."""

    x: str
    y: str
    by: tuple[str, ...] = ()
    z: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """All that it names."""
        return (self.x, self.y, *self.by, *([self.z] if self.z else []))


def read_plot(text: str) -> PlotRequest:
    """``"x=sram_budget,y=latency_ms,by=policy"``; several inputs as ``by=policy+machine``. Raises UsageError."""
    pairs = [part.partition("=") for part in text.split(",")]
    keys = {key.strip(): value.strip() for key, _, value in pairs}
    wrong = [key for key in keys if key not in _KEYS]
    if wrong or len(keys) < len(pairs) or not all(keys.values()) or not {"x", "y"} <= keys.keys():
        raise UsageError(
            f"--plot {quoted(text)}: is x=COLUMN,y=COLUMN, with by=INPUT for a line each or, over two inputs, z=OUTPUT:"
            " x=sram_budget,y=latency_ms,by=policy"
        )
    by = tuple(name for name in keys.get("by", "").split("+") if name)
    return PlotRequest(keys["x"], keys["y"], by, keys.get("z", ""))


def check_plot(request: PlotRequest, inputs: Collection[str], outputs: Collection[str]) -> None:
    """Raise UsageError for columns that there are not, or that cannot be drawn so. ``outputs`` are of numbers."""
    for name in request.columns:
        if name not in inputs and name not in outputs:
            close = get_close_matches(name, [*inputs, *outputs], n=1)
            hint = f", did you mean {close[0]}" if close else ""
            known = ", ".join([*inputs, "latency_ms", "energy_mj", "peak_sram_bytes"])
            raise UsageError(f"--plot: the table has no column {quoted(name)} of numbers{hint}; it has {known} ...")
    for name in (request.x, *request.by):
        if name not in inputs:
            raise UsageError(f"--plot: {name} is no input; x and by are, of {', '.join(inputs)}")
    if request.x in request.by:
        raise UsageError(f"--plot: {request.x} is both x and by; a line is of one value of each of by")
    if request.y in inputs and (request.by or request.z in inputs or request.x == request.y):
        raise UsageError("--plot: a heat map is over two inputs, x and y, without by; z is an output")
    if request.y not in inputs and request.z:
        raise UsageError(f"--plot: z has no effect where y is an output, {request.y}")


def plot_figures(sweep: Sweep, request: PlotRequest) -> list[PlotFigure]:
    """One for each model, at most :data:`MOST`, unless the model is among the inputs that are drawn."""
    facets = [] if "model" in request.columns else ["model"]
    groups: dict[tuple[Any, ...], list[Point]] = {}
    for point in sweep.points:
        groups.setdefault(tuple(point[name] for name in facets), []).append(point)
    drawn = []
    for key, points in list(groups.items())[:MOST]:
        ran = [point for point in points if point["status"] == "ok" and _number(point.get(request.y))]
        if request.y in sweep.study.inputs:
            z = request.z or "latency_ms"
            if any(_number(point.get(z)) for point in points):
                drawn.append(heat_map(sweep, key, points, request.x, request.y, z))
        elif ran:
            drawn.append(_lines(sweep, key, ran, request))
    return drawn


def _lines(sweep: Sweep, key: tuple[Any, ...], points: Sequence[Point], request: PlotRequest) -> PlotFigure:
    """Of points that are alike in ``x`` and ``by`` the one with the least ``y``."""
    least: dict[tuple[str, ...], dict[Any, Point]] = {}
    for point in points:
        line = least.setdefault(tuple(sweep.label(name, point[name]) for name in request.by), {})
        known = line.get(point[request.x])
        if known is None or point[request.y] < known[request.y]:
            line[point[request.x]] = point
    order = {_typed(value): number for number, value in enumerate(sweep.values(request.x))}
    numeric = all(map(_number, sweep.values(request.x)))
    across, up = sweep.scale(request.x), sweep.scale(request.y)
    traces = []
    for number, (names, line) in enumerate(least.items()):
        sorted_points = [line[value] for value in sorted(line, key=lambda value: order[_typed(value)])]
        x = [point[request.x] for point in sorted_points]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": ", ".join(names) or sweep.heading(request.y),
                "x": [across.factor * value for value in x] if numeric else [sweep.label(request.x, v) for v in x],
                "y": [up.factor * point[request.y] for point in sorted_points],
                "text": [sweep.tooltip(point) for point in sorted_points],
                "hovertemplate": "%{text}<extra></extra>",
                "line": {"color": COLOURS[number % len(COLOURS)], "width": 2},
                "marker": {"size": 7, "symbol": SYMBOLS[number // len(COLOURS) % len(SYMBOLS)]},
            }
        )
    rest = [name for name in sweep.varying if name not in request.columns]
    alike = f", the least over {', '.join(map(plain, rest))}" if rest else ""
    title = ", ".join(plain(shortened(str(part))) for part in key) or "all models"
    caption = f"<b>{title}</b>: {sweep.heading(request.y)} by {plain(request.x)}{alike}"
    name = "-".join([request.y, "over", request.x, *map(str, key)])
    return PlotFigure(caption, traces, _layout(sweep, request, len(traces), numeric), height=400, name=name)


def _layout(sweep: Sweep, request: PlotRequest, lines: int, numeric: bool) -> dict[str, Any]:
    legend = {"orientation": "h", "x": 0, "y": 1.01, "yanchor": "bottom", "font": {"size": 11}}
    return LAYOUT | {
        "margin": {"l": 58, "r": 14, "t": 36 + 20 * (lines // 2), "b": 48},
        "showlegend": bool(request.by),
        "legend": legend | {"bgcolor": "rgba(0,0,0,0)"},
        "xaxis": axis(sweep.heading(request.x), **_ticks(sweep, request.x, numeric)),
        "yaxis": axis(sweep.heading(request.y), rangemode="tozero"),
    }


def _ticks(sweep: Sweep, name: str, numeric: bool) -> dict[str, Any]:
    """Of an input: its values where they are few, logarithmic where they are far apart."""
    values = sweep.values(name)
    if not numeric:
        return {"type": "category", "categoryorder": "array", "categoryarray": [sweep.label(name, v) for v in values]}
    scale = sweep.scale(name)
    log = min(values) > 0 and max(values) >= _LOG * min(values)
    ticks: dict[str, Any] = {"type": "log"} if log else {}
    if len(values) <= _TICKS:
        ticks |= {"tickvals": [scale.factor * v for v in values], "ticktext": [scale.shown(v) for v in values]}
    return ticks


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _typed(value: Any) -> tuple[type, Any]:
    return type(value), value

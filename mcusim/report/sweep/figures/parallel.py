"""Parallel coordinates: every point as a line across its inputs and outputs, coloured by its latency."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.report.html.page import PlotFigure, plain, shortened
from mcusim.report.sweep.figures.effects_bars import LAYOUT, axis, note
from mcusim.report.sweep.figures.point_table import OUTPUTS, Point, Sweep

MOST_LINES = 1000
_FEW = 200
_COLOURS = ("#1b7f79", "#57a773", "#c2a83e", "#e08e45", "#cf5c36", "#a4243b")  # from short to long
_TALL, _LETTER = 330, 6.0  # pixels from the lowest to the highest value, and of a letter
_ACROSS, _VERTICAL = 6, 16  # most letters of a value written horizontally, and vertically
_VALUES = 8  # next to an axis
_SPREAD = 0.5  # of the distance between two values: lines of one value lie side by side


def parallel(sweep: Sweep) -> PlotFigure | None:
    """A line a point that ran, at most :data:`MOST_LINES` evenly taken; a legend's entry hides the lines of its
    latencies. None when nothing ran."""
    points = sorted(sweep.ran, key=lambda point: point["latency_ms"])
    points = points[:: -(-len(points) // MOST_LINES)] if points else []
    if not points:
        return None
    inputs = [name for name in ["model", *sweep.varying] if len(sweep.values(name)) > 1]
    outputs = [name for name in OUTPUTS if any(point.get(name) is not None for point in points)]
    heights = [_input(sweep, points, name) for name in inputs] + [_output(points, name) for name in outputs]
    hovers = [sweep.tooltip(point) for point in points]
    traces, count = [], len(_COLOURS)
    for part, colour in enumerate(_COLOURS):
        places = range(len(points) * part // count, len(points) * (part + 1) // count)
        if places:
            traces.append(_lines(sweep, points, places, heights, len(inputs), hovers, colour))
    notes = [text for index, name in enumerate(inputs) for text in _ticks(sweep, index, name)]
    notes += [text for index, name in enumerate(outputs, len(inputs)) for text in _ends(sweep, points, index, name)]
    labels = [plain(shortened(name, 22)) for name in inputs] + [sweep.title(name) for name in outputs]
    left = f", {len(points):,} of {len(sweep.ran):,}" if len(points) < len(sweep.ran) else ""
    return PlotFigure(
        f"<b>Every point</b>{left}: a line each, by its latency",
        traces,
        _layout(labels) | {"annotations": notes},
        height=536,
        name="parallel-coordinates",
    )


def _lines(
    sweep: Sweep,
    points: Sequence[Point],
    places: range,
    heights: Sequence[Sequence[float]],
    inputs: int,
    hovers: Sequence[str],
    colour: str,
) -> dict[str, Any]:
    """Lines of one colour; the first ``inputs`` places, where many lines meet, say the latency alone."""
    x: list[float | None] = []
    y: list[float | None] = []
    text: list[str] = []
    latency = sweep.scales["latency_ms"]
    for index in places:
        x += [*range(len(heights)), None]
        y += [*(height[index] for height in heights), None]
        text += [latency.text(points[index]["latency_ms"])] * inputs
        text += [*[hovers[index]] * (len(heights) - inputs), ""]
    low, high = (latency.shown(points[position]["latency_ms"]) for position in (places[0], places[-1]))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": f"{low} {latency.unit}" if low == high else f"{low} – {high} {latency.unit}",
        "x": x,
        "y": y,
        "text": text,
        "hovertemplate": "%{text}<extra></extra>",
        "line": {"color": colour, "width": 1.5 if len(points) <= _FEW else 1},
        "opacity": 0.75 if len(points) <= _FEW else 0.35,  # many lines show through each other
    }


def _input(sweep: Sweep, points: Sequence[Point], name: str) -> list[float]:
    """Heights from 0 to 1: the place of the value, spread so that lines do not hide each other."""
    places = {_key(value): index for index, value in enumerate(sweep.values(name))}
    last, count = max(len(places) - 1, 1), max(len(points) - 1, 1)
    return [
        (places[_key(point[name])] + _SPREAD * (number / count - 0.5)) / last for number, point in enumerate(points)
    ]


def _output(points: Sequence[Point], name: str) -> list[float]:
    values = [point[name] or 0.0 for point in points]
    low, high = min(values), max(values)
    return [(value - low) / (high - low or 1.0) for value in values]


def _key(value: Any) -> tuple[type, Any]:
    return type(value), value


def _ticks(sweep: Sweep, place: int, name: str) -> list[dict[str, Any]]:
    """The values next to an input's axis, some of them where there are many; long ones are vertical, as many as there
    is room for, so that on a narrow page none reaches the next axis."""
    texts = [sweep.label(name, value) for value in sweep.values(name)]
    longest = max(map(len, texts))
    vertical = longest > _ACROSS
    room = int(_TALL / (_LETTER * (min(longest, _VERTICAL) + 1))) if vertical else _VALUES
    every = -(-len(texts) // min(room, _VALUES))
    last, angle = max(len(texts) - 1, 1), -90 if vertical else 0
    return [_text(place, at / last, shortened(texts[at], _VERTICAL), angle) for at in range(0, len(texts), every)]


def _ends(sweep: Sweep, points: Sequence[Point], place: int, name: str) -> list[dict[str, Any]]:
    values = [point[name] or 0.0 for point in points]
    return [
        _text(place, height, sweep.shown(name, value), 0) for height, value in ((0.0, min(values)), (1.0, max(values)))
    ]


def _text(place: int, height: float, text: str, angle: int) -> dict[str, Any]:
    return note(text, place, height, xref="x", yref="y", xanchor="left", yanchor="middle", textangle=angle)


def _layout(labels: Sequence[str]) -> dict[str, Any]:
    legend = {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "font": {"size": 11}}
    return LAYOUT | {
        "margin": {"l": 14, "r": 60, "t": 66, "b": round(_LETTER * max(map(len, labels))) + 20},
        "showlegend": True,
        "legend": legend | {"bgcolor": "rgba(0,0,0,0)", "itemsizing": "constant"},
        "xaxis": axis(range=[-0.1, len(labels) - 0.6], zeroline=False),
        "yaxis": axis(range=[-0.32, 1.32], showticklabels=False, showgrid=False, zeroline=False),
        "meta": {"labels": list(labels)},
    }

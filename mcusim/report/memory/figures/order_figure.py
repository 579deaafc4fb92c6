"""One order of a memory plan as a plot: bytes in use over addresses, on one axis of steps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcusim.plan.allocators import BufferMove, Placed
from mcusim.plan.pools import Pool
from mcusim.report.html.page import PlotFigure
from mcusim.report.html.style import LAYOUT, axis
from mcusim.report.memory.figures.addresses import address_map
from mcusim.report.memory.figures.hover import Tooltips
from mcusim.report.memory.figures.working_set import bars

_MARK, _BOUND, _POOL, _BEFORE = "#e11d48", "#0284c7", "#a16207", "#7c8794"
_LAYOUT = {**LAYOUT, "showlegend": False, "uniformtext": {"mode": "hide", "minsize": 9}}
_X_AXIS = {"anchor": "y2", "showgrid": False, "zeroline": False, "tickfont": {"size": 10}}
_PLOTS, _LETTER = 640, 5.9  # pixels: both plots without labels, a letter of a label


@dataclass(frozen=True)
class Scale:
    """What the plots of both orders have in common, in bytes; ``per_unit`` of them are one unit of the y axes."""

    usage: int
    arena: int
    pool: Pool | None

    @property
    def per_unit(self) -> int:
        return 1024 if max(self.usage, self.arena) >= 8192 else 1

    @property
    def pool_drawn(self) -> bool:
        """Is the memory's end near enough to the arena's to be drawn in the same plot."""
        return self.pool is not None and self.pool.size <= 1.6 * self.arena

    @property
    def address_top(self) -> int:
        return max(self.arena, self.pool.size if self.pool and self.pool_drawn else 0)


def order_figure(
    tooltips: Tooltips,
    placed: Placed,
    scale: Scale,
    caption: str,
    before: int | None = None,
    costs: Mapping[BufferMove, str] | None = None,
) -> PlotFigure:
    """The stacked bars over the address map; ``before``: the peak of another order, ``costs``: texts to the moves."""
    steps, unit = len(tooltips.labels), scale.per_unit
    few = steps <= 10
    shapes, notes = _usage_lines(tooltips, scale, before, 15 if few else 0)
    for more, texts in (_address_lines(placed, scale), _pool_lines(scale)):
        shapes += more
        notes += texts
    if not steps:
        notes.append(_note("no operators", 0, 0.5 * _top(scale.usage, unit), "y", xanchor="center"))
    layout = _layout(tooltips.labels, scale) | {"shapes": shapes, "annotations": notes}
    traces = [
        *bars(tooltips, unit),
        *([_totals(tooltips, unit)] if few else []),
        *address_map(tooltips, placed, unit, costs),
    ]
    return PlotFigure(caption, traces, layout, height=_PLOTS + layout["margin"]["b"])


def _layout(labels: Sequence[str], scale: Scale) -> dict[str, Any]:
    unit = scale.per_unit
    name = "KiB" if unit == 1024 else "B"
    return _LAYOUT | {
        "margin": {"l": 58, "r": 12, "t": 30, "b": round(_LETTER * max(map(len, labels), default=0)) + 24},
        "xaxis": _X_AXIS | {"range": [-0.6, max(len(labels), 1) - 0.4]},
        "yaxis": _y_axis(f"in use ({name})", [0.53, 1], _top(scale.usage, unit)),
        "yaxis2": _y_axis(f"address ({name})", [0, 0.47], _top(scale.address_top, unit)),
        "meta": {"labels": list(labels)},
    }


def _totals(tooltips: Tooltips, unit: int) -> dict[str, Any]:
    """The bytes of each step, written above its bar."""
    usage = tooltips.timeline.usage
    return {
        "type": "scatter",
        "mode": "text",
        "x": list(range(len(usage))),
        "y": [bytes_ / unit for bytes_ in usage],
        "text": [f"{bytes_:,}" if unit == 1 else f"{bytes_ / unit:.1f}" for bytes_ in usage],
        "textposition": "top center",
        "textfont": {"size": 11},
        "hoverinfo": "skip",
        "cliponaxis": False,
    }


def _top(bytes_: int, unit: int) -> float:
    return 1.16 * bytes_ / unit or 1.0


def _y_axis(title: str, domain: list[float], top: float) -> dict[str, Any]:
    return axis(title, domain=domain, range=[0, top], nticks=7)


_Drawn = tuple[list[dict[str, Any]], list[dict[str, Any]]]


def _usage_lines(tooltips: Tooltips, scale: Scale, before: int | None, raised: int) -> _Drawn:
    """The peak as a line, its step outlined; its text ``raised`` by so many pixels."""
    timeline, unit = tooltips.timeline, scale.per_unit
    step, peak = timeline.bottleneck, timeline.peak
    if step is None:
        return [], []
    shapes = [_line(peak / unit, "y", _MARK, 1) | {"layer": "below"}]
    outline = {"type": "rect", "xref": "x", "yref": "y", "x0": step - 0.5, "x1": step + 0.5, "y0": 0}
    shapes.append(
        {**outline, "y1": peak / unit, "line": {"color": _MARK, "width": 2 if len(tooltips.labels) <= 60 else 1}}
    )
    side = 2 * step >= len(tooltips.labels)
    notes = [_note(f"peak {peak:,} B at step {step}", 0.995 if side else 0.005, peak / unit, "y", colour=_MARK)]
    if before is not None and before != peak:
        shapes.append(_line(before / unit, "y", _BEFORE, 1, "dot") | {"layer": "below"})
        notes.append(_note(f"before: {before:,} B", 0.005 if side else 0.995, before / unit, "y", colour=_BEFORE))
    for note in notes:
        note["yshift"] += raised
    return shapes, notes


def _address_lines(placed: Placed, scale: Scale) -> _Drawn:
    """The arena as a shade, so that free space shows, its end and the least that any placement needs as lines."""
    unit, proven = scale.per_unit, placed.gap == 0
    arena = {"type": "rect", "xref": "x domain", "yref": "y2", "x0": 0, "x1": 1, "y0": 0, "y1": placed.bytes / unit}
    shapes = [{**arena, "layer": "below", "fillcolor": "rgba(128,136,146,0.16)", "line": {"width": 0}}]
    shapes.append(_line(placed.bytes / unit, "y2", _MARK, 1))
    text = f"arena {placed.bytes:,} B" + (", the least possible" if proven else "")
    notes = [_note(text, 0.995, placed.bytes / unit, "y2", colour=_MARK)]
    if not proven:
        shapes.append(_line(placed.bound / unit, "y2", _BOUND, 1, "dash"))
        notes.append(_note(f"bound {placed.bound:,} B", 0.995, placed.bound / unit, "y2", colour=_BOUND, below=True))
    return shapes, notes


def _pool_lines(scale: Scale) -> _Drawn:
    """The end of the machine's memory, and what is beyond it."""
    if scale.pool is None or not scale.pool_drawn:
        return [], []
    end = scale.pool.size / scale.per_unit
    behind = {"type": "rect", "xref": "x domain", "yref": "y2", "x0": 0, "x1": 1, "y0": end, "layer": "below"}
    behind |= {"y1": _top(scale.address_top, scale.per_unit), "fillcolor": "rgba(161,98,7,0.14)", "line": {"width": 0}}
    text = f"end of SRAM, {scale.pool.size:,} B"
    return [behind, _line(end, "y2", _POOL, 2)], [_note(text, 0.005, end, "y2", colour=_POOL)]


def _line(y: float, axis: str, colour: str, width: float, dash: str = "solid") -> dict[str, Any]:
    line = {"color": colour, "width": width, "dash": dash}
    return {"type": "line", "xref": "x domain", "x0": 0, "x1": 1, "yref": axis, "y0": y, "y1": y, "line": line}


def _note(
    text: str, x: float, y: float, axis: str, xanchor: str = "auto", colour: str = _BEFORE, below: bool = False
) -> dict[str, Any]:
    """A text above (or below) a line, at the left or the right end of the plot."""
    sideways = xanchor if xanchor != "auto" else ("right" if x > 0.5 else "left")
    place = {"xref": "x domain" if xanchor == "auto" else "x", "x": x, "yref": axis, "y": y}
    anchor = {"xanchor": sideways, "yanchor": "top" if below else "bottom", "yshift": -2 if below else 2}
    look = {"font": {"size": 11, "color": colour}, "bgcolor": "rgba(255,255,255,0.8)", "borderpad": 1}
    return {"text": text, "showarrow": False, **place, **anchor, **look}

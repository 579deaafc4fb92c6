"""Plots of traffic: bytes that crossed each region's pins by initiator, as bars, and bytes per second over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcusim.report.html.page import PlotFigure, plain
from mcusim.report.html.style import LAYOUT, MERGED, axis, legend, tooltip
from mcusim.report.run.figures.lanes import Lane

if TYPE_CHECKING:
    from mcusim.engine.run import Run

BINS = 300


def rates(lanes: Sequence[Lane], low: float, high: float, bins: int = BINS) -> dict[str, list[float]]:
    """Bytes a cycle by region in equal steps of time from ``low`` to ``high`` (cycles).

    A task's bytes are taken to be spread evenly over its time, which a kernel call's are not.
    """
    step = (high - low) / bins
    total: dict[str, list[float]] = {}
    for lane in lanes if step else ():
        for entry in lane.entries:
            if not entry.moved or entry.end <= low or entry.start >= high:
                continue
            length = max(entry.end - entry.start, 1)
            first = max(0, int((entry.start - low) / step))
            for i in range(first, min(bins - 1, int((entry.end - low) / step)) + 1):
                overlap = min(entry.end, low + (i + 1) * step) - max(entry.start, low + i * step)
                for region, size in entry.moved:
                    total.setdefault(region, [0.0] * bins)[i] += size / length * max(overlap, 0.0) / step
    return total


def areas(lanes: Sequence[Lane], cycles: int, clock: int, colours: Mapping[str, str], y: str) -> list[dict[str, Any]]:
    """A trace a region, stacked, in MB/s over ms, for a picture that is not zoomed."""
    scale = 1e3 / clock
    step = cycles / BINS * scale
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "yaxis": y,
            "x": [i * step for i in range(BINS)],
            "y": [round(n * clock / 1e6, 4) for n in values],
            "stackgroup": "bus",
            "line": {"width": 0, "shape": "hv", "color": colours.get(region, MERGED)},
            "fillcolor": colours.get(region, MERGED),
            "name": region,
            "hovertemplate": tooltip(f"<b>{region}</b>").replace("<extra>", " %{y:.1f} MB/s<extra>"),
            "showlegend": False,
        }
        for region, values in sorted(rates(lanes, 0, cycles).items())
    ]


_WHO = {
    "core_read": ("core reads", "#6ea8dc"),
    "core_write": ("core writes", "#3f7fb8"),
    "dma_read": ("DMA reads", "#f2b56b"),
    "dma_write": ("DMA writes", "#d9822b"),
}


def traffic_figure(run: Run) -> PlotFigure:
    """One bar a region, the busiest on top, in KiB. Behind the caches: what they answer crosses no pins."""
    regions = sorted(run.traffic, key=lambda name: (run.traffic[name].total, name))
    traces = []
    for field, (label, colour) in _WHO.items():
        values = [getattr(run.traffic[name], field) for name in regions]
        if any(values):
            traces.append(_bars([plain(name) for name in regions], values, label, colour))
    layout: dict[str, Any] = {
        **LAYOUT,
        "barmode": "stack",
        "margin": {"l": 66, "r": 10, "t": 8, "b": 44},
        "xaxis": axis("KiB", rangemode="tozero", nticks=7),
        "yaxis": {"type": "category", "showgrid": False, "tickfont": {"size": 11}, "fixedrange": True},
    }
    shown = {label: colour for label, colour in _WHO.values() if any(trace["name"] == label for trace in traces)}
    caption = f"<b>Traffic by region</b> <span class=dim>behind the caches</span><div>{legend('', shown)}</div>"
    return PlotFigure(caption, traces, layout, height=60 + 34 * max(1, len(regions)))


def _bars(regions: list[str], values: list[int], label: str, colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": label,
        "y": regions,
        "x": [n / 1024 for n in values],
        "width": 0.7,
        "marker": {"color": colour, "line": {"color": "#ffffff", "width": 0}},
        "hovertemplate": [tooltip(f"<b>{name}</b>: {label} {n:,} B") for name, n in zip(regions, values, strict=True)],
        "showlegend": False,
    }

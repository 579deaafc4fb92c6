"""Bytes that crossed each region's pins, by who moved them, as bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mcusim.report.html.page import Figure, plain
from mcusim.report.html.style import LAYOUT, axis, chips, told

if TYPE_CHECKING:
    from mcusim.engine.run import Run

__all__ = ["traffic_figure"]

_WHO = {
    "core_read": ("core reads", "#6ea8dc"),
    "core_write": ("core writes", "#3f7fb8"),
    "dma_read": ("DMA reads", "#f2b56b"),
    "dma_write": ("DMA writes", "#d9822b"),
}


def traffic_figure(run: Run) -> Figure:
    """One bar a region, the busiest on top, in KiB. Behind the caches: what they answer crosses no pins."""
    regions = sorted(run.traffic, key=lambda name: (run.traffic[name].total, name))
    traces = []
    for field, (said, colour) in _WHO.items():
        values = [getattr(run.traffic[name], field) for name in regions]
        if any(values):
            traces.append(_bars([plain(name) for name in regions], values, said, colour))
    layout: dict[str, Any] = {
        **LAYOUT,
        "barmode": "stack",
        "margin": {"l": 66, "r": 10, "t": 8, "b": 44},
        "xaxis": axis("KiB", rangemode="tozero", nticks=7),
        "yaxis": {"type": "category", "showgrid": False, "tickfont": {"size": 11}, "fixedrange": True},
    }
    shown = {said: colour for said, colour in _WHO.values() if any(trace["name"] == said for trace in traces)}
    caption = f"<b>Traffic by region</b> <span class=dim>behind the caches</span><div>{chips('', shown)}</div>"
    return Figure(caption, traces, layout, height=60 + 34 * max(1, len(regions)))


def _bars(regions: list[str], values: list[int], said: str, colour: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "name": said,
        "y": regions,
        "x": [n / 1024 for n in values],
        "width": 0.7,
        "marker": {"color": colour, "line": {"color": "#ffffff", "width": 0}},
        "hovertemplate": [told(f"<b>{name}</b>: {said} {n:,} B") for name, n in zip(regions, values, strict=True)],
        "showlegend": False,
    }

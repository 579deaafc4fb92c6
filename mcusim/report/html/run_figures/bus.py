"""Bytes a second that cross each memory's pins, as areas over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcusim.report.html.run_figures.lanes import Lane
from mcusim.report.html.style import MERGED, told

__all__ = ["areas", "rates"]

BINS = 300


def rates(found: Sequence[Lane], low: float, high: float, bins: int = BINS) -> dict[str, list[float]]:
    """Bytes a cycle by region in equal steps of time from ``low`` to ``high`` (cycles).

    A task's bytes are taken to be spread evenly over its time, which a kernel call's are not.
    """
    step = (high - low) / bins
    total: dict[str, list[float]] = {}
    for lane in found if step else ():
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


def areas(found: Sequence[Lane], cycles: int, clock: int, colours: Mapping[str, str], y: str) -> list[dict[str, Any]]:
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
            "hovertemplate": told(f"<b>{region}</b>").replace("<extra>", " %{y:.1f} MB/s<extra>"),
            "showlegend": False,
        }
        for region, values in sorted(rates(found, 0, cycles).items())
    ]

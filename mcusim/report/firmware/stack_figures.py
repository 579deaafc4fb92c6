"""Plots of a firmware's run: the core, handlers and DMA streams over time; latencies of its interrupts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import ceil, floor
from typing import Any

from mcusim.cpu.system.interrupts import ExceptionCount
from mcusim.report.html.page import PlotFigure, plain, shortened
from mcusim.report.html.style import FIRMWARE_COLOURS, LAYOUT, axis, legend, tooltip
from mcusim.report.run.figures.lanes import Entry, Lane, as_json
from mcusim.report.run.figures.time_series import lanes_panel, row_names, stacked
from mcusim.results.emulation import EmulationResult
from mcusim.results.firmware.firmware_timeline import FirmwareLane, Moment

_NAMES = {"code": "code", "handler": "handler", "asleep": "asleep", "waits": "waits for DMA", "transfer": "transfer"}
_COLOURS = ("#6ea8dc", "#e3b04b", "#5fc4a4", "#e58ac6", "#b58be0", "#f0954c", "#d1bd55", "#8f98a3")
_HEIGHT, _STEPS = 300, 32
_LETTER, _LEAST = 6.5, 66  # pixels of a letter of a lane's name, and of the margin they are in


def firmware_time_figure(result: EmulationResult, lanes: Sequence[FirmwareLane]) -> PlotFigure:
    """All lanes over one axis of time, in ms."""
    rows = [_row(lane) for lane in lanes]
    scale = 1e3 / result.machine.core.clock
    layout, height = stacked([lanes_panel(rows)], max(1.0, result.profile.cycles) * scale, row_names(rows))
    layout["margin"]["l"] = max(_LEAST, round(_LETTER * max(len(lane.name) for lane in lanes)) + 14)
    layout["meta"] = {"lanes": [as_json(rows, scale)]}
    shown = {_NAMES[item] for lane in lanes for item in {moment.kind for moment in lane.moments}}
    chips = legend("", {name: colour for name, colour in FIRMWARE_COLOURS.items() if name in shown})
    caption = (
        f"<div><b>Over time</b> <span class=dim>drag to zoom, double-click to see all</span></div><div>{chips}</div>"
    )
    left_out = sum(lane.left_out for lane in lanes)
    if left_out:
        caption += f"<div class=dim>not drawn: the last {left_out:,}, they are too many</div>"
    return PlotFigure(caption, [], layout, height=height)


def _row(lane: FirmwareLane) -> Lane:
    return Lane(plain(shortened(lane.name, 24)), tuple(_entry(moment) for moment in lane.moments), lane.group == "core")


def _entry(moment: Moment) -> Entry:
    latency = moment.more.get("latency")
    text = plain(shortened(moment.text, 64)) + (f", latency {latency:,}" if latency is not None else "")
    moved = tuple((plain(region), size) for region, size in moment.moved.items())
    return Entry(moment.start, moment.end, text, ((_NAMES[moment.kind], moment.end - moment.start),), moved)


def latency_figure(exceptions: Sequence[ExceptionCount]) -> PlotFigure:
    """How often each exception's handler began so many cycles after it became pending, in equal steps for all."""
    low = min(min(exception.latencies) for exception in exceptions)
    step = max(1, ceil((max(max(exception.latencies) for exception in exceptions) - low) / _STEPS))
    traces = [_bars(exception, floor(low), step, _COLOURS[n % len(_COLOURS)]) for n, exception in enumerate(exceptions)]
    layout: dict[str, Any] = {**LAYOUT, "barmode": "group", "margin": {"l": 66, "r": 10, "t": 26, "b": 46}}
    layout["xaxis"] = axis("latency, cycles", zeroline=False)
    layout["yaxis"] = axis("entries", rangemode="tozero")
    caption = "<div><b>Latencies</b> <span class=dim>from pending to the handler's first instruction</span></div>"
    return PlotFigure(caption, traces, layout, height=_HEIGHT)


def _bars(exception_count: ExceptionCount, low: int, step: int, colour: str) -> dict[str, Any]:
    counts: Counter[int] = Counter()
    for cycles, times in exception_count.latencies.items():
        counts[int((cycles - low) // step)] += times
    name, bins = plain(exception_count.name), sorted(counts)
    spans = [(low + n * step, low + (n + 1) * step) for n in bins]
    return {
        "type": "bar",
        "name": name,
        "x": [(begin + end) / 2 for begin, end in spans],
        "y": [counts[n] for n in bins],
        "marker": {"color": colour},
        "hovertemplate": [
            tooltip(f"<b>{name}</b>", f"from {begin:,} to below {end:,} cycles", f"{counts[n]:,} times")
            for n, (begin, end) in zip(bins, spans, strict=True)
        ],
        "showlegend": True,
    }

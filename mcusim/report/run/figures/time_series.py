"""A run over time as one plot: lanes, what crosses the memories' pins, bytes in use, and where they lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcusim.machine.description import Machine
from mcusim.report.html.page import PlotFigure, plain
from mcusim.report.html.style import (
    CAUSE_COLOURS,
    KIND_COLOURS,
    LAYOUT,
    TRANSFER_COLOURS,
    axis,
    legend,
    region_colours,
    transfer_label,
)
from mcusim.report.run.figures.lanes import Lane, as_json, lanes
from mcusim.report.run.figures.occupancy import OccupancyBlock, address_map, blocks, curves, mapped
from mcusim.text import size

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_LANE, _BUS, _USE, _MAP, _FLAT, _GAP = 30, 110, 120, 170, 80, 34  # pixels of height
_FOOT, _HEAD, _LEFT = 46, 26, 66
_MAPS = 3  # at most


@dataclass(frozen=True)
class Panel:
    """One of the plots above one another: its title, height, traces and y axis."""

    title: str
    height: int
    traces: list[dict[str, Any]]
    y: dict[str, Any]


def time_figure(run: Run, machine: Machine) -> PlotFigure:
    """Everything over one axis of time, in ms, so that a zoom is one of all of them.

    The page's script merges the lanes' tasks and the bus's steps again for each zoom.
    """
    rows, scale = lanes(run), 1e3 / run.clock
    colours = region_colours(machine, run.traffic)
    occupancy_blocks = blocks(run, machine)
    panels = [lanes_panel(rows), Panel("bus: MB/s at each memory's pins", _BUS, [], _y())]
    panels.append(Panel("bytes in use, KiB", _USE, curves(run, machine, mapped(occupancy_blocks), colours, "y3"), _y()))
    panels += _maps(occupancy_blocks, machine, scale, 4)
    layout, height = stacked(panels, run.cycles * scale, row_names(rows))
    layout["meta"] = {"lanes": [as_json(rows, scale)], "bus": "y2", "regions": dict(colours)}
    traces = [trace for panel in panels for trace in panel.traces]
    return PlotFigure(_caption(run, occupancy_blocks, colours), traces, layout, height=height)


def lanes_panel(rows: Sequence[Lane]) -> Panel:
    """The plot of the lanes, without traces: the page's script makes them."""
    return Panel("", _LANE * len(rows), [], {"range": [0.6 - len(rows), 0.6], "showgrid": False, "zeroline": False})


def row_names(rows: Sequence[Lane]) -> dict[str, Any]:
    """The ticks of the lanes' axis."""
    return {"tickvals": [-i for i in range(len(rows))], "ticktext": [lane.name for lane in rows]}


def stacked(panels: Sequence[Panel], ms: float, ticks: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """Layout and height of panels above one another on one axis of ``ms``; ``ticks`` name the first one's rows."""
    height = sum(panel.height for panel in panels) + _GAP * (len(panels) - 1)
    layout: dict[str, Any] = {**LAYOUT, "margin": {"l": _LEFT, "r": 10, "t": _HEAD, "b": _FOOT}, "annotations": []}
    top = height
    for number, panel in enumerate(panels, 1):
        name = "" if number == 1 else str(number)
        domain = [max(0.0, (top - panel.height) / height), top / height]
        layout[f"yaxis{name}"] = axis(domain=domain, fixedrange=True, **panel.y)
        if panel.title:
            layout["annotations"].append(_heading(panel.title, top / height))
        top -= panel.height + _GAP
    layout["yaxis"] |= {**ticks, "tickfont": {"size": 11}}
    bottom = "y" if len(panels) == 1 else f"y{len(panels)}"
    layout["xaxis"] = axis("ms", range=[0, ms], anchor=bottom, zeroline=False, hoverformat=",.4f")
    return layout, height + _HEAD + _FOOT


def _y(**more: Any) -> dict[str, Any]:
    return {"rangemode": "tozero", "nticks": 5, **more}


def _heading(text: str, top: float) -> dict[str, Any]:
    place = {
        "xref": "paper",
        "x": 0,
        "xanchor": "left",
        "yref": "paper",
        "y": top,
        "yanchor": "bottom",
        "yshift": 3,
        "xshift": -_LEFT,
    }
    return {"text": text, "showarrow": False, **place, "font": {"size": 12}}


def _maps(occupancy_blocks: Sequence[OccupancyBlock], machine: Machine, scale: float, first: int) -> list[Panel]:
    panels = []
    known = [region for region in mapped(occupancy_blocks) if region in machine.memory]
    for number, region in enumerate(known[:_MAPS], first):
        traces, top, above = address_map(occupancy_blocks, region, machine.memory[region].base, scale, f"y{number}")
        title = f"addresses of {plain(region)}, KiB of {size(machine.memory[region].size)}"
        title += f"; {size(above)} of weights above" if above else ""
        moves = len({(block.start, block.end) for block in occupancy_blocks if block.region == region}) > 1
        panels.append(Panel(title, _MAP if moves else _FLAT, traces, {"range": [0, 1.06 * top], "nticks": 5}))
    return panels


def _caption(run: Run, occupancy_blocks: Sequence[OccupancyBlock], colours: Mapping[str, str]) -> str:
    shown = {name: colours[name] for name in colours if name in {*run.traffic, *mapped(occupancy_blocks)}}
    lived = {kind: colour for kind, colour in KIND_COLOURS.items() if any(b.kind == kind for b in occupancy_blocks)}
    lived.pop("activation", None)
    lines = ["<b>Over time</b> <span class=dim>drag to zoom, double-click to see all</span>", *lane_chips([run])]
    lines += [legend("regions", shown), legend("addresses: one colour per activation, and", lived)]
    missing = [plain(region) for region in mapped(occupancy_blocks)[_MAPS:]]
    lines += [f"<span class=dim>addresses not drawn: {', '.join(missing)}</span>"] if missing else []
    return "".join(f"<div>{line}</div>" for line in lines)


def lane_chips(runs: Sequence[Run]) -> list[str]:
    """The legends of the core's lane and of the DMA streams', of what occurs."""
    causes = {cause: colour for cause, colour in CAUSE_COLOURS.items() if any(run.by_cause.get(cause) for run in runs)}
    labels = {event.label for run in runs for event in run.events if event.kind == "transfer"}
    seen = {transfer_label(label) for label in labels}
    dma = {kind: colour for kind, colour in TRANSFER_COLOURS.items() if kind in seen}
    return [legend("core", causes), *([legend("DMA copies", dma)] if dma else [])]

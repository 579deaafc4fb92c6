"""A result in a notebook: an HTML summary that needs no script, and a plot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcusim.report.html.page import plain, shortened
from mcusim.report.html.style import region_colours
from mcusim.report.run.figures.lanes import lanes, traces
from mcusim.report.run.figures.operator_bars import operator_labels, times
from mcusim.report.run.figures.time_series import Panel, lanes_panel, row_names, stacked
from mcusim.report.run.figures.traffic_bars import areas
from mcusim.report.run.interval_text import interval_sentences
from mcusim.report.run.page import cycle_bar, numbers, summary

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from mcusim.results.result import Result

_LABELS = 120  # pixels below the plot, for the operators' names
_STYLE = """
.mcusim .cycle-bar { display: flex; height: 1.6em; margin: .5em 0 .3em; border-radius: 4px; overflow: hidden; }
.mcusim .cycle-bar i { display: block; min-width: 0; font: 11px/1.9em sans-serif; color: #15181c; text-align: center;
  overflow: hidden; white-space: nowrap; }
.mcusim .colour { white-space: nowrap; margin-right: .8em; }
.mcusim .colour i { display: inline-block; width: .75em; height: .75em; border-radius: 2px; margin-right: .35em; }
.mcusim .summary { font-size: 1.1em; } .mcusim .dim { opacity: .7; }
.mcusim .tables { display: flex; flex-wrap: wrap; gap: .4em 3em; align-items: flex-start; }
.mcusim .number { text-align: right; }
""".strip()


def result_html(result: Result) -> str:
    """What a notebook shows for a result: its sentence, where the cycles went, tables, interval. Equal results give
    equal text; nothing is loaded and no script runs. Not modelled: plots and assumptions."""
    title = f"{shortened(result.model or 'a model without a name', 80)} on {shortened(result.machine.name, 80)}"
    parts = [f"<style>{_STYLE}</style><h3>{plain(title)}</h3>", summary(result)]
    if result.run is not None:
        parts += [cycle_bar(result.run), f'<div class="tables">{numbers(result, result.run)}</div>']
    parts += [f"<p>{plain(line)}</p>" for line in interval_sentences(result.interval)]
    return f'<div class="mcusim">{"".join(parts)}</div>'


def result_figure(result: Result) -> Figure:
    """Lanes and bus over time, above the operators' milliseconds by cause, as a plotly figure.

    Tasks are merged to what 1,200 pixels can show, and stay so when you zoom in: ``mcusim run --html`` merges again for
    each zoom. Without a run the figure is empty, its title says why.
    """
    from plotly.graph_objects import Figure

    if result.run is None:
        why = plain(shortened(str(result.negative or result.unusable or "not run"), 200))
        return Figure(layout={"title": {"text": f"There is no run: {why}"}})
    run = result.run
    rows, scale = lanes(run), 1e3 / run.clock
    colours = region_colours(result.machine, run.traffic)
    bars = [{**bar, "xaxis": "x2", "showlegend": True} for bar in times(run, "y3")]
    bus = [{**area, "showlegend": True} for area in areas(rows, run.cycles, run.clock, colours, "y2")]
    panels = [
        replace(lanes_panel(rows), traces=traces(rows, run.cycles, scale)),
        Panel("MB/s at each memory's pins", 110, bus, {}),
        Panel("ms of each operator, by cause", 220, bars, {}),
    ]
    layout, height = stacked(panels, run.cycles * scale, row_names(rows))
    layout["xaxis"] |= {"anchor": "y2", "title": None, "ticksuffix": " ms"}
    layout["margin"]["b"] += _LABELS
    data = [trace for panel in panels for trace in panel.traces]
    second = {"xaxis2": _operators(operator_labels(run)), "barmode": "stack", "height": height + _LABELS}
    second["uniformtext"] = {"mode": "hide", "minsize": 9}
    return Figure(data=data, layout={**layout, **second})


def _operators(labels: Sequence[str]) -> dict[str, Any]:
    every = max(1, len(labels) // 40)
    ticks = list(range(0, len(labels), every))
    return {"anchor": "y3", "tickvals": ticks, "ticktext": [labels[i] for i in ticks], "tickangle": -90}

"""The page of ``mcusim validate``: simulated against published numbers, in one HTML file that needs no network.

Each plot has lines of equality and of ten percent more and less.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import Any

from mcusim.evidence.validate.page_answer import answer
from mcusim.evidence.validate.page_memory import MEMORY, memory_section, trials_section
from mcusim.evidence.validate.page_runs import runs_section
from mcusim.evidence.validate.table import in_base_unit, ran
from mcusim.measurements.published.validation_result import Statistics, Validation, ValidationRow
from mcusim.report.html.page import PlotFigure, page, plain, table
from mcusim.text import percent, rounded

# one colour a board, distinguishable with any colour vision: M. Okabe and K. Ito, "Color Universal Design", 2008
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
_SYMBOLS = {"validate": "circle", "calibrate": "diamond-open", "context": "x-thin-open"}
_BAND = 0.1  # of the measured value
_ROOM = 1.3  # factor between the outermost points and the frame
_GREY = "#7d8590"


def scatter(rows: Sequence[ValidationRow], caption: str, boards: Sequence[str]) -> PlotFigure:
    """One point a row, on logarithmic axes of one range; a trace for each of ``boards`` and use.

    ``rows`` were run and have one unit; a board has the colour of its place in ``boards``. Not modelled: numbers of 0,
    which a logarithm has no place for.
    """
    points = [(row, *in_base_unit(row)) for row in rows]
    shown = [
        (row, unit, measured, simulated) for row, unit, measured, simulated in points if measured > 0 and simulated
    ]
    numbers = [number for _, _, *pair in shown for number in pair if number]
    low, high = min(numbers, default=1.0) / _ROOM, max(numbers, default=1.0) * _ROOM
    traces = [_line(low, high, 1 + share, dash) for share, dash in ((0.0, "solid"), (_BAND, "dash"), (-_BAND, "dash"))]
    for number, board in enumerate(boards):
        colour = _COLOURS[number % len(_COLOURS)]
        for use, symbol in _SYMBOLS.items():
            entries = [point for point in shown if point[0].board == board and point[0].use == use]
            if entries:
                traces.append(_points(entries, f"{board or 'no board'}: {use}", colour, symbol))
    unit = points[0][1] if points else ""
    return PlotFigure(caption, traces, _layout(low, high, plain(unit)), height=560)


def _line(low: float, high: float, factor: float, dash: str) -> dict[str, Any]:
    """simulated = factor x measured, from frame to frame."""
    return {
        "type": "scatter",
        "mode": "lines",
        "x": [low, high],
        "y": [low * factor, high * factor],
        "line": {"color": _GREY, "width": 1, "dash": dash},
        "hoverinfo": "skip",
        "showlegend": False,
    }


def _points(
    entries: Sequence[tuple[ValidationRow, str, float, float | None]], name: str, colour: str, symbol: str
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "markers",
        "name": plain(name),
        "x": [measured for _, _, measured, _ in entries],
        "y": [simulated for *_, simulated in entries],
        "text": [_hover(row, unit, measured, simulated or 0.0) for row, unit, measured, simulated in entries],
        "hovertemplate": "%{text}<extra></extra>",
        "marker": {"color": colour, "symbol": symbol, "size": 9, "line": {"color": colour, "width": 1.5}},
    }


def _hover(row: ValidationRow, unit: str, measured: float, simulated: float) -> str:
    lines = [
        f"<b>{plain(row.network)}</b>",
        plain(f"{row.board or 'no board'}, {row.engine or 'no engine'}, {row.placement}"),
        plain(f"{row.source}, {row.table}: {row.use}"),
        plain(f"measured {rounded(measured)} {unit}, simulated {rounded(simulated)} {unit}, {percent(row.error)}"),
        plain(f"{ran(row)}; {_expected(row)}"),
    ]
    return "<br>".join(lines)


def _expected(row: ValidationRow) -> str:
    """The interval that rows of other sources give."""
    if row.interval is None:
        return "no interval"
    return f"{rounded(row.interval[0])} to {rounded(row.interval[1])} {row.unit}{'' if row.covered else ', outside'}"


def _layout(low: float, high: float, unit: str) -> dict[str, Any]:
    ticks = _ticks(low, high)
    axis = {
        "type": "log",
        "range": [log10(low), log10(high)],
        "tickvals": ticks,
        "ticktext": [f"{tick:,g}" for tick in ticks],
        "zeroline": False,
        "gridcolor": "#dde2e7",
    }
    return {
        "xaxis": {**axis, "title": {"text": f"measured, {unit}"}},
        "yaxis": {**axis, "title": {"text": f"simulated, {unit}"}},
        "margin": {"l": 72, "r": 16, "t": 8, "b": 56},
        "legend": {"orientation": "h", "y": -0.16, "x": 0},
        "hovermode": "closest",
        "hoverlabel": {"align": "left", "bgcolor": "#262c33", "bordercolor": "#262c33", "font": {"size": 12}},
        "font": {"family": "system-ui, -apple-system, Segoe UI, Roboto, DejaVu Sans, sans-serif", "size": 12},
        "plot_bgcolor": "rgba(0,0,0,0)",
    }


def _ticks(low: float, high: float) -> list[float]:
    """Powers of ten, and in between as many round numbers as leave room."""
    decades = range(floor(log10(low)), ceil(log10(high)) + 1)
    between = (1,) if high / low > 1e3 else (1, 2, 5) if high / low > 10 else (1, 1.5, 2, 3, 4, 5, 6, 8)
    return [tick for decade in decades for step in between if low <= (tick := step * 10.0**decade) <= high]


_PLOTS = (
    ("Latency", ("latency",)),
    ("Energy", ("energy",)),
    ("Supply current", ("supply_current",)),
    ("Memory: arena and peak of activations", ("arena", "peak_activations")),
)
_NAMES = {"supply_current": "supply current", "peak_activations": "peak of activations", "file_size": "file size"}


def validation_html(validation: Validation) -> str:
    """A page with the answer first, every network's run in a table to sort and filter, a plot for each kind of
    quantity, memory and DMA, programs tried, the summary of the errors, and what was not run and why.

    Equal validations give equal text. Not modelled: MACs and file sizes from the plots.
    """
    networks = [row for row in validation.rows if row.quantity not in MEMORY]
    parts: list[str | PlotFigure] = [answer(validation), runs_section(networks)]
    boards = list(dict.fromkeys(row.board for row in validation.rows))
    for title, quantities in _PLOTS:
        rows = [row for row in validation.rows if row.quantity in quantities and row.simulated is not None]
        if rows:
            parts.append(scatter(rows, f"<b>{title}</b> {_caption(rows)}", boards))
    parts += [memory_section(validation.rows), trials_section(validation.trials)]
    parts += [_summary(validation.summary), _missing(validation)]
    return page("Simulated and measured", [part for part in parts if part], ["runs.js"])


def _caption(rows: Sequence[ValidationRow]) -> str:
    unit = in_base_unit(rows[0])[0]
    return f"<span class=dim>in {unit}; solid: simulated = measured, dashed: 10 % more and less</span>"


def _summary(statistics: Sequence[Statistics]) -> str:
    if not statistics:
        return ""
    rows = []
    for item in statistics:
        rank = "-" if item.rank is None else f"{item.rank:.2f}"
        numbers = [str(item.count), f"{item.median:.1f} %", percent(item.worst), percent(item.bias), rank]
        rows.append([_name(item.quantity), item.use, plain(item.board or "no board"), *numbers])
    head = ["quantity", "use", "board", "rows", "median", "worst", "bias", "rank"]
    notes = (
        "<p>Calibrate: machine figures were fitted to these rows or to others of their experiment; validate: nothing"
        " was. Median: of absolute errors; worst: the largest, with its sign; bias: mean of signed errors; rank:"
        " Spearman's correlation within a board.</p>"
    )
    return f"<h2>Errors</h2>{table(head, rows, left=3)}{notes}"


def _missing(validation: Validation) -> str:
    lines = []
    for reason, rows in validation.missing.items():
        models = dict.fromkeys(row.built for row in rows)
        lines.append(f"<li>{plain(reason)}: {len(rows)} of {plain('; '.join(models))}</li>")
    return f"<h2>Not run</h2><ul>{''.join(lines)}</ul>" if lines else ""


def _name(quantity: str) -> str:
    return _NAMES.get(quantity, quantity)

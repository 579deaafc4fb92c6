"""The page of ``mcusim sweep``: one offline HTML file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from mcusim.program.unknown_operators import left_out_text
from mcusim.report.html.page import PlotFigure, page, plain, shortened, table
from mcusim.report.run.interval_text import percentage
from mcusim.report.sweep.figures.effects_bars import MOST_MAPS, heat_maps, tornado
from mcusim.report.sweep.figures.parallel import parallel
from mcusim.report.sweep.figures.pareto import pareto
from mcusim.report.sweep.figures.plots import PlotRequest, plot_figures
from mcusim.report.sweep.figures.point_table import OUTPUTS, Point, StudyLike, Sweep
from mcusim.results.measurement.interval import LEVEL

if TYPE_CHECKING:
    import pandas

_OWN_AXES = ("Plots", "Pareto fronts")  # those side by side do not share them
_MODELS, _ROWS, _FAILED = 6, 400, 20
# side by side where there is room, each with its own axes
_SIDE_BY_SIDE = (
    '<div style="display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));column-gap:1.5rem">'
)
Part = str | PlotFigure | Sequence[PlotFigure]


def sweep_page(
    frame: pandas.DataFrame, study: StudyLike, conclusions: Sequence[str] = (), plots: Sequence[PlotRequest] = ()
) -> str:
    """A page with the best point of each model, Pareto fronts, what each input changes (tornado), heat maps over the
    inputs that matter most, every point as a line over its inputs and outputs, and the table.

    ``frame`` is the table of :func:`mcusim.sweep` for ``study``; ``conclusions`` are sentences to put first, and
    ``plots`` those that were asked for. Equal
    tables give equal text. Not modelled: pictures of more than 6 models and 12 heat maps, of the table what is after
    its 400th row; derived columns are in the Parquet file only.
    """
    sweep = Sweep(frame.to_dict("records"), study)
    parts: list[Part] = [_lead(sweep), _conclusions(conclusions), _tables(sweep)]
    if sweep.ran:
        parts += _pictures(sweep_figures(sweep, plots))
    parts += [_failed(sweep), _points(sweep), _notes(sweep)]
    return page(study.title or f"Study {study.name}", [part for part in parts if part])


def sweep_figures(sweep: Sweep, plots: Sequence[PlotRequest] = ()) -> dict[str, Sequence[PlotFigure]]:
    """By heading, those that there are: ``plots``, Pareto fronts, effects, heat maps, parallel coordinates."""
    models = [model for model in sweep.models if any(point["model"] == model for point in sweep.ran)]
    effects = [tornado(sweep, output) for output in ("latency_ms", "energy_mj")]
    lines = parallel(sweep)
    figures: dict[str, Sequence[PlotFigure]] = {
        "Plots": [figure for request in plots for figure in plot_figures(sweep, request)],
        "Pareto fronts": [pareto(sweep, model) for model in models[:_MODELS]],
        "What each input changes": [figure for figure in effects if figure is not None],
        "Heat maps": heat_maps(sweep),
        "Parallel coordinates": [] if lines is None else [lines],
    }
    return {heading: drawn for heading, drawn in figures.items() if drawn}


def _pictures(figures: Mapping[str, Sequence[PlotFigure]]) -> list[Part]:
    parts: list[Part] = []
    for heading, drawn in figures.items():
        parts.append(f"<h2>{heading}</h2>")
        parts += [_SIDE_BY_SIDE, *drawn, "</div>"] if heading in _OWN_AXES else _pairs(drawn)
    return parts


def _pairs(figures: Sequence[PlotFigure]) -> list[Sequence[PlotFigure]]:
    return [figures[n : n + 2] for n in range(0, len(figures), 2)]


def _lead(sweep: Sweep) -> str:
    question = f'<p class="summary">{plain(sweep.study.question)}</p>' if sweep.study.question else ""
    count, ran = len(sweep.points), len(sweep.ran)
    states = [("does-not-fit", "did not fit"), ("fault", "faulted"), ("error", "could not be planned")]
    pairs = [(sum(point["status"] == state for point in sweep.points), words) for state, words in states]
    rest = "".join(f", {number:,} {words}" for number, words in pairs if number)
    varied = ", ".join(f"{plain(name)} ({len(sweep.values(name))})" for name in sweep.varying) or "nothing"
    return f"{question}<p>{count:,} points: {ran:,} ran{rest}. Varied, with so many values: {varied}.</p>"


def _conclusions(conclusions: Sequence[str]) -> str:
    return (
        f"<h2>What it shows</h2><ul>{''.join(f'<li>{plain(conclusion)}</li>' for conclusion in conclusions)}</ul>"
        if conclusions
        else ""
    )


def _tables(sweep: Sweep) -> str:
    """Of each model the fastest point, and the one of least energy."""
    rows = []
    for model in sweep.models:
        points = [point for point in sweep.ran if point["model"] == model]
        for words, output in (("fastest", "latency_ms"), ("least energy", "energy_mj")):
            if points:
                rows.append([plain(shortened(model)), words, *_row(sweep, min(points, key=lambda p: p[output]))])
    head = ["model", "", *map(plain, sweep.varying), *map(sweep.title, OUTPUTS)]
    return f"<h2>Best points</h2>{table(head, rows, left=2 + len(sweep.varying))}" if rows else ""


def _row(sweep: Sweep, point: Point) -> list[str]:
    outputs = [sweep.with_ends(name, point) for name in OUTPUTS]
    return [*(sweep.label(name, point[name]) for name in sweep.varying), *outputs]


def _failed(sweep: Sweep) -> str:
    """Why points did not run, each reason once."""
    reasons: dict[str, int] = {}
    for point in sweep.points:
        if point["status"] != "ok":
            text = f"{point['status']}: {point['error']}"
            reasons[text] = reasons.get(text, 0) + 1
    if not reasons:
        return ""
    rows = [[plain(shortened(text, 200)), f"{count:,}"] for text, count in list(reasons.items())[:_FAILED]]
    more = f"<p>{len(reasons) - _FAILED:,} more reasons are in the table's file.</p>" if len(reasons) > _FAILED else ""
    return f"<h2>What did not run</h2>{table(['reason', 'points'], rows)}{more}"


def _points(sweep: Sweep) -> str:
    head = ["model", *map(plain, sweep.varying), "status", *map(sweep.title, OUTPUTS)]
    rows = []
    for point in sweep.points[:_ROWS]:
        cells = _row(sweep, point)
        cut = len(sweep.varying)
        rows.append([sweep.label("model", point["model"]), *cells[:cut], plain(point["status"]), *cells[cut:]])
    text = table(head, rows, left=2 + len(sweep.varying))
    named = "All points" if len(sweep.points) <= _ROWS else f"The first {_ROWS} of {len(sweep.points):,} points"
    return f"<details><summary>{named}</summary>{text}</details>"


def _notes(sweep: Sweep) -> str:
    lines = [
        "Pareto front: points that no other one beats in both numbers. A click on an entry of a legend hides its "
        "points, two clicks hide all others.",
        "What each input changes: geometric means over points that differ in this input alone, in percent of the mean "
        "over its values; the longest bar is the input that matters most here.",
        f"Heat maps: the least of the points in a cell, a dash where none ran; at most {MOST_MAPS} maps.",
        "Parallel coordinates: lines of one value lie side by side in the order of their latency.",
    ]
    without = dict.fromkeys(str(point["left_out"]) for point in sweep.ran if point.get("left_out"))
    lines += [f"Totals are {plain(shortened(left_out_text((names,)), 300))}" for names in list(without)[:8]]
    if any(point.get("latency_low_ms") is not None for point in sweep.ran):
        lines.append(
            f"In brackets: where {percentage(LEVEL)} of measurements are expected, from the errors of published ones."
        )
    return f"<h2>How to read it</h2><ul>{''.join(f'<li>{line}</li>' for line in lines)}</ul>"

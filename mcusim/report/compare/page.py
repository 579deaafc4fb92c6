"""The page of ``mcusim compare``: runs of each model side by side, and what makes them differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from fractions import Fraction

from mcusim.report.compare.bars import (
    RUN_COLOURS,
    differences_figure,
    lanes_compared,
    operators_figure,
    totals_figure,
)
from mcusim.report.compare.pairs import Pair, by_model, labels, pairs
from mcusim.report.diff.moved_table import moved_tables
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.report.html.pages import RunPage
from mcusim.report.run.interval_text import ends, percentage, range_text, ratio_text
from mcusim.report.run.page import rests_on
from mcusim.report.run.period_text import hours_text
from mcusim.results.difference import in_words, rounded_parts
from mcusim.results.measurement.interval import LEVEL
from mcusim.results.result import Result, sram_bytes
from mcusim.text import kib, percent, pick_unit, quantity

_Part = str | PlotFigure | Sequence[PlotFigure]


def compare_page(results: Sequence[Result]) -> str:
    """A page with a section for each model: its runs on one time scale, totals, operators, and why each takes longer
    than the fastest one of its machine, and that one than the fastest of all, in parts that sum exactly to it.

    Equal results give equal text. Results without a run are listed with their reason. Not modelled: memory and traffic,
    which the page of one run has.
    """
    groups = by_model(results)
    ran = sum(result.fits for result in results)
    parts: list[_Part] = [
        f'<p class="summary">{ran} of {len(results)} rows ran, of {_count(len(groups), "model")}.</p>'
    ]
    for model, members in groups.items():
        parts += _section(model, members)
    parts += moved_tables([result.machine for result in results])
    parts.append(_reading() if ran else "")
    parts += _believed(results)
    title = f"{shortened(next(iter(groups)), 80)}: runs side by side" if len(groups) == 1 else "Runs side by side"
    return page(title, [part for part in parts if part])


PAGE = RunPage("compare", "runs on one time scale, and what makes them differ", compare_page, several=True)


def _section(model: str, members: Sequence[Result]) -> list[_Part]:
    named = dict(zip(labels(members), members, strict=True))
    runs = {label: result.run for label, result in named.items() if result.run is not None}
    parts: list[_Part] = [f"<h2>{plain(shortened(model or 'a model without a name', 80))}</h2>", _failed(named)]
    if not runs:
        return parts
    colours = {label: RUN_COLOURS[i % len(RUN_COLOURS)] for i, label in enumerate(runs)}
    entries = pairs(members)
    items = "".join(f"<li>{plain(_said(pair))}</li>" for pair in entries)
    parts.append(f'<ul class="differences">{items}</ul>' if items else "")
    parts += [lanes_compared(runs), totals_figure(runs, {label: named[label].machine for label in runs})]
    figures = [differences_figure({f"{pair.place}{pair.label}, not {pair.base}": pair.parts for pair in entries})]
    parts += [figure for figure in (*figures, operators_figure(runs, colours)) if figure]
    parts.append(_numbers({label: named[label] for label in runs}))
    return parts + [_exact(pair) for pair in entries]


def _said(pair: Pair) -> str:
    energy, ratios = pair.energy(), pair.second.ratios
    text = f"{pair.sentence()}; {energy}." if energy else f"{pair.sentence()}."
    if ratios is None:
        return text
    texts = ratio_text("latency", ratios.latency), ratio_text("energy", ratios.energy)
    return f"{text} {pair.label} over {pair.base}: {'; '.join(texts)}."


def _numbers(named: Mapping[str, Result]) -> str:
    """Latency, energy, current and peak memory of each run, next to measured values where these are published."""
    head = ["run"]
    columns: list[list[str]] = [[plain(label) for label in named]]
    for name, title in (("latency_ms", "ms"), ("energy_mj", "mJ"), ("supply_current_ma", "mA")):
        measured = [result.measured.figures.get(name) if result.measured else None for result in named.values()]
        scale = pick_unit(title, [*(result.value(name) for result in named.values()), *measured])
        head.append(scale.unit)
        columns.append([scale.shown(result.value(name)) for result in named.values()])
        if name != "supply_current_ma" and any(result.interval for result in named.values()):
            head.append(f"{percentage(LEVEL)} interval")
            columns.append(
                [ends(getattr(result.interval, name), scale) if result.interval else "-" for result in named.values()]
            )
        if any(value is not None for value in measured):
            head += ["measured", "error"]
            columns += [[scale.shown(value) for value in measured]]
            columns.append([percent(result.error_percent(name)) for result in named.values()])
    for title, texts in _periods(named.values()):
        head.append(title)
        columns.append(texts)
    head += ["SRAM KiB", "cycles"]
    columns.append([kib(sram_bytes(result)) for result in named.values()])
    columns.append([f"{result.run.cycles:,}" if result.run else "-" for result in named.values()])
    return table(head, list(zip(*columns, strict=True)))


def _periods(results: Collection[Result]) -> Iterator[tuple[str, list[str]]]:
    """Columns of runs that were asked for with a period."""
    asked = [result.duty for result in results]
    first = next((duty for duty in asked if duty is not None), None)
    if first is None:
        return
    late = [duty is not None and not duty.met for duty in asked]
    energies = [quantity(None if duty is None else duty.energy_mj, "mJ") for duty in asked]
    yield (
        f"each {quantity(first.period_ms, 'ms')}",
        ["period not met" if missed else text for text, missed in zip(energies, late, strict=True)],
    )
    expected = [None if duty is None else duty.interval_mj for duty in asked]
    yield "expected", ["-" if bounds is None else range_text(bounds, "mJ") for bounds in expected]
    yield "mean power", [quantity(None if duty is None else duty.mean_power_mw, "mW") for duty in asked]
    lives = [None if duty is None else duty.battery for duty in asked]
    if cell := next((life.battery for life in lives if life is not None), None):
        yield plain(cell.name), ["-" if life is None else hours_text(life.hours) for life in lives]


def _failed(named: Mapping[str, Result]) -> str:
    lines = [
        f"{plain(label)}: {plain(shortened(str(result.negative or result.unusable or 'not run'), 400))}"
        for label, result in named.items()
        if result.run is None
    ]
    return bullets(lines) if lines else ""


def _exact(pair: Pair) -> str:
    """All parts of one difference, folded; the rounded numbers sum to the rounded whole."""
    if not pair.parts:
        return ""
    scale = pick_unit("ms", [min(1.0, max(abs(part.ms) for part in pair.parts))])  # ms, or less
    factor = 1000 * Fraction(scale.factor).limit_denominator(10**6)
    numbers = rounded_parts([factor * part.seconds for part in pair.parts], 3)
    rows = [
        [plain(in_words(part)), f"{float(n):+,.3f} {scale.unit}"] for part, n in zip(pair.parts, numbers, strict=True)
    ]
    rows.append(["<b>together</b>", f"<b>{float(sum(numbers)):+,.3f} {scale.unit}</b>"])
    head = f"{pair.place}{_count(len(rows) - 1, 'part')} by which {pair.label} differs from {pair.base}"
    return f"<details><summary>{plain(head)}</summary>{table(['what', 'more'], rows)}</details>"


def _reading() -> str:
    lines = [
        "A difference is taken apart by what the core's cycles were spent on: computing, by type of operator; waiting, "
        "by memory and by the operand whose access was delayed. Where clocks differ, the clock's part is what the "
        "first run's cycles take more or less on the other clock; the other parts are on that clock.",
        "The parts sum exactly to the difference. They say where the time went: a wait that is gone may be a cache's "
        "doing, another place of the data, or a copy by DMA, whose own waits are then a part of their own.",
        "A task's colours are its cycles by cause, drawn end to end. Tasks narrower than a pixel are merged until you "
        "zoom in.",
    ]
    return f"<h2>How to read it</h2>{bullets(lines)}"


def _believed(results: Sequence[Result]) -> list[str]:
    """What each machine, policy and kernels' results depend on, once."""
    texts: dict[str, str] = {}
    for result in results:
        text = rests_on(result) if result.run is not None else ""
        if text:
            name = f"{result.label} on {result.machine.name}, kernels {result.kernels}, fidelity {result.fidelity}"
            texts.setdefault(text, name)
    return [
        f"<details><summary>How far off {plain(name)} may be</summary>{text}</details>" for text, name in texts.items()
    ]


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"

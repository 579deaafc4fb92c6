"""The page of ``mcusim run``: one offline HTML file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.model.operators import shown_type
from mcusim.program.unknown_operators import left_out_text
from mcusim.report.diff.moved_table import moved_table
from mcusim.report.html.film_page import FILM_SCRIPTS, FILM_STYLES, film_section
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.report.html.pages import RunPage
from mcusim.report.html.style import CAUSE_COLOURS, legend
from mcusim.report.run.advice_section import advice_section
from mcusim.report.run.changes import change_texts
from mcusim.report.run.figures.operator_bars import breakdown_figure, causes_of
from mcusim.report.run.figures.time_series import time_figure
from mcusim.report.run.figures.traffic_bars import traffic_figure
from mcusim.report.run.flash_section import flash_section
from mcusim.report.run.interval_text import ends_text, interval_sentences, percentage, range_text
from mcusim.report.run.period_text import period_rows, period_sentences
from mcusim.results.difference import WORDS
from mcusim.results.measurement.interval import LEVEL
from mcusim.results.provenance import result_made
from mcusim.results.result import Result
from mcusim.text import percent, pick_unit, quantity, size

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_LISTED = 15  # operators, and waits


def run_page(result: Result) -> str:
    """A page with lanes over time, memory, cycles and energy by operator, traffic, tables, and what it all depends on.

    Equal results give equal text. Without a run the page says why. Not modelled: of a region's map the smallest pieces
    when there are more than 8,000, and regions beyond the third; the inputs' and outputs' values.
    """
    title = f"{shortened(result.model or 'a model without a name', 80)} on {shortened(result.machine.name, 80)}"
    parts: list[str | PlotFigure] = [summary(result), advice_section(result.verdict, result.advice)]
    if result.run is not None:
        run = result.run
        parts += [cycle_bar(run), time_figure(run, result.machine)] if run.cycles else []
        parts += [breakdown_figure(run, result.machine)] if run.operators else []
        parts += [traffic_figure(run)] if run.traffic else []
        parts += [f'<h2>In numbers</h2><div class="tables">{numbers(result, run)}</div>']
    parts += [flash_section(result.flash)] if result.flash else []
    scripts, styles = ((), ()) if result.film is None else (FILM_SCRIPTS, FILM_STYLES)
    parts += ["<h2>Film</h2>", film_section(result.film)] if result.film else []
    parts += [_reading(result), rests_on(result)]
    return page(title, [part for part in parts if part], scripts, styles, result_made(result))


PAGE = RunPage("run", "lanes over time, memory, cycles and energy", lambda results: run_page(results[0]))


def summary(result: Result) -> str:
    """The result in a sentence, and how it was obtained."""
    how = f"policy {result.planner}, kernels {result.kernels}, fidelity {result.fidelity}"
    notes = f'<p class="dim">{plain("; ".join([how, *change_texts(result.machine, moves=False)]))}</p>'
    notes += moved_table(result.machine)
    if result.run is None:
        why = str(result.negative or result.unusable or "not run")
        return f'<p class="summary">There is no run: {plain(shortened(why, 600))}</p>{notes}'
    text = f"{_figure(result, 'latency_ms', 'ms')}, {_figure(result, 'energy_mj', 'mJ')}, "
    text += f"{result.run.cycles:,} cycles at {result.run.clock / 1e6:g} MHz"
    without = left_out_text(result.left_out)
    missing = f'<p class="summary">Totals are {plain(without)}.</p>' if without else ""
    return f'<p class="summary">{text}</p>{missing}{notes}'


def _figure(result: Result, name: str, unit: str) -> str:
    """A figure with the ends of its interval, where it has one."""
    value = f"<b>{quantity(result.value(name), unit)}</b>"
    if result.interval is None:
        return value
    return f"{value} ({range_text(getattr(result.interval, name), unit)})"


def cycle_bar(run: Run) -> str:
    """Where the cycles went as one bar; it needs no script."""
    total = run.cycles or 1
    causes = causes_of(run)
    bars = "".join(_segment(cause, run.by_cause[cause] / total) for cause in causes)
    shares = {f"{cause} {run.by_cause[cause] / total:.1%}": CAUSE_COLOURS[cause] for cause in causes}
    return f'<div class="cycle-bar">{bars}</div><p>{legend("cycles:", shares)}</p>'


def _segment(cause: str, share: float) -> str:
    text = cause if share > 0.06 else ""
    wide = "" if share > 0.16 else ' class="narrow"'
    return f'<i style="background:{CAUSE_COLOURS[cause]};flex:{share:.5f}"{wide}>{text}</i>'


def numbers(result: Result, run: Run) -> str:
    """The tables: what came out, memory, waits, the slowest operators."""
    return "".join([_facts(result), _memory(result, run), _waits(run), _slowest(run)])


def _facts(result: Result) -> str:
    """Latency, energy, current, cycles, next to measured values where these are published."""
    rows = []
    for name, title, unit in (
        ("latency_ms", "latency", "ms"),
        ("energy_mj", "energy", "mJ"),
        ("supply_current_ma", "supply current", "mA"),
    ):
        scale = pick_unit(unit, [result.value(name)])
        rows.append([title, scale.text(result.value(name))])
        if result.interval is not None and name != "supply_current_ma":
            within = f"{ends_text(getattr(result.interval, name), scale)} {scale.unit}"
            rows.append([f"{title}, {percentage(LEVEL)} interval", within])
        if result.measured is not None and name in result.measured.figures:
            measured = scale.text(result.measured.figures[name])
            rows.append([f"{title}, measured", f"{measured}, error {percent(result.error_percent(name))}"])
    if result.duty is not None:
        rows += [[label, f"{plain(value)} ({plain(note)})"] for label, value, note in period_rows(result.duty)]
        rows += [["", plain(text)] for text in period_sentences(result.duty)]
    cycles = result.run.cycles if result.run else 0
    rows += [["cycles", f"{cycles:,}"], ["MACs", f"{result.macs or 0:,}"]]
    rows += [["cycles per MAC", f"{cycles / result.macs:.2f}"]] if result.macs else []
    return table(["figure", plain(result.planner)], rows)


def _memory(result: Result, run: Run) -> str:
    rows = []
    for name in sorted({*run.header.peak_bytes, *run.traffic}):
        used = run.header.peak_bytes.get(name, 0)
        region = result.machine.memory.get(name)
        share = f"{used / region.size:.1%} of {size(region.size)}" if region and region.size else "-"
        traffic = run.traffic.get(name)
        rows.append([plain(name), f"{used:,} B", share, f"{traffic.total:,} B" if traffic else "0"])
    return table(["region", "in use at the peak", "share", "traffic"], rows)


def _waits(run: Run) -> str:
    """What the core waited for, by memory and operand."""
    counts: dict[tuple[str, str], int] = {}
    for wait in run.waits:
        where = f"DMA from {wait.region}" if wait.cause == "dma_wait" and wait.region else wait.region or wait.cause
        key = (where, WORDS.get(wait.role, wait.role))
        counts[key] = counts.get(key, 0) + wait.cycles
    order = sorted(counts, key=lambda key: (-counts[key], key))[:_LISTED]
    total = run.cycles or 1
    rows = [
        [plain(where), plain(role), _time(run, counts[where, role]), f"{counts[where, role] / total:.1%}"]
        for where, role in order
    ]
    return table(["the core waits for", "operand", "time", "of all"], rows, left=2) if rows else ""


def _time(run: Run, cycles: int) -> str:
    """In the unit that suits the whole run."""
    return pick_unit("ms", [1e3 * run.cycles / run.clock]).text(1e3 * cycles / run.clock)


def _slowest(run: Run) -> str:
    total = run.cycles or 1
    order = sorted(run.operators, key=lambda o: (-o.cycles, o.index))
    rows = []
    for operator in order[:_LISTED]:
        most = max(operator.by_cause, key=lambda cause: operator.by_cause[cause], default="-")
        name = f"{operator.index} {plain(shortened(shown_type(operator.type), 24))}"
        numbers = [_time(run, operator.cycles), f"{operator.cycles / total:.1%}"]
        rows.append([name, most, str(operator.tiles), *numbers])
    count = f"slowest operators, {len(rows)} of {len(order)}"
    return table([count, "most of it", "tiles", "time", "of all"], rows, left=2)


def _reading(result: Result) -> str:
    lines = [
        "A task's colours are its cycles by cause, drawn end to end: when inside the task each was spent is not known. "
        "Tasks narrower than a pixel are merged until you zoom in; point at one to see how many they are.",
        "A task's bytes are taken to cross the pins evenly over its time. Causes: dma_wait is the core waiting for a "
        "transfer, bus the two delaying each other at one memory, runtime interpreter and DMA driver.",
        "Bytes in use are the buffers' own, without padding; a buffer is there from the start of the first operator "
        "that needs it on the core to the end of the last one, though a transfer may fill it a little earlier.",
        "Waits are those of the operand whose access was delayed, also where an earlier write or another operand's row "
        "is to blame; of waits for a DMA each transfer has those up to its own end.",
    ]
    return f"<h2>How to read it</h2>{bullets(lines)}" if result.run else ""


def rests_on(result: Result) -> str:
    """Interval, warnings, and the assumptions folded away."""
    sentences = "".join(f"<p>{plain(text)}</p>" for text in interval_sentences(result.interval))
    html = f"<h2>How far off it may be</h2>{sentences}" if sentences else ""
    warnings = [f"Warning: {plain(shortened(text, 400))}" for text in result.warnings]
    html += bullets(warnings) if warnings else ""
    if result.assumptions:
        count = f"Rests on {len(result.assumptions)} assumptions"
        texts = bullets([plain(text) for text in result.assumptions])
        html += f"<details><summary>{count}</summary>{texts}</details>"
    return html

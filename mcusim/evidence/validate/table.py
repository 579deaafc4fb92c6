"""Published and simulated figures side by side as text and as JSON, with a summary of their errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

from mcusim.evidence.validate.trials import trials_json, trials_summary
from mcusim.measurements.interval.engine_models import FEW
from mcusim.measurements.published.validation_result import QUANTITIES, Coverage, Statistics, Validation, ValidationRow
from mcusim.report.html.page import shortened
from mcusim.text import columns, hanging_indent, percent, rounded


def validation_json(validation: Validation) -> dict[str, Any]:
    """``rows`` as :class:`~mcusim.measurements.published.validation_result.ValidationRow`, with their ``error``;
    ``summary`` as :class:`~mcusim.measurements.published.validation_result.Statistics`; ``runs``, all figures of each
    run by the command that repeats it.

    Errors are in percent of the measurement. ``simulated`` and ``error`` are null where ``reason`` says why there is
    no run. ``coverage`` as :class:`~mcusim.measurements.published.validation_result.Coverage`, ``trials`` as
    :class:`~mcusim.measurements.published.validation_result.Trial`, with the error of each of their rows.
    """
    return {
        "rows": [{**asdict(row), "error": row.error, "covered": row.covered} for row in validation.rows],
        "coverage": [asdict(coverage) for coverage in validation.coverage],
        "trials": trials_json(validation.trials),
        "summary": [asdict(statistics) for statistics in validation.summary],
        "runs": {run: dict(figures) for run, figures in validation.figures.items()},
    }


_BASE = {"uJ": ("mJ", 1e-3), "B": ("KB", 1e-3)}  # units that the tables do not mix with others
_NAMES = {"supply_current": "current", "peak_activations": "peak", "file_size": "file"}
_MARKS = {"calibrate": "c", "validate": "v", "context": "-"}
_WIDEST = 29  # characters of a model and its placement
_LISTED = frozenset(QUANTITIES) - {"macs", "file_size"}  # of the summary; JSON has all


@dataclass(frozen=True)
class _Block:
    """Quantities shown side by side, with their unit, the figure of a run and its factor, and if with an error."""

    title: str
    groups: tuple[tuple[str, str, str, float, bool], ...]

    @property
    def quantities(self) -> list[str]:
        return [group[0] for group in self.groups]


_BLOCKS = (
    _Block(
        "time and energy",
        (
            ("latency", "ms", "latency_ms", 1, True),
            ("energy", "mJ", "energy_mj", 1, True),
            ("supply_current", "mA", "supply_current_ma", 1, False),
        ),
    ),
    _Block("memory", (("arena", "KB", "arena_bytes", 1e3, True),)),
    _Block("work and size", (("macs", "M", "macs", 1e6, False), ("file_size", "MB", "file_bytes", 1e6, True))),
    _Block("SDRAM", (("access", "HCLK", "cycles_per_access", 1, True), ("copy", "ms", "copy_ms", 1, True))),
    _Block("DMA: a word, byte or burst", (("dma", "cycles", "cycles_per_access", 1, True),)),
    _Block("activations", (("peak_activations", "KB", "peak_bytes", 1e3, True),)),
)


def validation_table(validation: Validation) -> str:
    """What ``mcusim validate`` prints, at most 80 columns wide: each model measured and simulated, under the kernels of
    the run that represents it; why that run does; errors by quantity, use and board; what was not run, and why.

    Not modelled: MACs and file sizes from the summary, and figures of rows that were not run.
    """
    notes: dict[str, int] = {}
    lines: list[str] = []
    for block in _BLOCKS:
        rows = [row for row in validation.rows if row.quantity in block.quantities and row.simulated is not None]
        if rows:
            lines += _block(block, rows, validation.figures, notes)
    for text, number in notes.items():
        lines += hanging_indent(f"[{number}] {text}", "", "    ")
    lines += ["", *_summary(validation.summary), *coverage_lines(validation.coverage)]
    lines += [*trials_summary(validation.trials), *_missing(validation)]
    return "\n".join([*lines, *_footer(validation)]).strip("\n")


def in_base_unit(row: ValidationRow) -> tuple[str, float, float | None]:
    """Unit, measured and simulated as the tables and plots have them: energy in mJ, peaks in KB."""
    unit, factor = _BASE.get(row.unit, (row.unit, 1.0))
    return unit, row.measured * factor, None if row.simulated is None else row.simulated * factor


def ran(row: ValidationRow) -> str:
    """The kernels of the run, and how."""
    if not row.kernels:
        return {"plan": "planned", "replay": "transfers replayed"}.get(row.fidelity, "test program emulated")
    return f"{row.kernels} {'replayed' if row.fidelity == 'replay' else 'emulated'}"


def _block(
    block: _Block,
    rows: Sequence[ValidationRow],
    figures: Mapping[str, Mapping[str, float]],
    notes: dict[str, int],
) -> list[str]:
    """Headings, then the models of each source and board under the run that represents them."""
    had = {row.quantity for row in rows} | {name for row in rows for name in figures.get(row.run, ())}
    block = replace(block, groups=tuple(group for group in block.groups if had & {group[0], group[2]}))
    parts: dict[tuple[str, str, str, str], dict[tuple[str, ...], dict[str, ValidationRow]]] = {}
    for row in rows:
        part = parts.setdefault((row.source, row.board, ran(row), row.why), {})
        part.setdefault((row.model, row.placement, row.use), {})[row.quantity] = row
    cells = [_cells(block, of_one, part, figures) for part in parts.values() for of_one in part.values()]
    heading, left = _layout(block, cells)
    lines = [*heading]
    for (source, board, kernels, why), part in parts.items():
        note = notes.setdefault(why, len(notes) + 1)
        where = f", {board}" if board else ""
        placements = {placement for _, placement, _ in part}
        shared = f", {placements.pop()}" if len(placements) == 1 else ""
        lines += [
            *hanging_indent(f"{source}{where}: {kernels}{shared} [{note}]", "", "  "),
            *(left.pop(0) for _ in part),
        ]
    return [*lines, ""]


def _cells(
    block: _Block,
    rows: Mapping[str, ValidationRow],
    part: Mapping[tuple[str, ...], object],
    figures: Mapping[str, Mapping[str, float]],
) -> list[str]:
    """A figure that was not published is shown without a measured one."""
    first = next(iter(rows.values()))
    cells = [_label(first, len({placement for _, placement, _ in part}) > 1), _MARKS[first.use]]
    run = figures.get(first.run, {})
    for quantity, _, figure, factor, with_error in block.groups:
        row = rows.get(quantity)
        _, measured, simulated = in_base_unit(row) if row else ("", None, None)
        simulated = run[figure] / factor if simulated is None and figure in run else simulated
        cells += [rounded(measured), rounded(simulated)]
        cells += [percent(row.error if row else None, short=True)] if with_error else []
    return cells


def _label(row: ValidationRow, several: bool) -> str:
    """The model, and where its tensors are when the rows around it differ in that."""
    placement = row.placement.partition(" ")[0] if several and not row.placement.startswith("order") else row.placement
    if not several:
        return shortened(row.network, _WIDEST)
    return f"{shortened(row.network, _WIDEST - len(placement) - 1)} {placement}"


def _layout(block: _Block, rows: Sequence[Sequence[str]]) -> tuple[list[str], list[str]]:
    """Two lines of headings, and one for each of the rows; one blank inside a group, two between groups."""
    sizes = [3 if with_error else 2 for *_, with_error in block.groups]
    headings = [block.title, "", *(text for size in sizes for text in ("meas", "sim.", "error")[:size])]
    widths = [max(len(row[i]) for row in (headings, *rows)) for i in range(len(headings))]
    starts = [2 + sum(sizes[:i]) for i in range(len(sizes))]
    titles = " " * (1 + widths[0] + 1 + widths[1])
    for (quantity, unit, *_), start, size in zip(block.groups, starts, sizes, strict=True):
        title = "supply mA" if quantity == "supply_current" else f"{_NAMES.get(quantity, quantity)}, {unit}"
        widths[start] += max(0, len(title) - sum(widths[start : start + size]) - size + 1)
        titles += "  " + title.rjust(sum(widths[start : start + size]) + size - 1)
    lines = []
    for indent, row in zip(("", *([" "] * len(rows))), (headings, *rows), strict=True):
        line = f"{(indent + row[0]).ljust(widths[0] + 1)} {row[1].ljust(widths[1])}"
        for i in range(2, len(row)):
            line += ("  " if i in starts else " ") + row[i].rjust(widths[i])
        lines.append(line.rstrip())
    return [titles, lines[0]], lines[1:]


def _summary(statistics: Sequence[Statistics]) -> list[str]:
    listed = [entry for entry in statistics if entry.quantity in _LISTED]
    if not listed:
        return []
    rows = [["quantity", "use", "board", "rows", "median", "worst", "bias", "rank"]]
    for item in listed:
        rank = "-" if item.rank is None else f"{item.rank:.2f}"
        where = item.board or "no board"
        numbers = [str(item.count), f"{item.median:.1f}%", percent(item.worst), percent(item.bias), rank]
        rows.append([_NAMES.get(item.quantity, item.quantity), item.use, where, *numbers])
    shown = [rows[0]]
    for before, row in pairwise(rows):  # what repeats the line above is left out
        same = 2 if row[:2] == before[:2] else 1 if row[0] == before[0] else 0
        shown.append([""] * same + row[same:])
    return ["Errors by quantity, use and board", *columns(shown, left=3), ""]


_LEFT_OUT = {"source": "of other sources", "board": "of other boards", "row": "but itself"}


def coverage_lines(coverages: Sequence[Coverage]) -> list[str]:
    """Whether the intervals keep their word, quantity by quantity; nothing where no row has one."""
    if not coverages:
        return []
    rows = [["quantity", "from all rows", "inside", "rows", "", "half width", "enough"]]
    for coverage in coverages:
        share = f"{100 * coverage.covered / coverage.count:.0f}%"
        enough = "-" if coverage.narrower is None else f"{100 * coverage.narrower:.0f}%"
        numbers = [str(coverage.covered), str(coverage.count), share, f"{coverage.half_width:.0f}%", enough]
        rows.append([coverage.quantity, _LEFT_OUT[coverage.left_out], *numbers])
    title = f"Validate rows inside their {coverages[0].level:.0%} interval, each predicted from others"
    few = [
        f"{engine} {inside} of {count} ({coverage.quantity})"
        for coverage in coverages
        if coverage.left_out == "source"
        for engine, inside, count in coverage.engines
        if count < FEW
    ]
    small = hanging_indent(f"engines with fewer than {FEW} rows, inside: {'; '.join(few)}", "  ", "  ") if few else []
    note = "half width: median, of the simulated figure; enough: the share of the width that would do"
    return [title, *columns(rows, left=2), *small, *hanging_indent(note, "  ", "  "), ""]


def _missing(validation: Validation) -> list[str]:
    lines: list[str] = []
    for reason, rows in validation.missing.items():
        models = dict.fromkeys(row.built for row in rows)
        many = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        lines += [
            *hanging_indent(f"{many}: {reason}", "  ", "    "),
            *hanging_indent("; ".join(models), "    ", "    "),
        ]
    return ["Not run", *lines, ""] if lines else []


def _footer(validation: Validation) -> list[str]:
    count = {use: sum(row.use == use for row in validation.rows) for use in _MARKS}
    done = sum(row.simulated is not None for row in validation.rows)
    text = (
        f"{len(validation.rows)} published numbers, {done} of them run. c, calibrate: used to"
        f" make the model or left for that ({count['calibrate']}); v, validate: nothing was chosen by them"
        f" ({count['validate']}); -, context: shown, not counted ({count['context']}). Errors are in percent of the"
        " measurement; median: of absolute errors; worst: the largest, with its sign; bias: mean of signed errors;"
        " rank: Spearman's correlation within a board, of four rows or more. KB = 1000."
    )
    return hanging_indent(text, "", "")

"""What the page of ``mcusim validate`` begins with: how far off, where, and whether the interval keeps its word."""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.evidence.validate.page_runs import BARS
from mcusim.measurements.published.validation_result import ALL_BOARDS, Coverage, Validation, ValidationRow, statistics
from mcusim.report.html.page import bullets, plain, table
from mcusim.text import percent

_SHOWN = 3  # rows that are farthest off
_LEFT_OUT = {"source": "other sources", "board": "other boards", "row": "all other rows"}


def answer(validation: Validation) -> str:
    """Three answers and a table by source and board, all from rows that no figure was fitted to.

    Rows of builds whose compiler flags are not known are counted apart. Not modelled: other quantities than latency and
    energy.
    """
    rows = [
        row for row in validation.rows if row.use == "validate" and row.quantity in BARS and row.error is not None
    ]  # fmt: skip
    if not rows:
        return '<p class="summary">Rows not used in any fit: nothing was run that could validate.</p>'
    known = [row for row in rows if row.flags_known]
    far = bullets([_far(rows, name) for name in BARS if _of(rows, name)])
    parts = [f"<b>How far off?</b> Rows that no figure of the model was fitted to:{far}"]
    if known:
        parts.append(f"<b>Where?</b> Farthest off:{bullets([_place(row) for row in _farthest(known)])}")
    parts.append(f"<b>Is the interval honest?</b> {_honest(validation.coverage)}")
    return f'<div class="answer">{"".join(f"<div>{part}</div>" for part in parts)}</div>{_by_board(rows)}'


def _of(rows: Sequence[ValidationRow], quantity: str) -> list[ValidationRow]:
    return [row for row in rows if row.quantity == quantity]


def _errors(rows: Sequence[ValidationRow]) -> str:
    result = statistics(rows, ALL_BOARDS)
    count = "1 row" if result.count == 1 else f"{result.count} rows"
    return f"median {result.median:.1f} %, worst {percent(result.worst)} ({count})"


def _far(rows: Sequence[ValidationRow], quantity: str) -> str:
    every = _of(rows, quantity)
    known = [row for row in every if row.flags_known]
    if not known:
        return f"{quantity}: {_errors(every)}, all of unknown compiler flags"
    both = "" if len(known) == len(every) else f"; with builds of unknown compiler flags {_errors(every)}"
    return f"{quantity}: {_errors(known)}{both}"


def _farthest(rows: Sequence[ValidationRow]) -> list[ValidationRow]:
    return sorted(rows, key=lambda row: -abs(row.error or 0.0))[:_SHOWN]


def _place(row: ValidationRow) -> str:
    where = f"{row.network} on {row.board or 'no board'}, {row.source}, {row.quantity}"
    return f"{plain(where)} {percent(row.error)}"


def _honest(coverages: Sequence[Coverage]) -> str:
    """Counts of measurements inside their intervals, a line a quantity."""
    lines = []
    for quantity in dict.fromkeys(coverage.quantity for coverage in coverages):
        own = [coverage for coverage in coverages if coverage.quantity == quantity]
        counts = (
            f"{coverage.covered} of {coverage.count} ({100 * coverage.covered / coverage.count:.0f} %) from"
            f" {_LEFT_OUT[coverage.left_out]},"
            f" ±{coverage.half_width:.0f} %"
            for coverage in own
        )
        lines.append(f"{plain(quantity)}: {'; '.join(counts)}")
    if not lines:
        return "No row has one."
    note = "<p class=dim>±: median half-width, of the simulated figure</p>"
    return f"Measurements inside the {coverages[0].level:.0%} interval, predicted{bullets(lines)}{note}"


def _by_board(rows: Sequence[ValidationRow]) -> str:
    """Errors by source and board, farthest off first."""
    groups: dict[tuple[str, str, bool], list[ValidationRow]] = {}
    for row in rows:
        groups.setdefault((row.source, row.board, row.flags_known), []).append(row)
    lines = []
    for (source, board, known), own in groups.items():
        flags = "" if known else " (flags unknown)"
        cells = [plain(f"{source}{flags}"), plain(board or "no board")]
        for name in BARS:
            cells += _cells(_of(own, name))
        lines.append((max(abs(row.error or 0.0) for row in own), cells))
    head = ["source", "board"]
    for name in BARS:
        head += [f"{name}, rows", "median", "worst", "inside"]
    return table(head, [cells for _, cells in sorted(lines, key=lambda line: -line[0])], left=2)


def _cells(rows: Sequence[ValidationRow]) -> list[str]:
    if not rows:
        return ["-"] * 4
    result, known = statistics(rows, ALL_BOARDS), [item for row in rows if (item := row.covered) is not None]
    kept = f"{sum(known)} of {len(known)}" if known else "-"
    return [str(result.count), f"{result.median:.1f} %", percent(result.worst), kept]

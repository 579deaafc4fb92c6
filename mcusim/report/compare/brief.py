"""Models by boards: in each cell how long the fastest run takes there, or what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from mcusim.report.html.page import shortened
from mcusim.report.run.changes import change_lines
from mcusim.results.result import Result
from mcusim.text import WIDTH, hanging_indent, quantity, size

_NAME = 26  # characters of a model's name


@dataclass(frozen=True)
class Cell:
    """A model on a board: the ``fastest`` of its runs, or of those that do not fit the one that lacks least."""

    fastest: Result | None
    closest: Result | None

    @classmethod
    def of(cls, rows: Sequence[Result]) -> Cell:
        runs = [row for row in rows if row.fits and (row.duty is None or row.duty.met)]
        small = [row for row in rows if row.does_not_fit is not None]
        return cls(
            min(runs, key=lambda row: row.value("latency_ms") or 0.0, default=None), min(small, key=_over, default=None)
        )

    def text(self, marks: dict[str, str]) -> str:
        """``"99 ms"``, with a mark of its policy; ``"+87 KiB"``; ``"-"`` where it cannot be run."""
        if self.fastest is not None:
            return f"{quantity(self.fastest.value('latency_ms'), 'ms')}{marks[self.fastest.label]}"
        return "-" if self.closest is None else f"+{size(_over(self.closest))}{_kind(self.closest)}"

    def to_json(self) -> dict[str, Any]:
        """``fits policy latency_ms interval_ms``, of the fastest run, ``over_bytes region``, of what does not fit; null
        where there is none."""
        run, reason = self.fastest, None if self.closest is None else self.closest.does_not_fit
        interval = None if run is None or run.interval is None else list(run.interval.latency_ms)
        return {
            "fits": run is not None,
            "policy": None if run is None else run.label,
            "latency_ms": None if run is None else run.value("latency_ms"),
            "interval_ms": interval,
            "over_bytes": None if run is not None or reason is None else reason.needed - reason.available,
            "region": None if run is not None or reason is None else reason.region,
        }


def brief_table(results: Sequence[Result]) -> str:
    """A line for each model, the boards as columns, in blocks of at most 80 columns."""
    cells, boards = _cells(results), list(dict.fromkeys(_board(row) for row in results))
    labels = list(dict.fromkeys(row.label for row in results))
    marks = _marks(labels)
    rows = [[shortened(model, _NAME), *(row[board].text(marks) for board in boards)] for model, row in cells.items()]
    lines = [line for block in _blocks([["", *boards], *rows]) for line in [*block, ""]]
    note = f"fastest of {', '.join(f'{label}{marks[label]}' for label in labels)}; " if len(labels) > 1 else ""
    lines += hanging_indent(f"{note}+: that much too little RAM, or flash (f) where it says so; -: cannot be run there")
    changes = {line: None for row in results for line in change_lines(row.machine, "")}
    return "\n".join([*lines, *changes])


def brief_json(results: Sequence[Result]) -> dict[str, Any]:
    """``models[]{model boards[]{machine}}``, each board with the keys of :meth:`Cell.to_json`."""
    return {
        "models": [
            {"model": model, "boards": [{"machine": board, **cell.to_json()} for board, cell in row.items()]}
            for model, row in _cells(results).items()
        ]
    }


def homeless(results: Sequence[Result]) -> list[str]:
    """The models that fit no board."""
    return [model for model, row in _cells(results).items() if all(cell.fastest is None for cell in row.values())]


def _cells(results: Sequence[Result]) -> dict[str, dict[str, Cell]]:
    """By model, then by board, in the order of ``results``."""
    rows: dict[str, dict[str, list[Result]]] = {}
    for row in results:
        rows.setdefault(row.model, {}).setdefault(_board(row), []).append(row)
    return {model: {board: Cell.of(members) for board, members in row.items()} for model, row in rows.items()}


def _board(row: Result) -> str:
    return row.machine.name


def _over(row: Result) -> int:
    reason = row.does_not_fit
    return 0 if reason is None else reason.needed - reason.available


def _kind(row: Result) -> str:
    reason = row.does_not_fit
    region = None if reason is None else row.machine.memory.get(reason.region)
    return " f" if region is not None and region.kind in ("flash", "qspi") else ""


def _marks(labels: Sequence[str]) -> dict[str, str]:
    """Of each label but the first the fewest first letters that no other begins with."""
    marks = {labels[0]: ""} if labels else {}
    for label in labels[1:]:
        others = [other for other in labels if other != label]
        count = next((n for n in range(1, len(label)) if not any(o[:n] == label[:n] for o in others)), len(label))
        marks[label] = f" {label[:count]}"
    return marks


def _blocks(rows: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    """Columns to the right of the first one, as many at a time as there is room for."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    start = 1
    while start < len(widths):
        stop, room = start, WIDTH - widths[0]
        while stop < len(widths) and (stop == start or room >= widths[stop] + 2):
            room -= widths[stop] + 2
            stop += 1
        yield [
            row[0].ljust(widths[0]) + "".join(f"  {row[i].rjust(widths[i])}" for i in range(start, stop))
            for row in rows
        ]
        start = stop

"""Inference engines side by side as a page: latencies with their intervals, RAM and flash, by board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.report.compare.bars import RUN_COLOURS
from mcusim.report.engines.table import BASES, interval_note, latency, reason_texts, verdict_texts
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.report.html.style import LAYOUT, axis
from mcusim.results.engine_choice import BoardEngines, EngineChoice, EngineRow
from mcusim.text import kib

_BAR, _AROUND = 34, 96  # pixels


def engines_page(choice: EngineChoice) -> str:
    """A section for each board. Not modelled: why engines differ, which the page of ``mcusim compare`` has."""
    parts: list[str | PlotFigure | Sequence[PlotFigure]] = []
    for board in choice.boards:
        summary = "".join(f'<p class="summary">{plain(text)}</p>' for text in verdict_texts(board))
        parts += [f"<h2>{plain(board.machine)}</h2>{summary}"]
        parts += [[_latencies(board), _memory(board)]] if board.running else []
        parts += [table(_HEAD, [_cells(row) for row in board.rows])]
        reasons = [plain(shortened(text, 400)) for text in reason_texts(board)]
        parts += [bullets(reasons)] if reasons else []
    rows = [row for board in choice.boards for row in board.rows]
    kernels = dict.fromkeys(f"kernels {row.kernels}: {row.title}" for row in rows)
    bases = [f"{basis}: {BASES[basis]}" for basis in dict.fromkeys(row.basis for row in rows)]
    parts += ["<h2>How to read it</h2>", bullets([plain(text) for text in (*kernels, *bases, interval_note(rows))])]
    return page(f"{shortened(choice.model, 80)}: which engine", parts)


_HEAD = ["engine", "kernels by", "latency", "RAM KiB", "flash KiB", "basis"]


def _cells(row: EngineRow) -> list[str]:
    sizes = (kib(n if row.runs else None) for n in (row.ram_bytes, row.flash_bytes))
    return [plain(row.name), plain(row.whose), latency(row), *sizes, row.basis]


def _latencies(board: BoardEngines) -> PlotFigure:
    """A bar for each engine, the fastest on top, with the ends of its interval."""
    rows = board.running[::-1]
    ends = [(0.0, 0.0) if r.result is None or r.result.interval is None else r.result.interval.latency_ms for r in rows]
    error = {
        "type": "data",
        "symmetric": False,
        "array": [max(0.0, high - row.latency_ms) for row, (_, high) in zip(rows, ends, strict=True)],
        "arrayminus": [max(0.0, row.latency_ms - low) for row, (low, _) in zip(rows, ends, strict=True)],
    }
    bars = _bars(rows, [row.latency_ms for row in rows], 0) | {"error_x": error}
    return PlotFigure("<b>Latency</b>, with its interval", [bars], _layout("ms"), height=_BAR * len(rows) + _AROUND)


def _memory(board: BoardEngines) -> PlotFigure:
    """Peak of on-chip RAM and what flash keeps."""
    rows = board.running[::-1]
    data = []
    for i, (title, values) in enumerate(
        {"RAM": [row.ram_bytes for row in rows], "flash": [row.flash_bytes for row in rows]}.items()
    ):
        data.append(_bars(rows, [(value or 0) / 1024 for value in values], i) | {"name": title})
    layout = _layout("KiB") | {"barmode": "group", "showlegend": True}
    return PlotFigure("<b>Memory</b>", data, layout, height=_BAR * len(rows) + _AROUND)


def _bars(rows: Sequence[EngineRow], values: Sequence[float], colour: int) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": list(values),
        "y": [plain(row.name) for row in rows],
        "marker": {"color": RUN_COLOURS[colour]},
    }


def _layout(unit: str) -> dict[str, Any]:
    return {
        **LAYOUT,
        "margin": {"l": 130, "r": 10, "t": 8, "b": 46},
        "xaxis": axis(unit, rangemode="tozero"),
        "yaxis": {"fixedrange": True, "tickfont": {"size": 12}},
    }

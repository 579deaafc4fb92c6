"""Inference engines side by side as a page: latencies with their intervals, RAM and flash, by board."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mcusim.report.compare.bars import RUN_COLOURS
from mcusim.report.engines.table import latency, legend_texts, memory, reason_texts, verdict_texts
from mcusim.report.html.page import PlotFigure, bullets, page, plain, shortened, table
from mcusim.report.html.style import LAYOUT, axis
from mcusim.results.engine_choice import BoardEngines, EngineChoice, EngineRow

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
    parts += ["<h2>How to read it</h2>", bullets([plain(text) for text in legend_texts(choice)])]
    return page(f"{shortened(choice.model, 80)}: which engine", parts)


_HEAD = ["engine", "kernels by", "latency", "RAM KiB", "flash KiB", "basis"]


def _cells(row: EngineRow) -> list[str]:
    return [plain(row.name), plain(row.whose), latency(row), memory(row.ram), memory(row.flash), row.basis]


def _latencies(board: BoardEngines) -> PlotFigure:
    """A bar for each engine, the fastest on top, with the ends of its interval."""
    rows = board.running[::-1]
    values = [row.latency_ms or 0.0 for row in rows]
    ends = [row.interval_ms or (value, value) for row, value in zip(rows, values, strict=True)]
    error = _error(values, ends)
    bars = _bars(rows, values, 0) | {"error_x": error}
    return PlotFigure("<b>Latency</b>, with its interval", [bars], _layout("ms"), height=_BAR * len(rows) + _AROUND)


def _error(values: Sequence[float], ends: Sequence[tuple[float, float]]) -> dict[str, Any]:
    """How far it is from each value to its two ends."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - value for value, (_, high) in zip(values, ends, strict=True)],
        "arrayminus": [value - low for value, (low, _) in zip(values, ends, strict=True)],
    }


def _memory(board: BoardEngines) -> PlotFigure:
    """Peak of on-chip RAM and what flash keeps."""
    rows, data = board.running[::-1], []
    for i, title in enumerate(("RAM", "flash")):
        ranges = [(row.ram if title == "RAM" else row.flash) or (0, 0) for row in rows]
        middles = [sum(ends) / 2048 for ends in ranges]
        error = _error(middles, [(low / 1024, high / 1024) for low, high in ranges])
        data.append(_bars(rows, middles, i) | {"name": title, "error_x": error})
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

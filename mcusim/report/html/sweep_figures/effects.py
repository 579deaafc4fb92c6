"""Tornado chart: what each input changes, everything else the same."""

from __future__ import annotations

from typing import Any

from mcusim.report.html.page import Figure, plain, shortened
from mcusim.report.html.sweep_figures.sweep_style import LAYOUT, axis, note
from mcusim.report.html.sweep_figures.table import BAD, GOOD, OUTPUTS, Sweep
from mcusim.text import percent

__all__ = ["tornado"]

_ROW = 46  # pixels


def tornado(sweep: Sweep, output: str) -> Figure | None:
    """The inputs from the largest effect on the latency down, in percent of the mean; None when nothing varies."""
    effects = {name: sweep.effects(name, output) for name in reversed(sweep.ranked)}
    effects = {name: found for name, found in effects.items() if len(found) > 1}
    if not effects:
        return None
    traces, notes = [], []
    for place, (name, found) in enumerate(effects.items()):
        ends = min(found, key=lambda pair: pair[1]), max(found, key=lambda pair: pair[1])
        text = "<br>".join(f"{level}: {_change(factor)}" for level, factor in found)
        for (_, factor), colour in zip(ends, (GOOD, BAD), strict=True):
            traces.append(_bar(place, 100 * factor - 100, colour, f"<b>{plain(name)}</b><br>{text}"))
        said = ", ".join(f"{shortened(level, 22)} {_change(factor)}" for level, factor in ends)
        label = f"{plain(shortened(name, 40))}: {said}"
        notes.append(note(label, 0, place + 0.27, xref="paper", xanchor="left", yanchor="bottom"))
    reach = max(abs(100 * factor - 100) for found in effects.values() for _, factor in found) or 1.0
    layout = LAYOUT | {
        "margin": {"l": 10, "r": 10, "t": 8, "b": 44},
        "barmode": "overlay",
        "annotations": notes,
        "xaxis": axis("change of the mean, %", range=[-1.1 * reach, 1.1 * reach], zeroline=True),
        "yaxis": axis(range=[-0.6, len(effects) - 0.2], showticklabels=False, showgrid=False, zeroline=False),
    }
    return Figure(f"<b>{OUTPUTS[output].split(',')[0]}</b>", traces, layout, height=70 + _ROW * max(len(effects), 2))


def _change(factor: float) -> str:
    return percent(100 * factor - 100, short=True)


def _bar(place: int, change: float, colour: str, told: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "orientation": "h",
        "x": [change],
        "y": [place],
        "width": 0.5,
        "hovertext": [told],
        "hovertemplate": "%{hovertext}<extra></extra>",
        "marker": {"color": colour},
    }

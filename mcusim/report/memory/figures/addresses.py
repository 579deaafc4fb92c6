"""Addresses over time: an allocator's offsets as rectangles over the steps, its moves as arrows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mcusim.plan.allocators import BufferMove, Placed
from mcusim.plan.liveness.timeline import Timeline
from mcusim.report.memory.figures.hover import HATCHED, Tooltips
from mcusim.report.memory.figures.working_set import MOST

_MOVES = "#7c3aed"
_ARROWS = ((60, 1.5, 1.0, 8), (300, 1.0, 1.0, 6), (MOST, 0.75, 0.4, 3))  # up to so many: width, opacity, head


@dataclass(frozen=True, slots=True)
class Stay:
    """Resident ``resident`` is at ``offset`` from step ``first`` to step ``last``, both inclusive."""

    resident: int
    first: int
    last: int
    offset: int
    bytes: int


def placements(timeline: Timeline, placed: Placed, most: int = MOST) -> list[Stay]:
    """Where each resident is and when, by resident and step; of more than ``most`` those with the largest areas.

    Residents of 0 bytes are left out.
    """
    stays = []
    for i, (r, places) in enumerate(zip(timeline.residents, placed.places, strict=True)):
        ends = [step - 1 for step, _ in places[1:]] + [r.last]
        stays += [Stay(i, step, end, at, r.bytes) for (step, at), end in zip(places, ends, strict=True) if r.bytes]
    if len(stays) > most:
        stays = sorted(stays, key=lambda s: s.bytes * (s.last - s.first + 1), reverse=True)[:most]
    return sorted(stays, key=lambda s: (s.resident, s.first))


def address_map(
    tooltips: Tooltips, placed: Placed, per_unit: int, costs: Mapping[BufferMove, str] | None = None
) -> list[dict[str, Any]]:
    """Traces of the map, on the lower y axis: activations, weights (hatched), moves, each where there are any.

    ``costs``: what each move costs, as text.
    """
    residents = tooltips.timeline.residents
    pieces: dict[str, list[Stay]] = {"activation": [], "weights": []}
    for stay in placements(tooltips.timeline, placed):
        pieces[residents[stay.resident].kind].append(stay)
    traces = [_rectangles(tooltips, piece, per_unit) for piece in pieces.values() if piece]
    if pieces["weights"]:
        traces[-1]["marker"] |= HATCHED
    return [*traces, _arrows(tooltips, placed, per_unit, costs or {})] if placed.moves else traces


def _rectangles(tooltips: Tooltips, stays: list[Stay], per_unit: int) -> dict[str, Any]:
    trace: dict[str, Any] = {
        "type": "bar",
        "yaxis": "y2",
        "x": [(s.first + s.last) / 2 for s in stays],
        "width": [s.last - s.first + 1 for s in stays],
        "base": [s.offset / per_unit for s in stays],
        "y": [s.bytes / per_unit for s in stays],
        "marker": {
            "color": [tooltips.colours[s.resident] for s in stays],
            "line": {"color": "#ffffff", "width": 1 if len(tooltips.timeline.order) <= 150 else 0},
        },
        "meta": tooltips.residents,
        "hovertemplate": [
            f"%{{meta[{s.resident}]}}<br><br>offset {s.offset:,} to {s.offset + s.bytes:,}, steps {s.first} to {s.last}"
            "<extra></extra>"
            for s in stays
        ],
        "textposition": "none",
    }
    if len(stays) <= 300:
        font = {"size": 11, "color": "#15181c"}
        trace |= {"text": [tooltips.marks[s.resident] for s in stays], "textposition": "inside", "textangle": 0}
        trace |= {"insidetextanchor": "middle", "insidetextfont": font}
    return trace


def _arrows(tooltips: Tooltips, placed: Placed, per_unit: int, costs: Mapping[BufferMove, str]) -> dict[str, Any]:
    """One line per move, between the steps it happens, from the middle of the old place to that of the new one."""
    x: list[float | None] = []
    y: list[float | None] = []
    texts: list[str] = []
    moves = sorted(placed.moves, key=lambda m: m.bytes, reverse=True)[: MOST // 4]
    for move in sorted(moves, key=lambda m: (m.step, m.target)):
        x += [move.step + 0.5, move.step + 0.5, None]
        y += [(at + move.bytes / 2) / per_unit for at in (move.source, move.target)]
        y.append(None)
        text = f"after step {move.step}: {move.bytes:,} B copied<br>from offset {move.source:,} to {move.target:,}"
        text += f"<br>{costs[move]}" if move in costs else ""
        texts += [f"{text}<br><br>%{{meta[{move.block}]}}<extra></extra>"] * 2 + [""]
    width, opacity, head = next(look for most, *look in _ARROWS if len(moves) <= most)
    return {
        "type": "scatter",
        "yaxis": "y2",
        "mode": "lines+markers",
        "x": x,
        "y": y,
        "line": {"color": _MOVES, "width": width},
        "opacity": opacity,
        "marker": {
            "color": _MOVES,
            "size": [head / 3, head, 0] * len(moves),
            "symbol": ["circle", "triangle-down", "circle"] * len(moves),
            "line": {"width": 0},
            "opacity": 1,
        },
        "meta": tooltips.residents,
        "hovertemplate": texts,
    }

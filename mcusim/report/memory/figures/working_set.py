"""Liberis & Lane 2019, Appendix A, as a plot: the tensors in RAM stacked for each operator, the bottleneck marked."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import Counter
from dataclasses import dataclass
from typing import Any

from mcusim.plan.liveness.timeline import Timeline
from mcusim.report.memory.figures.hover import HATCHED, WEIGHTS_COLOUR, Tooltips

MOST = 8_000  # pieces in one plot; more make a file and a page slow


@dataclass(frozen=True, slots=True)
class ResidentSegment:
    """``bytes`` above ``base`` at ``step``: those of one resident, or of ``merged`` small ones when that is None."""

    step: int
    resident: int | None
    base: int
    bytes: int
    merged: int = 0


def segments(timeline: Timeline, most: int = MOST) -> list[ResidentSegment]:
    """The residents of each step on top of one another, first born lowest, by rising step.

    Where that makes more than ``most`` segments, every step keeps its largest, equally many for all steps and at least
    one, and the others become one segment on top. Residents of 0 bytes are left out.
    """
    starts: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for i, r in enumerate(timeline.residents):
        if r.bytes:
            starts.setdefault(r.first, []).append(i)
            ends.setdefault(r.last, []).append(i)
    keep = _kept(timeline, most)
    live: list[tuple[int, int]] = []  # by falling bytes
    resident_segments = []
    for step in range(len(timeline.order)):
        for i in starts.get(step, ()):
            insort(live, (-timeline.residents[i].bytes, i))
        resident_segments += _stack(timeline, step, sorted(i for _, i in live[:keep]), len(live))
        for i in ends.get(step, ()):
            del live[bisect_left(live, (-timeline.residents[i].bytes, i))]
    return resident_segments


def bars(tooltips: Tooltips, per_unit: int) -> list[dict[str, Any]]:
    """Traces of the stacked bars, on the upper y axis: activations, then weights (hatched), where there are any."""
    residents = tooltips.timeline.residents
    pieces: dict[str, list[ResidentSegment]] = {"activation": [], "weights": []}
    for s in segments(tooltips.timeline):
        pieces["activation" if s.resident is None else residents[s.resident].kind].append(s)
    traces = [_trace(tooltips, piece, per_unit) for piece in pieces.values() if piece]
    if pieces["weights"]:
        traces[-1]["marker"] |= HATCHED
    return traces


def _trace(tooltips: Tooltips, resident_segments: list[ResidentSegment], per_unit: int) -> dict[str, Any]:
    at = len(tooltips.residents)
    return {
        "type": "bar",
        "x": [s.step for s in resident_segments],
        "base": [s.base / per_unit for s in resident_segments],
        "y": [s.bytes / per_unit for s in resident_segments],
        "width": 0.86 if len(tooltips.timeline.order) <= 150 else 1,
        "marker": {
            "color": [
                WEIGHTS_COLOUR if s.resident is None else tooltips.colours[s.resident] for s in resident_segments
            ],
            "line": {"color": "#ffffff", "width": 1 if len(tooltips.timeline.order) <= 60 else 0},
        },
        # one text per resident and step, which the points refer to
        "meta": [*tooltips.residents, *tooltips.steps],
        "hovertemplate": [f"{_what(s)}<br><br>%{{meta[{at + s.step}]}}<extra></extra>" for s in resident_segments],
        **_marks(tooltips, [s.resident for s in resident_segments]),
    }


def _what(segment: ResidentSegment) -> str:
    if segment.resident is None:
        return f"{segment.merged} smaller tensors<br>{segment.bytes:,} B"
    return f"%{{meta[{segment.resident}]}}"


def _marks(tooltips: Tooltips, items: list[int | None]) -> dict[str, Any]:
    """Short texts inside the bars, where there are few enough that one could be read."""
    if len(tooltips.timeline.order) > 60:
        return {"textposition": "none"}
    return {
        "text": ["" if i is None else tooltips.marks[i] for i in items],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "insidetextfont": {"size": 11, "color": "#15181c"},
    }


def _kept(timeline: Timeline, most: int) -> int:
    """How many segments each step may have, so that all together are not more than ``most``."""
    change = Counter(r.first for r in timeline.residents if r.bytes)
    change.subtract(Counter(r.last + 1 for r in timeline.residents if r.bytes))
    alive, counts = 0, []
    for step in range(len(timeline.order)):
        alive += change[step]
        counts.append(alive)
    keep = max(counts, default=0)
    while keep > 1 and sum(min(n, keep + 1) for n in counts) > most:
        keep -= 1 + keep // 16
    return max(keep, 1)


def _stack(timeline: Timeline, step: int, kept: list[int], alive: int) -> list[ResidentSegment]:
    base, resident_segments = 0, []
    for i in sorted(kept, key=lambda i: (timeline.residents[i].kind == "activation", timeline.residents[i].first, i)):
        resident_segments.append(ResidentSegment(step, i, base, timeline.residents[i].bytes))
        base += timeline.residents[i].bytes
    if alive > len(kept):
        resident_segments.append(ResidentSegment(step, None, base, timeline.usage[step] - base, alive - len(kept)))
    return resident_segments

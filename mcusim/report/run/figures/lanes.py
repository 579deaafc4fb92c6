"""Lanes: rows of tasks on one axis of time, merged where they are narrower than what can be seen.

A row is what a lane did from cycle to cycle. A task on it is drawn as *parts* of its length, each of one colour: on the
core the cycles by cause, drawn end to end (their order inside a task is not known).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mcusim.model.operators import shown_type
from mcusim.report.html.page import plain, shortened
from mcusim.report.html.style import CAUSE_COLOURS, FIRMWARE_COLOURS, TRANSFER_COLOURS, tooltip, transfer_label
from mcusim.results.over_time import core_segments, stretches

if TYPE_CHECKING:
    from mcusim.engine.run import Event, Run

SLOTS = 1200  # of a picture that cannot be zoomed: pixels of a wide plot
_SHADES = {"operator": "#9fc3e6", "next operator": "#c9dcef"}
PALETTE = {**CAUSE_COLOURS, **TRANSFER_COLOURS, **FIRMWARE_COLOURS, **_SHADES}  # by the name of a part


@dataclass(frozen=True, slots=True)
class Entry:
    """From cycle ``start`` to ``end``; ``parts`` are names of :data:`PALETTE` and cycles, ``moved`` bytes by region."""

    start: int
    end: int
    text: str
    parts: tuple[tuple[str, int], ...]
    moved: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Lane:
    """``name`` is plain text; entries by rising start, which do not overlap. ``labelled``: texts are drawn inside."""

    name: str
    entries: tuple[Entry, ...]
    labelled: bool = False


@dataclass(slots=True)
class LanePiece:
    """What is drawn: ``count`` entries from ``start`` to ``end``, their parts by name, the first one's text."""

    start: int
    end: int
    text: str
    count: int = 1
    busy: int = 0
    parts: dict[str, int] = field(default_factory=dict)
    moved: tuple[tuple[str, int], ...] = ()


def lanes(run: Run) -> list[Lane]:
    """The operators, the core and each DMA stream of a run. The core's row has no holes: what it waits is an entry."""
    by_lane: dict[str, list[Event]] = {"core": []}
    for event in run.events:
        by_lane.setdefault(event.lane, []).append(event)
    result = [_operators(run), Lane("core", tuple(_core(by_lane.pop("core"), run.cycles)))]
    for name in sorted(by_lane):
        result.append(Lane(plain(name), tuple(_transfer(event) for event in sorted(by_lane[name], key=_start))))
    return result


def slots(entries: Sequence[Entry], slot: float, low: float = 0, high: float = float("inf")) -> list[LanePiece]:
    """``entries`` between ``low`` and ``high`` as pieces: those narrower than ``slot`` cycles become one with what is
    next to them, until that one is as wide."""
    pieces: list[LanePiece] = []
    filling = False
    for entry in entries:
        if entry.end < low or entry.start > high:
            continue
        narrow = entry.end - entry.start < slot
        last = pieces[-1] if pieces else None
        if filling and narrow and last is not None and entry.end - last.start <= slot:
            last.end, last.count = entry.end, last.count + 1
        else:
            last = LanePiece(entry.start, entry.end, entry.text, moved=entry.moved)
            pieces.append(last)
        last.busy += entry.end - entry.start
        for name, cycles in entry.parts:
            last.parts[name] = last.parts.get(name, 0) + cycles
        filling = narrow
    return pieces


def traces(rows: Sequence[Lane], cycles: int, scale: float) -> list[dict[str, Any]]:
    """The lanes as traces of plotly, the first one highest, for a picture that is not zoomed; ``scale``: ms a cycle."""
    slot = cycles / SLOTS
    bars: dict[str, list[Any]] = {"base": [], "x": [], "y": [], "text": [], "color": [], "inside": []}
    for row, lane in enumerate(rows):
        for piece in slots(lane.entries, slot):
            text = hover_text(piece, scale)
            for start, length, name in stacked_parts(piece, slot):
                bars["base"].append(start * scale)
                bars["x"].append(length * scale)
                bars["y"].append(-row)
                bars["color"].append(PALETTE[name])
                bars["text"].append(text)
                bars["inside"].append(piece.text if lane.labelled and piece.count == 1 else "")
    return [
        {
            "type": "bar",
            "orientation": "h",
            "base": bars["base"],
            "x": bars["x"],
            "y": bars["y"],
            "width": 0.8,
            "marker": {"color": bars["color"], "line": {"width": 0}},
            "hovertemplate": bars["text"],
            "text": bars["inside"],
            "textposition": "inside",
            "insidetextanchor": "middle",
            "textangle": 0,
            "insidetextfont": {"size": 10, "color": "#15181c"},
            "showlegend": False,
        }
    ]


def stacked_parts(piece: LanePiece, slot: float) -> list[tuple[float, float, str]]:
    """Start, length and name of each part; what is too narrow to be seen is added to the longest."""
    if not piece.parts:
        return []
    longest = max(piece.parts, key=lambda name: piece.parts[name])
    parts = {name: float(n) for name, n in piece.parts.items() if name == longest or n > 0.3 * slot}
    parts[longest] += sum(piece.parts.values()) - sum(parts.values())
    at, result = float(piece.start), []
    for name, length in parts.items():
        result.append((at, length, name))
        at += length
    return result


def hover_text(piece: LanePiece, scale: float) -> str:
    """What the pointer shows of a piece."""
    span = f"{piece.start * scale:,.4f} to {piece.end * scale:,.4f} ms"
    cycles = f"{piece.end - piece.start:,} cycles"
    causes = [f"{name} {n:,}" for name, n in piece.parts.items() if name not in _SHADES]
    causes = causes if len(causes) > 1 else []
    if piece.count > 1:
        share = piece.busy / max(1, piece.end - piece.start)
        return tooltip(f"<b>{piece.count} tasks, too narrow for this zoom</b>", span, f"{share:.0%} busy", *causes)
    moved = [f"{n:,} B at {region}" for region, n in piece.moved]
    return tooltip(f"<b>{piece.text}</b>", span, cycles, *causes, *moved)


def as_json(lanes: Sequence[Lane], scale: float) -> dict[str, Any]:
    """The lanes for the page's script, which merges again for each zoom: columns of numbers, texts and names apart."""
    texts: dict[str, int] = {}
    names: dict[str, int] = {}
    touched = {region for lane in lanes for entry in lane.entries for region, _ in entry.moved}
    regions = {region: i for i, region in enumerate(sorted(touched))}
    rows = []
    for lane in lanes:
        parts, moved = [], []
        for entry in lane.entries:
            parts.append([n for name, size in entry.parts for n in (names.setdefault(name, len(names)), size)])
            moved.append([n for r, size in entry.moved for n in (regions[r], size)])
        rows.append(
            {
                "start": _steps(entry.start for entry in lane.entries),
                "length": [entry.end - entry.start for entry in lane.entries],
                "text": [texts.setdefault(entry.text, len(texts)) for entry in lane.entries],
                "parts": parts,
                "moved": moved if any(moved) else [],
                "labelled": lane.labelled,
            }
        )
    return {
        "scale": scale,
        "rows": rows,
        "texts": list(texts),
        "names": ["" if name in _SHADES else name for name in names],
        "colours": [PALETTE[name] for name in names],
        "regions": list(regions),
    }


def _operators(run: Run) -> Lane:
    types = {operator.index: plain(shortened(shown_type(operator.type), 24)) for operator in run.operators}
    entries = [
        _operator(parts[0].start, parts[-1].end, f"{parts[0].operator} {types.get(parts[0].operator, '')}", n)
        for n, parts in enumerate(stretches(core_segments(run)))
    ]
    return Lane("operator", tuple(entries), labelled=True)


def _operator(start: int, end: int, text: str, number: int) -> Entry:
    return Entry(start, end, text, ((list(_SHADES)[number % 2], end - start),))


def _core(events: Sequence[Event], cycles: int) -> Iterable[Entry]:
    at = 0
    for event in sorted(events, key=_start):
        label = plain(shortened(event.label, 48))
        if event.start > at:
            yield Entry(at, event.start, f"waits for the DMA before {label}", (("dma_wait", event.start - at),))
        parts = tuple((cause, n) for cause, n in event.by_cause.items() if n)
        yield Entry(event.start, event.end, label, parts, _moved(event))
        at = event.end
    if cycles > at:
        yield Entry(at, cycles, "waits for the DMA to end", (("dma_wait", cycles - at),))


def _transfer(event: Event) -> Entry:
    parts = ((transfer_label(event.label), event.end - event.start),)
    return Entry(event.start, event.end, plain(shortened(event.label, 48)), parts, _moved(event))


def _moved(event: Event) -> tuple[tuple[str, int], ...]:
    return tuple((plain(region), n) for region, n in event.moved.items())


def _start(event: Event) -> int:
    return event.start


def _steps(numbers: Iterable[int]) -> list[int]:
    """The first number, then how much more each is than the one before: short in the file."""
    steps, last = [], 0
    for number in numbers:
        steps.append(number - last)
        last = number
    return steps

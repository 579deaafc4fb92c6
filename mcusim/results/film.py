"""A film of a run: what each cache set and each SDRAM row held, who had the memories, access by access, in a window.

Events are in the order of their moments. In a replay a task's accesses are made when it begins, and a transfer's as if
it were alone: what both did to rows at one time is in the film as each did it.

Not modelled: what lines and memory contain; read latches, accelerators and FIFOs of controllers; more than 16 million
cycles.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from mcusim.display import Displayed, SavedAsJson, SavedAsPage
from mcusim.errors import UsageError
from mcusim.memory import state_layout as L
from mcusim.memory.film import events as film_events
from mcusim.memory.film.film_recorder import FilmRecorder
from mcusim.memory.state_layout import CacheLine, CacheState, MemoryState, RegionState
from mcusim.program.program import Program, Transfer
from mcusim.run_config.film_window import FilmWindow, window_text

if TYPE_CHECKING:
    from mcusim.engine.run import Run
    from mcusim.machine.description import Machine

MOST_BYTES = 5_000_000  # of a film's file
NO_LINE = 0xFFFF_FFFF
INTERRUPT = 11  # of kinds, behind those of mcusim.memory.film.events
FILM_EVENTS = (  # by kind
    "loads", "stores", "fetches", "fills", "dirtied", "write-backs", "drops", "rows", "refreshes", "beats read",
    "beats written", "interrupts",
)  # fmt: skip
MOST_PLACES = 20_000
COLUMNS = ("tick", "kind", "a", "b", "c")
Words = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class FilmCache:
    """A cache and what it held when the film begins: line numbers by set and way (-1: none), and which are dirty."""

    name: str
    sets: int
    ways: int
    line: int
    tags: tuple[int, ...]
    dirty: tuple[int, ...]

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("name", "sets", "ways", "line", "tags", "dirty")}


@dataclass(frozen=True)
class Film(Displayed, SavedAsJson, SavedAsPage):
    """``since`` and ``until`` in cycles of ``clock`` Hz; ``lost``: from which cycle on events found no room.

    ``banks``: open rows of each SDRAM by region, -1 for none. ``regions`` and ``buffers`` have a name, a kind, first
    addresses and bytes; ``tasks`` a lane, a label, and where they begin and end, in cycles. ``columns`` of events:
    ticks (``L.TICK`` a cycle) since ``since``, kinds, and three numbers each, as :meth:`to_json` says. ``places``:
    source lines or functions of fetched addresses; ``exceptions``: names by number.
    """

    model: str
    machine: str
    fidelity: str
    clock: int
    since: int
    until: int
    lost: int | None
    caches: tuple[FilmCache, ...]
    banks: Mapping[str, tuple[int, ...]]
    regions: tuple[dict[str, Any], ...]
    buffers: tuple[dict[str, Any], ...]
    tasks: tuple[dict[str, Any], ...]
    lanes: tuple[str, ...]
    columns: Mapping[str, Words]
    places: Mapping[int, str] = field(default_factory=dict)
    exceptions: Mapping[int, str] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """All of it; ``events`` are base64 of gzip of the columns ``tick kind a b c``, each of ``count`` words of 32
        bits. Kinds 0 to 2, loads, stores and fetches of the core: address, bytes and (from bit 8 on) how many, ticks of
        stall. 3 fill: cache line (way of set of cache, counted through), line number, dirty; 4 dirty, 6 dropped: cache
        line; 5 written back: cache line or ``0xFFFFFFFF``, line number. 7 row opened: region, bank, row; 8 refresh:
        region. 9 and 10, a beat of a transfer reads or writes: address, bytes, lane. 11, an exception begins: its
        number."""
        packed = b"".join(self.columns[name].astype("<u4").tobytes() for name in COLUMNS)
        about = {name: getattr(self, name) for name in ("model", "machine", "fidelity", "clock", "since", "until")}
        return {
            **about,
            "ticks": L.TICK,
            "caches": [cache.to_json() for cache in self.caches],
            "banks": self.banks,
            "regions": self.regions,
            "buffers": self.buffers,
            "tasks": self.tasks,
            "lanes": self.lanes,
            "places": [*self.places.items()],
            "exceptions": self.exceptions,
            "count": len(self.columns["tick"]),
            "events": base64.b64encode(gzip.compress(packed, 6, mtime=0)).decode(),
        }

    @property
    def counts(self) -> dict[str, int]:
        """How many events of each kind of :data:`FILM_EVENTS` it has."""
        kinds = np.bincount(self.columns["kind"], minlength=len(FILM_EVENTS))
        return {name: int(count) for name, count in zip(FILM_EVENTS, kinds, strict=True)}

    def _line(self) -> str:
        begin, end = (f"{cycle * 1000 / self.clock:.4g}" for cycle in (self.since, self.until))
        return f"{self.model[:60]} on {self.machine}: {len(self.columns['tick']):,} events, {begin} ms to {end} ms"

    def text(self) -> str:
        """The film as JSON in a line."""
        return json.dumps(self.to_json(), separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class FilmTransfer:
    """When a transfer was under way, in cycles, on which lane, and the ranges (first address, end) that it read and
    wrote."""

    lane: str
    begin: int
    end: int
    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class FilmScene:
    """What a film is of: ``cycles`` that it took in all, ``tasks`` with a lane, a label, and where they ``begin`` and
    ``end`` in cycles, ``moved`` by transfers, ``buffers`` with a name, a kind, an address and bytes. ``interrupts``:
    ticks at which an exception of a number began; ``exceptions``: their names. ``place``: the source line or function
    of an address of code."""

    model: str
    fidelity: str
    cycles: int
    tasks: tuple[dict[str, Any], ...]
    moved: tuple[FilmTransfer, ...] = ()
    buffers: tuple[dict[str, Any], ...] = ()
    interrupts: tuple[tuple[int, int], ...] = ()
    exceptions: Mapping[int, str] = field(default_factory=dict)
    place: Callable[[int], str | None] = lambda _: None

    @classmethod
    def of_run(cls, run: Run, program: Program, place: Callable[[int], str | None] = lambda _: None) -> FilmScene:
        """Of a run of a program."""
        tasks = tuple({"lane": e.lane, "label": e.label, "begin": e.start, "end": e.end} for e in run.events)
        spans = {t.id: (t.source, t.destination) for t in program.tasks if isinstance(t, Transfer)}
        moved = tuple(
            FilmTransfer(
                e.lane, e.start, e.end, *(((span.address, span.address + span.bytes),) for span in spans[e.task])
            )
            for e in run.events
            if e.task in spans
        )
        named = tuple(
            {"name": buffer.name, "kind": buffer.kind, "address": buffer.span.address, "bytes": buffer.span.bytes}
            for buffer in run.header.buffers
        )
        return cls(run.header.model, run.fidelity, run.cycles, tasks, moved, named, place=place)


def film_of(recorder: FilmRecorder, scene: FilmScene, machine: Machine, asked: FilmWindow) -> Film:
    """The film that ``recorder`` took of ``scene``. Raises UsageError, naming a window that fits, where it has no room
    for all of the one that was asked for, and for one in which the run has ended."""
    clock = machine.core.clock
    if recorder.since >= scene.cycles:
        end = scene.cycles * 1000 / clock
        raise UsageError(f"film window: it begins after the run, which ends at {end:.4g} ms")
    lost = recorder.lost
    if lost is not None and asked.end is not None:
        fits = window_text(recorder.since, lost, clock)
        raise UsageError(f"film window: a film has {len(recorder.events):,} events at most; {fits} fits")
    until = min(recorder.until, scene.cycles, lost or recorder.until)
    begin = recorder.memory.state if recorder.begin is None else recorder.begin
    lanes = tuple(dict.fromkeys(["core", *(task["lane"] for task in scene.tasks)]))
    tasks = [task for task in scene.tasks if task["end"] >= recorder.since and task["begin"] <= until]
    columns = _columns(recorder, until, scene, lanes)
    fetched = np.unique(columns["a"][columns["kind"] == film_events.FETCH])[:MOST_PLACES].tolist()
    return Film(
        scene.model,
        machine.name,
        scene.fidelity,
        clock,
        recorder.since,
        until,
        lost,
        tuple(_cache(name, cache) for name, cache in _caches(begin)),
        {name: _rows(region) for region, name in _regions(recorder, begin) if region.kind == L.SDRAM},
        tuple(
            {"name": region.name, "kind": region.kind, "bases": [region.base, *region.aliases], "bytes": region.size}
            for region in recorder.memory.regions
        ),
        scene.buffers,
        tuple({**task, "lane": lanes.index(task["lane"])} for task in tasks),
        lanes,
        columns,
        {address: text for address in fetched if (text := scene.place(address)) is not None},
        scene.exceptions,
    )


def _blocks(recorder: FilmRecorder) -> dict[int, str]:
    """Names of regions by their blocks, an alias's own block too."""
    return {block: name for (name, _), block in sorted(recorder.memory.blocks.items(), key=lambda pair: pair[1])}


def _regions(recorder: FilmRecorder, state: MemoryState) -> Iterator[tuple[RegionState, str]]:
    return ((RegionState(state, block), name) for block, name in _blocks(recorder).items())


def _caches(state: MemoryState) -> Iterator[tuple[str, CacheState]]:
    """Those that the machine has, on or off."""
    for name, block in (("data", state.data_cache_block), ("code", state.code_cache_block)):
        if block > 0:
            yield name, CacheState(state, block)


def _cache(name: str, cache: CacheState) -> FilmCache:
    lines = cache.lines.table(cache.sets * cache.ways)
    tags, dirty = tuple(lines["tag"].tolist()), tuple(lines["dirty"].tolist())
    return FilmCache(name, cache.sets, cache.ways, cache.line_bytes, tags, dirty)


def _rows(region: RegionState) -> tuple[int, ...]:
    return tuple(region.open_row[bank] for bank in range(region.banks))


def _columns(recorder: FilmRecorder, until: int, scene: FilmScene, lanes: tuple[str, ...]) -> dict[str, Words]:
    """Events as :meth:`Film.to_json` has them, by their moments."""
    since = recorder.since * L.TICK
    begun = np.array([(tick, INTERRUPT, number, 0, 0) for tick, number in scene.interrupts], np.int64).reshape(-1, 5)
    events = np.concatenate([recorder.events, begun[begun[:, 0] >= since]])
    events = events[events[:, 0] < until * L.TICK]
    if (
        scene.fidelity != "emulate"
    ):  # its tasks are ahead of their time: a transfer's beats before the window are not part of it
        early = (events[:, 0] < since) & ((events[:, 1] <= film_events.FETCH) | (events[:, 1] >= film_events.BEAT_READ))
        events = events[~early]
    events = events[np.argsort(events[:, 0], kind="stable")]
    tick, kind, a, b, c = events.T.copy()
    _in_accesses(kind, b)
    _in_lines(kind, a, recorder.memory.state)
    _in_rows(kind, a, recorder)
    _in_beats(tick // L.TICK, kind, a, b, c, [(lanes.index(transfer.lane), transfer) for transfer in scene.moved])
    columns = np.maximum(tick - since, 0), kind, a, b, c
    return {name: (column & 0xFFFF_FFFF).astype(np.uint32) for name, column in zip(COLUMNS, columns, strict=True)}


def _in_accesses(kind: Words, b: Words) -> None:
    """Bytes in bits 0 to 7, or what there is room for; how many from bit 8 on."""
    core = kind <= film_events.FETCH
    size, count = b[core] & (1 << film_events.MANY) - 1, b[core] >> film_events.MANY
    fetched = kind[core] == film_events.FETCH
    b[core] = np.where(fetched, size, np.minimum(size, 255) | np.minimum(count, (1 << 24) - 1) << 8)


def _in_lines(kind: Words, a: Words, state: MemoryState) -> None:
    """Records of cache lines as their numbers: the ways of set 0 of the first cache, then set 1, ..."""
    of_line = (kind >= film_events.FILL) & (kind <= film_events.DROP)
    places, values, first = a[of_line], np.full(int(of_line.sum()), NO_LINE), 0
    for _, cache in _caches(state):
        lines = cache.sets * cache.ways
        numbers = (places - cache.lines.offset) // CacheLine.WORDS
        own = (numbers >= 0) & (numbers < lines) & (places >= cache.offset)
        values[own] = first + numbers[own]
        first += lines
    a[of_line] = values


def _in_rows(kind: Words, a: Words, recorder: FilmRecorder) -> None:
    """Blocks as the numbers of their regions."""
    of_row, regions = (
        (kind == film_events.ROW) | (kind == film_events.REFRESH),
        [region.name for region in recorder.memory.regions],
    )
    for block, name in _blocks(recorder).items():
        a[of_row & (a == block)] = regions.index(name)


def _in_beats(
    cycle: Words, kind: Words, a: Words, b: Words, c: Words, transfers: list[tuple[int, FilmTransfer]]
) -> None:
    """Address, bytes and lane of each beat: the lane whose transfer was under way there."""
    beat = (kind == film_events.BEAT_READ) | (kind == film_events.BEAT_WRITE)
    a[beat], b[beat], c[beat] = b[beat], c[beat], 0
    for lane, moved in transfers:
        under_way = beat & (c == 0) & (cycle >= moved.begin - 1) & (cycle <= moved.end + 1)
        for of_kind, ranges in ((film_events.BEAT_READ, moved.reads), (film_events.BEAT_WRITE, moved.writes)):
            for low, high in ranges:
                c[under_way & (kind == of_kind) & (a >= low) & (a < high)] = lane

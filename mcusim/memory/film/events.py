"""What a film is made of: ``memory.film`` points at a :class:`FilmState`, it is 0 while no film is taken."""

from __future__ import annotations

from typing import Annotated

from mcusim.memory.kept_streams.layout import KeptCalls, KeptState
from mcusim.native.structs import POINTER, Struct, Structs, Words

# kinds, with their three numbers: address, bytes of each and how many accesses, ticks of stall, of the core's loads,
# stores and fetches
LOAD, STORE, FETCH = 0, 1, 2
# record of a cache line, line number, dirty: it is filled; record: it becomes dirty; record: it is written back;
# record: it holds no line
FILL, DIRTY, WRITE_BACK, DROP = 3, 4, 5, 6
# block of the region, bank, row: it is opened; block: all rows are closed
ROW, REFRESH = 7, 8
# transfer, address, bytes: a beat or burst reads, or writes
BEAT_READ, BEAT_WRITE = 9, 10
MANY = 32  # bits of how many bytes an access has, below how many accesses


class FilmEvent(Struct):
    """Its moment, its kind, and that kind's three numbers."""

    tick: int
    kind: int
    a: int
    b: int
    c: int


class FilmEvents(Struct):
    """One behind another."""

    records: Annotated[Structs[FilmEvent], 0]


class FilmState(Struct):
    """``most``: events that there is room for; ``begun``: whether the window has; ``lost``: events without room,
    ``lost_since`` the moment of the first. ``words`` of ``state`` are copied to ``copy`` when the window begins."""

    count: int
    most: int
    since: int
    until: int
    begun: int
    state: Annotated[Words, POINTER]
    copy: Annotated[Words, POINTER]
    words: int
    events: Annotated[FilmEvents, POINTER]
    lost: int
    lost_since: int
    kept: Annotated[KeptState, POINTER]  # a recording in place of a film, 0: none


class KeptStreams(Struct, root=True):
    """The recorded calls of a run: events, counters of each call's blocks, calls. While they are recorded there is a
    ``film``, which knows the recording; ``next``: the call to come; ``none``: no film, to put in the place of one."""

    events: Annotated[Words, POINTER]
    counts: Annotated[Words, POINTER]
    blocks: int
    calls: Annotated[KeptCalls, POINTER]
    film: Annotated[FilmState, POINTER]
    none: Annotated[FilmState, POINTER]
    next: int

"""What the native functions write down while a film is taken; ``memory.film`` has its address, 0 while none is.

An event is what is about to change, or an access that was made, with its moment. Before the first one in the window the
state array is copied: what caches and rows were then. Events of a moment before the window that are made later (a beat
that was due) are among them; who looks at a film applies these first.

Not modelled: events beyond the room there is; how many were lost, and when the first was, is written down.
"""

from __future__ import annotations

from mcusim.memory.state_layout import MemoryState
from mcusim.native import host_memory as host
from mcusim.native.compile import shared
from mcusim.native.records import Record

film = Record("film")
# events so far, room for them, the window in ticks, whether it has begun; where the state array is and is copied to,
# its words; where events are; events that found no room, the moment of the first
COUNT, MOST, SINCE, UNTIL, BEGUN = film.fields("COUNT", "MOST", "SINCE", "UNTIL", "BEGUN")
STATE, COPY, WORDS, EVENTS = film.fields("STATE", "COPY", "WORDS", "EVENTS")
LOST, LOST_AT = film.fields("LOST", "LOST_AT")
FILM = film.freeze()

event = Record("event")
E_TICK, E_KIND, E_A, E_B, E_C = event.fields("E_TICK", "E_KIND", "E_A", "E_B", "E_C")
EVENT = event.freeze()
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


@shared
def note(memory: MemoryState, kind: int, a: int, b: int, c: int) -> None:
    """Write an event of the moment ``memory.now`` down, if it is in the window."""
    p, now = memory.film, memory.now
    begun = host.get64(p + 8 * BEGUN)
    if now >= host.get64(p + 8 * UNTIL) or (begun == 0 and now < host.get64(p + 8 * SINCE)):
        return
    if begun == 0:
        host.put64(p + 8 * BEGUN, 1)
        host.copy(host.get64(p + 8 * COPY), host.get64(p + 8 * STATE), 8 * host.get64(p + 8 * WORDS))
    count = host.get64(p + 8 * COUNT)
    if count >= host.get64(p + 8 * MOST):
        if host.get64(p + 8 * LOST) == 0:
            host.put64(p + 8 * LOST_AT, now)
        host.put64(p + 8 * LOST, host.get64(p + 8 * LOST) + 1)
        return
    to = host.get64(p + 8 * EVENTS) + 8 * EVENT * count
    host.put64(to + 8 * E_TICK, now)
    host.put64(to + 8 * E_KIND, kind)
    host.put64(to + 8 * E_A, a)
    host.put64(to + 8 * E_B, b)
    host.put64(to + 8 * E_C, c)
    host.put64(p + 8 * COUNT, count + 1)


@shared
def accessed(memory: MemoryState, kind: int, address: int, size: int, count: int, stall: int, later: int) -> None:
    """Write ``count`` accesses of the core of ``size`` bytes down, begun ``later`` ticks before ``memory.now``."""
    memory.now -= later
    note(memory, kind, address, size + (count << MANY), stall)
    memory.now += later

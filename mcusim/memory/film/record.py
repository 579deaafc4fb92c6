"""What the native functions write down while a film is taken (:mod:`mcusim.memory.film.events`).

An event is what is about to change, or an access that was made, with its moment. Before the first one in the window the
state array is copied: what caches and rows were then. Events of a moment before the window that are made later (a beat
that was due) are among them; who looks at a film applies these first.

Not modelled: events beyond the room there is; how many were lost, and when the first was, is written down.
"""

from __future__ import annotations

from mcusim.memory.film.events import MANY
from mcusim.memory.kept_streams import record as kept_streams
from mcusim.memory.state_layout import MemoryState
from mcusim.native import host_memory as host
from mcusim.native.functions import shared
from mcusim.native.structs import address_of


@shared
def note(memory: MemoryState, kind: int, a: int, b: int, c: int) -> None:
    """Write an event of the moment ``memory.now`` down, if it is in the window."""
    film, now = memory.film, memory.now
    if film.kept:
        kept_streams.changed(memory, kind, a, b)
        return
    if now >= film.until or (film.begun == 0 and now < film.since):
        return
    if film.begun == 0:
        film.begun = 1
        host.copy(address_of(film.copy), address_of(film.state), 8 * film.words)
    if film.count >= film.most:
        if film.lost == 0:
            film.lost_since = now
        film.lost += 1
        return
    event = film.events.records[film.count]
    event.tick, event.kind, event.a, event.b, event.c = now, kind, a, b, c
    film.count += 1


@shared
def missed(memory: MemoryState) -> None:
    """A read of data does not find its line in the accelerator of a flash."""
    if memory.film.kept:
        memory.film.kept.lines += 1


@shared
def accessed(memory: MemoryState, kind: int, address: int, size: int, stall: int) -> None:
    """Write an access of the core of ``size`` bytes down that has waited for ``stall`` ticks, until now."""
    memory.now -= stall
    note(memory, kind, address, size + (1 << MANY), stall)
    memory.now += stall

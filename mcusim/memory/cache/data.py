"""The bytes of the data cache: the core sees its lines, the DMA sees memory.

The emulated core reads and writes a *view* of each region; *memory*, apart from it, is what all others see. While a
line is not in the cache both are the same. A line that is written back is copied from the view to memory, one that is
given up without that is copied back from memory: its contents are lost, and what the DMA wrote meanwhile shows. Stores
past the cache go to both. Nothing is done where a line is hit.

Where a region has no cache in front of it view and memory are the same bytes.

While the cache is off the core sees memory (:mod:`mcusim.memory.cache.apart`).

Not modelled: aliases of a cached region see its cache's lines; the instruction cache holds no data, and code that has
run is run again as it was after the DMA has written over it; a line is filled, and a beat's bytes are moved, at one
moment.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import apart, shadow, tags
from mcusim.memory.race_detector.dma_races import beat
from mcusim.memory.range_lookup import find
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native


@native
def write_back(s: State, q: int, address: int, size: int) -> None:
    """The line at ``address`` goes to memory."""
    if s[q + L.VIEW] == s[q + L.MEM]:
        return
    if s[L.ASIDE]:
        kept = apart.bytes_of(s, tags.find(s, s[L.DATA_AT], address >> s[s[L.DATA_AT] + L.C_SHIFT]))
        host.copy(s[q + L.VIEW] + address, kept, size)
    host.copy(s[q + L.MEM] + address, s[q + L.VIEW] + address, size)
    if s[q + L.SEEN]:
        host.copy(s[q + L.STORED] + 2 * address, s[q + L.SEEN] + 2 * address, 2 * size)


@native
def drop(s: State, q: int, address: int, size: int) -> None:
    """The line at ``address`` is given up: memory is what counts."""
    if s[q + L.VIEW] == s[q + L.MEM] or s[L.ASIDE]:
        return
    host.copy(s[q + L.VIEW] + address, s[q + L.MEM] + address, size)
    if s[q + L.SEEN]:
        host.copy(s[q + L.SEEN] + 2 * address, s[q + L.STORED] + 2 * address, 2 * size)


@native
def put_bytes(s: State, q: int, address: int, size: int, value: int) -> None:
    """``value``, whose first byte is for ``address``, goes to memory."""
    watched = s[q + L.SEEN] and not s[L.STACK_FROM] <= address < s[L.STACK_TO]
    for i in range(size):
        host.put8(s[q + L.MEM] + address + i, value >> (8 * i))
        if watched:
            host.put16(s[q + L.STORED] + 2 * (address + i), s[L.TASK])


@native
def put(s: State, q: int, address: int, size: int, value: int) -> None:
    """A store of the core, already accounted for as one of range record ``q``: what goes past the cache reaches memory.

    Of a store across lines the second may have displaced the first; one may go on into another region.
    """
    c = s[L.DCACHE]
    back = c != 0 and s[q + L.ATTRIBUTE] == 2 and s[c + L.C_WRITEBACK] == 1
    if back and s[q + L.FLAGS] & L.ALLOCATE and (address ^ (address + size - 1)) >> s[c + L.C_SHIFT] == 0:
        return
    while size > 0 and q >= 0:
        part = min(size, s[q + L.HIGH] - address)
        if back:
            part = min(part, (((address >> s[c + L.C_SHIFT]) + 1) << s[c + L.C_SHIFT]) - address)
        held = back and tags.find(s, c, address >> s[c + L.C_SHIFT]) >= 0
        if not held and s[q + L.VIEW] != s[q + L.MEM]:
            put_bytes(s, q, address, part, value)
        address, size, value = address + part, size - part, value >> (8 * part)
        if size > 0:
            q = find(s, address)


@native
def begin(s: State, f: int, qs: int, qt: int) -> None:
    """Transfer ``f`` starts a chunk from range record ``qs`` to ``qt``: where its bytes are."""
    source, target = s[f + L.D_SOURCE], s[f + L.D_TARGET]
    if s[qs + L.VIEW] == 0:
        return
    s[f + L.D_MEM_FROM], s[f + L.D_MEM_TO] = s[qs + L.MEM] + source, s[qt + L.MEM] + target
    s[f + L.D_VIEW_TO] = s[qt + L.VIEW] + target
    if s[f + L.D_MEANT]:
        s[f + L.D_STORED_FROM] = s[f + L.D_SEEN_FROM] = 0  # memory that nobody writes
        if s[qs + L.SEEN]:
            s[f + L.D_STORED_FROM], s[f + L.D_SEEN_FROM] = s[qs + L.STORED] + 2 * source, s[qs + L.SEEN] + 2 * source
        s[f + L.D_STORED_TO], s[f + L.D_SEEN_TO] = s[qt + L.STORED] + 2 * target, s[qt + L.SEEN] + 2 * target


@native
def in_place(s: State, f: int, n: int, seen: int) -> None:
    """``n`` bytes of transfer ``f``, whose source or target stays where it is, arrive; ``seen``: the core sees them."""
    moved = -s[f + L.D_LEFT]
    memory, view = s[f + L.D_MEM_TO], s[f + L.D_VIEW_TO]
    for i in range(n):
        source = s[f + L.D_MEM_FROM] + (i if s[f + L.D_MOVES_FROM] else (moved + i) % s[f + L.D_BEAT])
        to = i if s[f + L.D_MOVES_TO] else (moved + i) % s[f + L.D_BEAT_TO]
        host.copy(memory + to, source, 1)
        if memory != view and seen:
            host.copy(view + to, source, 1)
    s[f + L.D_MEM_FROM] += n * s[f + L.D_MOVES_FROM]
    s[f + L.D_MEM_TO] += n * s[f + L.D_MOVES_TO]
    s[f + L.D_VIEW_TO] += n * s[f + L.D_MOVES_TO]


@native
def move(s: State, f: int, n: int) -> None:
    """``n`` bytes of transfer ``f`` arrive."""
    source, memory, view = s[f + L.D_MEM_FROM], s[f + L.D_MEM_TO], s[f + L.D_VIEW_TO]
    if source == 0:
        return
    c = s[L.DATA_AT]
    record = -1
    if memory != view and c:
        record = tags.find(s, c, s[f + L.D_TARGET] >> s[c + L.C_SHIFT])
    if s[f + L.D_MEANT]:
        shadow.beat(s, f, n, record)
    elif s[L.WATCH]:
        beat(s, f, n, record)
    if s[f + L.D_MOVES_FROM] == 0 or s[f + L.D_MOVES_TO] == 0:
        in_place(s, f, n, record < 0 or s[L.ASIDE])
        return
    host.copy(memory, source, n)
    if memory != view and (record < 0 or s[L.ASIDE]):
        host.copy(view, source, n)
    s[f + L.D_MEM_FROM], s[f + L.D_MEM_TO], s[f + L.D_VIEW_TO] = source + n, memory + n, view + n

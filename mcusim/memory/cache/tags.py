"""The level-1 caches as tags: hit, fill and write-back.

A read miss stalls until the critical word is there; the rest of the line streams in after it, so the core's own work
between its next accesses (``gap``) hides part of it (Cortex-M7 TRM 5.9: critical word first, streaming from the
linefill buffer). A write miss of a write-back region allocates; its fill runs behind the store buffer, and the core
waits only for one of two linefill buffers, that is for the fill before the last to end (taken to be as long as the new
one). A dirty victim is written after the fill and keeps the memory busy.

All ports look lines up here (``touch``) and make room here (``victim``, ``put``), as the cache's replacement policy
says (:mod:`mcusim.memory.cache.replacement`).

Not modelled: the two linefill buffers working at once, store-buffer merging across lines, speculative fills, ECC.
"""

from __future__ import annotations

from mcusim.memory import devices, range_lookup
from mcusim.memory import state_layout as L
from mcusim.memory.cache import replacement
from mcusim.memory.film import record as film
from mcusim.native.compile import State, inlined, native


@inlined
def set_of(s: State, c: int, tag: int) -> int:
    """Offset of the first record of the set of line number ``tag``."""
    return c + L.CACHE + (tag & (s[c + L.C_SETS] - 1)) * s[c + L.C_WAYS] * L.CACHE_LINE


@inlined
def find(s: State, c: int, tag: int) -> int:
    """Offset of the record that holds line number ``tag``, or -1; nobody uses the line by that."""
    first = set_of(s, c, tag)
    for at in range(first, first + s[c + L.C_WAYS] * L.CACHE_LINE, L.CACHE_LINE):
        if s[at + L.TAG] == tag:
            return at
    return -1


@inlined
def touch(s: State, c: int, tag: int) -> int:
    """An access to line number ``tag``: offset of the record that holds it, or -1."""
    record = find(s, c, tag)
    if record >= 0:
        replacement.hit(s, c, record)
    return record


@inlined
def victim(s: State, c: int, tag: int) -> int:
    """Offset of the record to replace for line number ``tag``: an empty way first."""
    return int(replacement.victim(s, c, set_of(s, c, tag)))


@inlined
def put(s: State, c: int, record: int, tag: int, dirty: int) -> None:
    """Line number ``tag`` is in ``record`` from now on."""
    if s[L.FILM]:
        film.note(s, film.FILL, record, tag, dirty)
    s[record + L.TAG], s[record + L.DIRTY] = tag, dirty
    replacement.fill(s, c, record)


@inlined
def soil(s: State, record: int) -> None:
    """The line in ``record`` is dirty from now on."""
    if s[L.FILM] and s[record + L.DIRTY] == 0:
        film.note(s, film.DIRTY, record, 0, 0)
    s[record + L.DIRTY] = 1


@inlined
def empty(s: State, record: int) -> None:
    """``record`` holds no line."""
    if s[L.FILM]:
        film.note(s, film.DROP, record, 0, 0)
    s[record + L.TAG] = s[record + L.AGE] = -1
    s[record + L.DIRTY] = 0


@inlined
def write_back(s: State, c: int, record: int, start: int) -> int:
    """Write the dirty line in ``record`` to its memory from ``start``; returns the ticks that takes."""
    if s[L.FILM]:
        film.note(s, film.WRITE_BACK, record, s[record + L.TAG], 0)
    s[record + L.DIRTY] = 0
    return written(s, c, s[record + L.TAG], start)


@inlined
def written(s: State, c: int, tag: int, start: int) -> int:
    """Line number ``tag`` of cache ``c`` goes to its memory from ``start``; returns the ticks that takes."""
    bytes_ = s[c + L.C_LINE]
    address = tag * bytes_
    q = range_lookup.find(s, address)
    r = s[q + L.BLOCK]
    _, ticks = devices.line(s, r, address, bytes_, 1, max(start, s[r + L.BUSY]))
    s[r + L.WRITES] += 1
    s[r + L.WRITE_BYTES] += bytes_
    s[L.WRITEBACKS] += 1
    return ticks


@native
def fill(s: State, q: int, address: int, n: int, write: int, gap: int) -> int:
    """:func:`access` that misses and allocates; returns the core's stall in ticks."""
    c = s[L.DCACHE]
    r = s[q + L.BLOCK]
    bytes_ = s[c + L.C_LINE]
    tag = address >> s[c + L.C_SHIFT]
    s[L.MISSES] += 1
    s[L.HITS] += n - 1
    record = victim(s, c, tag)
    displaced = s[record + L.TAG] if s[record + L.DIRTY] == 1 else -1
    put(s, c, record, tag, 1 if write else 0)  # a film shows the miss before the rows that it opens
    now = s[L.NOW]
    start = max(now, s[r + L.BUSY])
    first, last = devices.line(s, r, tag * bytes_, bytes_, 0, start)
    s[r + L.READS] += 1
    s[r + L.READ_BYTES] += bytes_
    if displaced >= 0:
        if s[L.FILM]:
            film.note(s, film.WRITE_BACK, -1, displaced, 0)
        written(s, c, displaced, start + last)
    wait = start - now
    if write:
        return max(0, wait - last)
    return max(wait + first, wait + last - (n - 1) * gap)


@inlined
def access(s: State, q: int, address: int, n: int, size: int, write: int, gap: int) -> int:
    """``n`` accesses inside one line of a cached region (range record ``q``); returns the core's stall in ticks."""
    c = s[L.DCACHE]
    tag = address >> s[c + L.C_SHIFT]
    back = s[c + L.C_WRITEBACK] == 1 and s[q + L.ATTRIBUTE] == 2
    record = touch(s, c, tag)
    if record >= 0:
        s[L.HITS] += n
        if not write:
            return 0
        if back:
            soil(s, record)
            return 0
    if write and not back:
        r = s[q + L.BLOCK]
        s[r + L.WRITES] += n
        s[r + L.WRITE_BYTES] += n * size
        return devices.run(s, r, address, n, size, 1, gap, 0)
    return fill(s, q, address, n, write, gap)


@native
def fetch_line(s: State, address: int) -> int:
    """Instruction fetch of one I-cache line; returns the stall in ticks."""
    c = s[L.ICACHE]
    tag = address >> s[c + L.C_SHIFT]
    if touch(s, c, tag) >= 0:
        s[L.IHITS] += 1
        return 0
    s[L.IMISSES] += 1
    q = range_lookup.find(s, address)
    if q < 0:
        return 0
    put(s, c, victim(s, c, tag), tag, 0)
    r = s[q + L.BLOCK]
    if s[r + L.KIND] == L.TCM:
        return 0
    start = max(s[L.NOW], s[r + L.BUSY])
    first, last = devices.line(s, r, tag * s[c + L.C_LINE], s[c + L.C_LINE], 0, start)
    s[r + L.READS] += 1
    s[r + L.READ_BYTES] += s[c + L.C_LINE]
    return start - s[L.NOW] + (first + last) // 2

"""Beats of a watched program's transfers: are the bytes that they read the newest, do they write behind dirty lines.

Where the cache happens to have written a line back by itself, that it needed cleaning shows all the same; only for
lines that lie in the transfer's bytes as a whole.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache.tags import find as line_of
from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.lines import held, line_at
from mcusim.memory.range_lookup import find
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native, shared


@native
def inside(address: int, low: int, end: int) -> int:
    """Whether the whole line of ``address`` is from ``low`` to below ``end``."""
    line = address >> W.CACHE_LINE << W.CACHE_LINE
    return 1 if low <= line and line + (1 << W.CACHE_LINE) <= end else 0


@native
def last_store(s: State, q: int, address: int) -> int:
    """The instruction that last stored to the word of ``address``, 0 for none."""
    return host.get32(s[q + L.STORES] + (address & ~3)) & ~1


@native
def read(s: State, code: int, q: int, address: int, n: int) -> None:
    """``n`` bytes are read."""
    for at in range(address, address + n):
        wanted, stored = host.get16(s[q + L.MEANT] + 2 * at), host.get16(s[q + L.STORED] + 2 * at)
        seen = host.get16(s[q + L.SEEN] + 2 * at)
        if stored != wanted:
            W.note(s, W.UNCLEANED, 0, code, at, at + 1, wanted, seen, stored, held(s, at), last_store(s, q, at))
        elif wanted & W.BY_CORE and s[q + L.LINES]:
            flags = host.get64(line_at(s, q, at))
            if flags & W.UNCLEAN and inside(at, W.word(s, W.SOURCES + code), W.word(s, W.SOURCE_ENDS + code)):
                other = last_store(s, q, at)
                W.note(s, W.MAYBE_UNCLEANED, 0, code, at, at + 1, wanted, seen, stored, held(s, at), other)


@native
def dirty(s: State, code: int, q: int, address: int) -> int:
    """A byte of the dirty line of ``address`` that the core has written, of the transfer's or else another; or -1."""
    line = address >> W.CACHE_LINE << W.CACHE_LINE
    low, end = W.word(s, W.TARGET_LOWS + code), W.word(s, W.TARGET_ENDS + code)
    other = -1
    for at in range(line, line + (1 << W.CACHE_LINE)):
        seen, stored = host.get16(s[q + L.SEEN] + 2 * at), host.get16(s[q + L.STORED] + 2 * at)
        if seen == stored or stored == code or seen & W.BY_CORE == 0:
            continue
        if low <= at < end:
            return at
        other = at
    return other


@native
def write(s: State, code: int, q: int, address: int, n: int, record: int) -> None:
    """``n`` bytes at ``address`` are written; ``record`` is their cache line, or -1."""
    flags = host.get64(line_at(s, q, address))
    low, end = W.word(s, W.TARGET_LOWS + code), W.word(s, W.TARGET_ENDS + code)
    if record >= 0 and s[record + L.DIRTY]:
        other = dirty(s, code, q, address)
        if other >= 0:
            seen, stored = host.get16(s[q + L.SEEN] + 2 * other), host.get16(s[q + L.STORED] + 2 * other)
            W.note(s, W.DIRTY, 0, code, other, other + 1, 0, seen, stored, 2, last_store(s, q, other))
    elif flags & W.UNCLEAN and inside(address, low, end):
        W.note(s, W.MAYBE_DIRTY, 0, code, address, address + 1, 0, 0, 0, 0, last_store(s, q, address))
        flags &= ~W.UNCLEAN  # reported once
    host.put64(line_at(s, q, address), flags)
    for at in range(address, address + n):
        line = line_at(s, q, at)
        host.put64(line, host.get64(line) | 1 << (at & (1 << W.CACHE_LINE) - 1))


@native
def arrive(s: State, code: int, q: int, address: int, n: int, record: int) -> None:
    """``n`` bytes are written at ``address`` of range record ``q``; ``record`` is their cache line, or -1."""
    if s[q + L.LINES]:
        write(s, code, q, address, n, record)
    for at in range(address, address + n):
        host.put16(s[q + L.STORED] + 2 * at, code)
        host.put16(s[q + L.MEANT] + 2 * at, code)
        if record < 0:
            host.put16(s[q + L.SEEN] + 2 * at, code)
        host.put8(s[q + L.HANDLED] + at, 0)


@shared
def beat(s: State, f: int, n: int, record: int) -> None:
    """``n`` bytes of transfer ``f`` arrive; ``record`` is the cache line of their target, or -1."""
    code, source, target = s[f + L.D_CODE], s[f + L.D_SOURCE], s[f + L.D_TARGET]
    qs, qt = find(s, source), find(s, target)
    if qs >= 0 and s[qs + L.SEEN]:
        read(s, code, qs, source, n if s[f + L.D_MOVES_FROM] else min(n, s[f + L.D_BEAT]))
    if qt < 0 or s[qt + L.SEEN] == 0:
        return
    arrive(s, code, qt, target, n if s[f + L.D_MOVES_TO] else min(n, s[f + L.D_BEAT_TO]), record)


@native
def unit_read(s: State, code: int, address: int, n: int) -> None:
    """A unit of ``n`` bytes is read for a peripheral."""
    q = find(s, address)
    if q >= 0 and s[q + L.SEEN]:
        read(s, code, q, address, n)


@native
def unit_written(s: State, code: int, address: int, n: int) -> None:
    """A unit of ``n`` bytes has come from a peripheral."""
    q, c = find(s, address), s[L.DATA_AT]
    if q >= 0 and s[q + L.SEEN]:
        record = -1
        if c and s[q + L.VIEW] != s[q + L.MEM]:
            record = line_of(s, c, address >> s[c + L.C_SHIFT])
        arrive(s, code, q, address, n, record)

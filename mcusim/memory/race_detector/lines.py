"""Lines of the data cache that a watched program has to invalidate or to clean, whether the cache holds them or not.

An operation by set and way on set 0 and way 0 is taken for one on the whole cache, as loops over all sets and ways end.
Not modelled: a loop over a part of the sets.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache.tags import find as line_of
from mcusim.memory.race_detector import layout as W
from mcusim.memory.range_lookup import find
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native


@native
def held(s: State, address: int) -> int:
    """Whether the data cache contains the byte: 0 no, 1 in a clean line, 2 in a dirty one."""
    c = s[L.DATA_AT]
    if c == 0:
        return 0
    record = line_of(s, c, address >> s[c + L.C_SHIFT])
    return 0 if record < 0 else 1 + s[record + L.DIRTY]


@native
def line_at(s: State, q: int, address: int) -> int:
    """Where the flags of the line of ``address`` are, of range record ``q`` that has some."""
    return s[q + L.LINES] + 8 * (address >> W.CACHE_LINE)


@native
def fresh(s: State, q: int, address: int) -> int:
    """Whether the DMA has written the byte since its line was last invalidated."""
    return host.get64(line_at(s, q, address)) >> (address & (1 << W.CACHE_LINE) - 1) & 1


@native
def left(flags: int, clean: int, invalidate: int) -> int:
    """Flags of a line after an operation."""
    return 0 if invalidate else flags & ~W.UNCLEAN if clean else flags


@native
def maintained(s: State, address: int, clean: int, invalidate: int) -> None:
    """The program cleans or invalidates the line of ``address``; a new turn begins."""
    q = find(s, address)
    if q < 0 or s[q + L.LINES] == 0:
        return
    at = line_at(s, q, address)
    host.put64(at, left(host.get64(at), clean, invalidate))
    W.next_turn(s, W.word(s, W.PLACE))


@native
def everything(s: State, clean: int, invalidate: int) -> None:
    """The program cleans or invalidates all lines."""
    for i in range(s[L.RANGES]):
        q = s[L.RANGE_BASE] + i * L.RANGE
        if s[q + L.LINES]:
            for line in range(s[q + L.LOW] >> W.CACHE_LINE, s[q + L.HIGH] >> W.CACHE_LINE):
                at = s[q + L.LINES] + 8 * line
                flags = host.get64(at)
                if flags:
                    host.put64(at, left(flags, clean, invalidate))
    W.next_turn(s, W.word(s, W.PLACE))

"""Lines of the data cache that are not what the core gets, or should not be: the cache is off, or flash has changed.

While the cache is off its lines stay in it with their bytes, and the core gets memory's. A dirty one that is then
written back overwrites what the core has stored meanwhile; once the cache is on again the core gets its lines again. A
line of flash keeps its bytes when the flash is erased or programmed behind it.

Not modelled: a region that the MPU makes uncached while the cache holds its lines (the core gets them still); code in
such lines runs as it was.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import tags
from mcusim.memory.range_lookup import find
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native

NOTHING, CACHE_OFF_DIRTY, STALE_FLASH = range(3)


@native
def bytes_of(s: State, record: int) -> int:
    """Where the host keeps the bytes of the line in ``record`` while the cache is off."""
    c = s[L.DATA_AT]
    return s[L.ASIDE_ROOM] + (record - c - L.CACHE) // L.CACHE_LINE * s[c + L.C_LINE]


@native
def exchange(s: State, on: int) -> None:
    """The core gets the bytes of its lines (``on``), or memory's, which those are kept beside."""
    c = s[L.DATA_AT]
    line = s[c + L.C_LINE]
    dirty = 0
    for i in range(s[c + L.C_SETS] * s[c + L.C_WAYS]):
        record = c + L.CACHE + i * L.CACHE_LINE
        if s[record + L.TAG] < 0:
            continue
        address = s[record + L.TAG] * line
        q = find(s, address)
        if q < 0 or s[q + L.VIEW] == s[q + L.MEM]:
            continue
        view, kept = s[q + L.VIEW] + address, bytes_of(s, record)
        dirty += s[record + L.DIRTY]
        if on:
            host.copy(view, kept, line)
        else:
            host.copy(kept, view, line)
            host.copy(view, s[q + L.MEM] + address, line)
    s[L.ASIDE] = 0 if on else 1
    s[L.APART] = s[L.APART] & ~1 | (1 if dirty and not on else 0)


@native
def set_aside(s: State) -> None:
    """The data cache is switched off."""
    if s[L.ASIDE_ROOM] and s[L.ASIDE] == 0:
        exchange(s, 0)


@native
def bring_back(s: State) -> None:
    """The data cache is switched on."""
    if s[L.ASIDE]:
        exchange(s, 1)


@native
def accessed(s: State, q: int, address: int, size: int, write: int) -> int:
    """What is wrong with an access of the core to range record ``q``: a load or store of a dirty line past the cache
    that is off, a load of a line of flash whose bytes have changed in the flash; or NOTHING."""
    flash = write == 0 and s[q + L.ATTRIBUTE] != 0 and s[s[q + L.BLOCK] + L.KIND] == L.FLASH
    if s[L.ASIDE] == 0 and not flash:
        return NOTHING
    c = s[L.DATA_AT]
    first, last = address >> s[c + L.C_SHIFT], (address + size - 1) >> s[c + L.C_SHIFT]
    for tag in range(first, last + 1):
        record = tags.find(s, c, tag)
        if record < 0:
            continue
        if s[L.ASIDE]:
            if s[record + L.DIRTY]:
                return CACHE_OFF_DIRTY
        else:
            low, high = max(address, tag << s[c + L.C_SHIFT]), min(address + size, (tag + 1) << s[c + L.C_SHIFT])
            for at in range(low, min(high, s[q + L.HIGH])):
                if host.get8(s[q + L.VIEW] + at) != host.get8(s[q + L.MEM] + at):
                    return STALE_FLASH
    return NOTHING

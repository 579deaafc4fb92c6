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
from mcusim.memory.state_layout import AddressRange, CacheLine, CacheState, MemoryState, RegionState
from mcusim.native import host_memory as host
from mcusim.native.functions import native
from mcusim.native.structs import words_between

NOTHING, CACHE_OFF_DIRTY, STALE_FLASH = range(3)
LINE_WORDS = CacheLine.WORDS


@native
def bytes_of(memory: MemoryState, line: CacheLine) -> int:
    """Where the host keeps the bytes of a line of the data cache while the cache is off."""
    cache = CacheState(memory, memory.data_cache_block)
    return memory.aside_room + words_between(cache.lines[0], line) // LINE_WORDS * cache.line_bytes


@native
def exchange(memory: MemoryState, on: int) -> None:
    """The core gets the bytes of its lines (``on``), or memory's, which those are kept beside."""
    cache = CacheState(memory, memory.data_cache_block)
    size = cache.line_bytes
    dirty = 0
    for i in range(cache.sets * cache.ways):
        line = cache.lines[i]
        if line.tag < 0:
            continue
        address = line.tag * size
        offset = find(memory, address)
        addresses = AddressRange(memory, offset)
        if offset < 0 or addresses.core_view == addresses.memory:
            continue
        view, kept = addresses.core_view + address, bytes_of(memory, line)
        dirty += line.dirty
        if on:
            host.copy(view, kept, size)
        else:
            host.copy(kept, view, size)
            host.copy(view, addresses.memory + address, size)
    memory.aside = 0 if on else 1
    memory.apart = memory.apart & ~1 | (1 if dirty and not on else 0)


@native
def set_aside(memory: MemoryState) -> None:
    """The data cache is switched off."""
    if memory.aside_room and memory.aside == 0:
        exchange(memory, 0)


@native
def bring_back(memory: MemoryState) -> None:
    """The data cache is switched on."""
    if memory.aside:
        exchange(memory, 1)


@native
def accessed(memory: MemoryState, addresses: AddressRange, address: int, size: int, write: int) -> int:
    """What is wrong with an access of the core to ``addresses``: a load or store of a dirty line past the cache
    that is off, a load of a line of flash whose bytes have changed in the flash; or NOTHING."""
    flash = write == 0 and addresses.attribute != 0 and RegionState(memory, addresses.region).kind == L.FLASH
    if memory.aside == 0 and not flash:
        return NOTHING
    cache = CacheState(memory, memory.data_cache_block)
    first, last = address >> cache.line_shift, (address + size - 1) >> cache.line_shift
    for tag in range(first, last + 1):
        line = tags.find(cache, tag)
        if line.tag != tag:
            continue
        if memory.aside:
            if line.dirty:
                return CACHE_OFF_DIRTY
        else:
            low, high = max(address, tag << cache.line_shift), min(address + size, (tag + 1) << cache.line_shift)
            for at in range(low, min(high, addresses.high)):
                if host.get8(addresses.core_view + at) != host.get8(addresses.memory + at):
                    return STALE_FLASH
    return NOTHING

"""Loads that change nothing but counters: in memory that is free, in a line that the data cache holds, and in the
line that the flash accelerator read last.

A loop that goes on in such a place need not make them one by one; what is counted is what they would have counted.
Not modelled: replacement policies from outside the package, which may do anything at a hit; there is none then.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import replacement, tags
from mcusim.memory.cache.outside_policy import OUTSIDE
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState, RegionState
from mcusim.native.functions import native
from mcusim.native.structs import Words


@native
def quiet_loads(memory: MemoryState, address: int, size: int) -> int:
    """How many loads of ``size`` bytes, each behind the last from ``address`` on, change nothing but counters, as far
    as is known here, until something else happens to the memory."""
    q = find(memory, address)
    if q < 0 or memory.film or address & (size - 1):
        return 0
    addresses = AddressRange(memory, q)
    if addresses.flags & L.FREE:
        return (addresses.high - address) // size
    if addresses.attribute == 0 or memory.data_cache == 0:
        return in_flash_line(memory, RegionState(memory, addresses.region), address) // size
    if memory.now < memory.filled:
        return 0
    cache = CacheState(memory, memory.data_cache)
    tag = address >> cache.line_shift
    if cache.replacement >= OUTSIDE or tags.find(cache, tag).tag != tag:
        return 0
    return (((tag + 1) << cache.line_shift) - address) // size


@native
def in_flash_line(memory: MemoryState, region: RegionState, address: int) -> int:
    """Bytes from ``address`` on in the line that was the last one read as data; 0 where another one was."""
    if region.kind != L.FLASH or region.transfers or region.unified:
        return 0
    line = address >> region.line_shift
    last = region.latched_line
    if region.data_lines:
        ways = region.data_ways
        last = Words(memory, region.data_line_store + (line & (region.data_lines // ways - 1)) * ways)[0]
    return ((line + 1) << region.line_shift) - address if last == line else 0


@native
def count_quiet_loads(memory: MemoryState, address: int, size: int, count: int) -> None:
    """Count so many of them, of the place of ``address``. Lines that others use in between are as if this one was used
    last by one of the next accesses."""
    addresses = AddressRange(memory, find(memory, address))
    if addresses.flags & L.FREE:
        region = RegionState(memory, addresses.region)
        region.reads += count
        region.read_bytes += count * size
        region.occupied += count * region.beat
        return
    if addresses.attribute == 0 or memory.data_cache == 0:
        region = RegionState(memory, addresses.region)
        region.reads += count
        region.read_bytes += count * size
        if region.data_lines:
            region.data_hits += count
        return
    cache = CacheState(memory, memory.data_cache)
    line = tags.find(cache, address >> cache.line_shift)
    memory.hits += count
    before = cache.clock
    replacement.hit(memory, cache, line)
    if cache.clock > before:  # a policy that counts uses
        cache.clock += count - 1
        line.age = cache.clock

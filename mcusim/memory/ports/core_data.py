"""The emulated core's data accesses: one load or store at a time.

The caller has set ``memory.now`` to the moment of the access; each function adds its stall to ``memory.now`` and to the
region's counters and returns it, in ticks beyond an ideal load, store or fetch. ``find`` gives the range record of an
address, whose flags say what the access may do; the others do not check them.

Data cache: a read miss waits for the word it asks for, a write miss of write-back memory fills behind the store buffer
and waits only for a linefill buffer, other writes are posted to the memory. A dirty line that is displaced is written
when the fill is done. An access across two lines, uncached across two bus words, is two.

The bytes of the lines are kept by :mod:`mcusim.memory.cache.data`.

Not modelled: merging in the store buffer, the Cortex-M7's switch to no allocation on long runs of stores, several fills
of different memories at once, speculative loads, bus errors.
"""

from __future__ import annotations

from mcusim.memory import devices, flash_busy, read_fifo
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data, tags
from mcusim.memory.dma.arbitration import arrive
from mcusim.memory.dma.beats import is_buffered
from mcusim.memory.film import events
from mcusim.memory.film import record as film
from mcusim.memory.operand_stalls import charge
from mcusim.memory.ports import linefill
from mcusim.memory.ports.core_code import fetch, fetch_while
from mcusim.memory.ports.maintenance import (
    invalidate_instruction_line,
    invalidate_instructions,
    maintain_all,
    maintain_line,
    maintain_set_way,
)
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState, RegionState
from mcusim.native.functions import inlined, native, shared

__all__ = [
    "fetch",
    "fetch_while",
    "find",
    "invalidate_instruction_line",
    "invalidate_instructions",
    "load",
    "maintain_all",
    "maintain_line",
    "maintain_set_way",
    "second",
    "store",
]


@native
def bus(memory: MemoryState, region: RegionState, address: int, size: int, write: int) -> int:
    """One access inside one bus word, past the cache; returns the stall in ticks."""
    if write:
        region.writes += 1
        region.write_bytes += size
    else:
        region.reads += 1
        region.read_bytes += size
    if region.kind == L.SRAM:  # one posted write at a time; who comes before it is done waits
        wait = max(0, region.busy_until - memory.now)
        region.occupied += region.beat
        if write:
            region.busy_until = memory.now + wait + region.write_latency
            return wait
        return wait + region.read_latency
    stream = memory.other_stream
    stream.size, stream.write, stream.gap, stream.interleaved = size, write, 0, 0
    return devices.run(memory, region, stream, address, 1)


@native
def uncached(memory: MemoryState, region: RegionState, address: int, size: int, write: int) -> int:
    """An access past the cache, two where it spans two bus words; returns the stall in ticks."""
    end = address + size
    cut = ((end - 1) >> memory.bus_shift) << memory.bus_shift
    if cut <= address:
        return bus(memory, region, address, size, write)
    stall = bus(memory, region, address, cut - address, write)
    memory.now += stall
    more = bus(memory, region, cut, end - cut, write)
    memory.now -= stall
    return stall + more


@native
def evict(memory: MemoryState, cache: CacheState, line: int, start: int) -> None:
    """Write line number ``line`` to its memory from ``start``, or when that is free: it stays busy so long."""
    size = cache.line_bytes
    if memory.film:
        film.note(memory, events.WRITE_BACK, -1, line, 0)
    addresses = AddressRange(memory, find(memory, line * size))
    region = RegionState(memory, addresses.region)
    data.write_back(memory, addresses, line * size, size)
    memory.line_start = max(start, region.busy_until)
    devices.line(memory, region, line * size, size, 1)
    region.taken_until = max(region.taken_until, region.busy_until)
    region.writes += 1
    region.write_bytes += size
    memory.writebacks += 1


@native
def miss(memory: MemoryState, addresses: AddressRange, address: int, size: int, write: int) -> int:
    """Fill the line of ``address`` into the data cache; returns the ticks until all ``size`` bytes are there."""
    cache = CacheState(memory, memory.data_cache)
    region = RegionState(memory, addresses.region)
    now = memory.now
    tag = address >> cache.line_shift
    memory.misses += 1
    buffer = linefill.free(memory)
    unbuffered = max(now, buffer.last_arrival)
    dirty = linefill.replace(memory, cache, tag, write, 1)
    memory.line_start = max(unbuffered, region.busy_until)
    last = linefill.begin(memory, buffer, cache, region, address)
    if dirty >= 0:
        evict(memory, cache, dirty, last)
    if write:
        return unbuffered - now
    return max(buffer.first_arrival, linefill.arrival(buffer, cache, address + size - 1)) - now


@inlined
def hit(memory: MemoryState, cache: CacheState, address: int, size: int, write: int) -> int:
    """The most frequent case in few steps: 1 when one line of the cache holds it all, else 0 and nothing done."""
    shift = cache.line_shift
    tag = address >> shift
    if (address + size - 1) >> shift != tag:
        return 0
    line = tags.lookup_data(memory, cache, tag)
    if line.tag != tag:
        return 0
    memory.hits += 1
    if write:
        tags.mark_dirty(memory, line)
    return 1


@native
def cached(memory: MemoryState, addresses: AddressRange, address: int, size: int, write: int) -> int:
    """An access inside one line of a cached region; returns the stall in ticks."""
    cache = CacheState(memory, memory.data_cache)
    back = int(addresses.attribute == 2 and cache.write_back == 1)
    if hit(memory, cache, address, size, write & back):
        if not write:
            return max(linefill.wait(memory, cache, address), linefill.wait(memory, cache, address + size - 1))
        if back:
            return 0
    else:
        if not write or (back and addresses.flags & L.ALLOCATE):
            return miss(memory, addresses, address, size, write)
        memory.misses += 1
    return bus(memory, RegionState(memory, addresses.region), address, size, 1)


@native
def access_any(memory: MemoryState, addresses: AddressRange, address: int, size: int, write: int) -> int:
    """Any access to data; returns the stall in ticks, which is still to be counted."""
    cache = CacheState(memory, memory.data_cache)
    if addresses.attribute == 0 or memory.data_cache == 0:
        return uncached(memory, RegionState(memory, addresses.region), address, size, write)
    cut = ((address + size - 1) >> cache.line_shift) << cache.line_shift
    if cut <= address:
        return cached(memory, addresses, address, size, write)
    stall = cached(memory, addresses, address, cut - address, write)
    memory.now += stall
    more = cached(memory, addresses, cut, address + size - cut, write)
    memory.now -= stall
    return stall + more


@native
def access_bus(memory: MemoryState, region: RegionState, size: int, write: int) -> int:
    """An access to memory that waits only for a beat on the bus; returns the stall in ticks."""
    if write:
        region.writes += 1
        region.write_bytes += size
    else:
        region.reads += 1
        region.read_bytes += size
    region.occupied += region.beat
    wait = max(0, region.held_until - memory.now)
    region.taken_until = memory.now + wait + max(1, size >> region.width_shift) * region.beat
    return wait


@native
def during_dma_beat(memory: MemoryState, addresses: AddressRange, address: int, size: int, write: int) -> int:
    """``access_any`` past the cache for memory that beats hold one at a time; returns the stall in ticks."""
    region = RegionState(memory, addresses.region)
    kind = region.kind
    if kind == L.SDRAM or (kind == L.FLASH and is_buffered(memory, region, address)):
        return access_any(memory, addresses, address, size, write)
    now = memory.now
    start = max(now, region.held_until, flash_busy.busy_until(memory, region, address))
    if kind == L.SRAM:
        stall = access_any(memory, addresses, address, size, write)
        region.taken_until = max(region.taken_until, start + region.beat)
        return stall
    memory.now = start
    stall = start - now + access_any(memory, addresses, address, size, write)
    memory.now = now
    region.taken_until = max(region.taken_until, now + stall)
    return stall


@native
def during_dma(memory: MemoryState, addresses: AddressRange, address: int, size: int, write: int) -> int:
    """``access_any`` for memory that a transfer in flight touches; counts the ticks that one of its beats held it."""
    region = RegionState(memory, addresses.region)
    arrive(memory, region)
    if addresses.attribute and memory.data_cache:
        region.busy_until = max(region.busy_until, flash_busy.busy_until(memory, region, address))
    since, until, busy = max(memory.now, region.held_since), region.held_until, region.busy_until
    if addresses.flags & (L.FREE | L.UNLESS_SHARED):
        stall = access_bus(memory, region, size, write)
    else:
        plain = addresses.attribute == 0 or memory.data_cache == 0
        if plain:
            stall = during_dma_beat(memory, addresses, address, size, write)
        else:
            stall = access_any(memory, addresses, address, size, write)
        if region.busy_until != busy:
            region.taken_until = max(region.taken_until, region.busy_until)
    region.waited += max(0, min(memory.now + stall, until) - since)
    return stall


@shared
def access(memory: MemoryState, addresses: AddressRange, address: int, size: int, write: int) -> int:
    """Any access to data; returns the stall in ticks."""
    region = RegionState(memory, addresses.region)
    waited = region.waited
    if region.transfers:
        stall = during_dma(memory, addresses, address, size, write)
    else:
        stall = access_any(memory, addresses, address, size, write)
    region.stall += stall
    if stall:
        charge(memory, address, stall - (region.waited - waited))
    memory.now += stall
    return stall


@native
def load(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> int:
    """A load of ``size`` bytes (1, 2, 4 or 8) from ``addresses``; returns the stall in ticks."""
    stall = loaded(memory, addresses, address, size)
    if memory.film:
        film.accessed(memory, events.LOAD, address, size, stall)
    return stall


@inlined
def loaded(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> int:
    """``load`` that no film has."""
    if addresses.flags & L.FREE:
        region = RegionState(memory, addresses.region)
        region.reads += 1
        region.read_bytes += size
        region.occupied += region.beat
        return 0
    cache = CacheState(memory, memory.data_cache)
    if (
        addresses.attribute
        and memory.data_cache
        and memory.now >= memory.filled
        and hit(memory, cache, address, size, 0)
    ):
        return 0
    return access(memory, addresses, address, size, 0)


@native
def store(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> int:
    """A store of ``size`` bytes (1, 2, 4 or 8) to ``addresses``; returns the stall in ticks."""
    stall = stored(memory, addresses, address, size)
    if memory.film:
        film.accessed(memory, events.STORE, address, size, stall)
    return stall


@native
def stored(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> int:
    """``store`` that no film has."""
    if addresses.flags & L.FREE:
        region = RegionState(memory, addresses.region)
        region.writes += 1
        region.write_bytes += size
        region.occupied += region.beat
        return 0
    cache = CacheState(memory, memory.data_cache)
    if addresses.attribute == 2 and memory.data_cache and cache.write_back and hit(memory, cache, address, size, 1):
        return 0
    return access(memory, addresses, address, size, 1)


@native
def second(memory: MemoryState, addresses: AddressRange, address: int, write: int) -> int:
    """:func:`second_word`, for a film too."""
    stall = second_word(memory, addresses, address, write)
    if memory.film:
        film.accessed(memory, events.STORE if write else events.LOAD, address, 4, stall)
    return stall


@native
def second_word(memory: MemoryState, addresses: AddressRange, address: int, write: int) -> int:
    """The second word of a doubleword that a 64-bit bus moves in one access (LDRD, STRD, VLDR and VSTR of a double).

    Cached it is an access like any; uncached it costs its beats only, which follow the first word's in one burst; where
    that was read ahead and they were not, CL too. Returns the stall in ticks.
    """
    region = RegionState(memory, addresses.region)
    kind = region.kind
    plain = addresses.attribute == 0 or memory.data_cache == 0
    if not plain or kind != L.SDRAM or address & 7 != 4:
        return access(memory, addresses, address, 4, write)
    beats = max(1, 4 >> region.width_shift) * region.t_clk
    if region.columns_ahead:
        if write:
            read_fifo.flush(region)
        else:
            column = address >> region.width_shift
            columns = beats // region.t_clk
            if read_fifo.pop_hits(region, column, columns) < columns:
                beats += region.t_cl
            read_fifo.read_ahead(region, column + columns)
    region.occupied += beats
    region.busy_until += beats
    region.taken_until = max(region.taken_until, region.busy_until)
    if write:
        region.last_write += beats
        region.write_bytes += 4
        return 0
    region.read_bytes += 4
    region.stall += beats
    charge(memory, address, beats)
    memory.now += beats
    return beats

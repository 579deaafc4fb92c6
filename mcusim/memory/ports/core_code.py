"""The code the emulated core executes, a basic block at a time: TCM, instruction cache, flash accelerator, bus.

Not modelled: fetches down a path that is not taken, instructions across two blocks' lines fetched again, and what a
fetch and a data access on the same bus take from each other beyond the memory's own occupation.
"""

from __future__ import annotations

from mcusim.memory import devices, flash_accelerator, flash_busy
from mcusim.memory import state_layout as L
from mcusim.memory.cache import tags
from mcusim.memory.dma.arbitration import advance, arrive
from mcusim.memory.dma.beats import is_buffered
from mcusim.memory.film import events
from mcusim.memory.film import record as film
from mcusim.memory.ports import linefill
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState, RegionState
from mcusim.native.functions import native, shared
from mcusim.native.structs import Words, offset_of, words_between

UNCOUNTED, CACHED_HITS, FLASH_HITS = (
    offset_of(field) for field in (MemoryState.uncounted, MemoryState.code_hits, RegionState.code_hits)
)


@native
def remember(memory: MemoryState, low: int, high: int, counter: int) -> None:
    """Code between these addresses costs nothing until other code is fetched; ``counter`` counts its hits."""
    memory.free_code_low, memory.free_code_high, memory.free_code_counter = low, high, counter


@native
def cached_code(memory: MemoryState, addresses: AddressRange, address: int, stop: int, work: int) -> int:
    """Code inside one line of the instruction cache; returns the wait in ticks.

    The prefetch unit's queue (Arm DDI0489F 1.2.3: 4 x 64 bit) is a line: in sequence the next line is asked for when
    the core comes to the one before.
    """
    cache = CacheState(memory, memory.code_cache)
    tag = address >> cache.line_shift
    buffer = memory.code_fill
    if tags.lookup(memory, cache, tag).tag == tag:
        memory.code_hits += 1
        if buffer.line != tag or memory.now >= buffer.last_arrival:
            remember(memory, tag << cache.line_shift, (tag + 1) << cache.line_shift, CACHED_HITS)
            return 0
    else:
        memory.code_misses += 1
        linefill.replace(memory, cache, tag, 0, 0)
        region = RegionState(memory, addresses.region)
        asked = memory.code_since if address == memory.code_end else memory.now
        memory.line_start = max(asked, region.busy_until, buffer.last_arrival)
        linefill.begin(memory, buffer, cache, region, address)
    first = linefill.arrival(buffer, cache, address) - memory.now
    last = linefill.arrival(buffer, cache, stop - 1) - memory.now - work
    return max(0, first, last)


@native
def code(memory: MemoryState, addresses: AddressRange, address: int, stop: int, work: int) -> int:
    """Code past the cache, inside one flash line or 32 bytes; returns the wait in ticks."""
    region = RegionState(memory, addresses.region)
    if region.kind == L.TCM:
        remember(memory, addresses.low, addresses.high, UNCOUNTED)
        return 0
    if region.kind == L.FLASH:
        line = address >> region.line_shift
        if region.code_lines < 0:
            if region.latched_line == line:
                return 0
            region.reads += 1
            region.read_bytes += 1 << region.line_shift
            return devices.flash_line(memory, region, address) + region.fetch_latency - region.read_latency
        return flash_accelerator.fetch(memory, region, line)
    words = ((stop - 1) >> memory.bus_shift) - (address >> memory.bus_shift) + 1
    region.reads += words
    region.read_bytes += words << memory.bus_shift
    if region.kind == L.SRAM:
        region.occupied += words * region.beat
        return words * region.fetch_latency
    stream = memory.other_stream
    stream.size, stream.write, stream.gap, stream.interleaved = 1 << memory.bus_shift, 0, work // words, 0
    return devices.run(memory, region, stream, address, words)


@native
def read_from(memory: MemoryState, region: RegionState, address: int) -> int:
    """1 when code at ``address``, past the cache, has to come from the memory itself."""
    if region.kind != L.FLASH:
        return 1
    if region.code_lines < 0:
        return 1 - is_buffered(memory, region, address)
    line = address >> region.line_shift
    if line == region.current_line or line == region.prefetched_line:
        return 0
    return int(flash_accelerator.find_line(memory, region, line) < 0)


@native
def during_dma(memory: MemoryState, addresses: AddressRange, address: int, stop: int, work: int) -> int:
    """``cached_code`` or ``code`` in memory that a transfer in flight touches: each waits for the other's access; or in
    a flash that is programmed."""
    region = RegionState(memory, addresses.region)
    through = memory.code_cache > 0 and addresses.attribute > 0
    arrive(memory, region)
    programmed = flash_busy.busy_until(memory, region, address)
    if through:
        region.busy_until = max(region.busy_until, programmed)
    now, busy, held = memory.now, region.busy_until, region.held_until
    since = max(now, region.held_since)
    if through:
        wait = cached_code(memory, addresses, address, stop, work)
    elif read_from(memory, region, address):
        memory.now = max(now, held, programmed)
        wait = memory.now - now + code(memory, addresses, address, stop, work)
        memory.now = now
        beat = region.beat if region.kind == L.SRAM else 0
        region.taken_until = max(region.taken_until, now + wait, max(now, held) + beat)
    else:
        wait = code(memory, addresses, address, stop, work)
    if region.busy_until != busy:
        region.taken_until = max(region.taken_until, region.busy_until)
    region.waited += max(0, min(now + wait, held) - since)
    return wait


@native
def line_end(memory: MemoryState, region: RegionState, address: int, through: int) -> int:
    """End of the line that is fetched at once at ``address``: of the cache, of the flash, or 32 bytes."""
    if region.kind == L.TCM:
        return 1 << 32
    shift = 5
    if through:
        shift = CacheState(memory, memory.code_cache).line_shift
    elif region.kind == L.FLASH:
        shift = region.line_shift
    return ((address >> shift) + 1) << shift


@native
def fetch_lines(memory: MemoryState, address: int, size: int, rate: int) -> int:
    """``fetch_while`` line by line."""
    begin = memory.now
    stall = 0
    lines = 0
    end = address + size
    memory.last_block = -1
    while address < end:
        offset = find(memory, address)
        if offset < 0:
            break
        addresses = AddressRange(memory, offset)
        region = RegionState(memory, addresses.region)
        through = int(memory.code_cache > 0 and addresses.attribute > 0)
        stop = min(end, addresses.high, line_end(memory, region, address, through))
        part = (stop - address) * rate >> 16
        memory.free_code_low = memory.free_code_high = 0
        memory.free_code_region = addresses.region
        if region.transfers:
            wait = during_dma(memory, addresses, address, stop, part)
        elif through:
            wait = cached_code(memory, addresses, address, stop, part)
        else:
            wait = code(memory, addresses, address, stop, part)
        region.fetches += 1
        region.fetch_stall += wait
        region.stall += wait
        stall += wait
        lines += 1
        memory.code_since = memory.now + wait
        memory.now += wait + part
        address = stop
        memory.code_end = stop
    memory.now = begin + stall
    if stall == 0 and memory.free_code_high:  # the last line was at hand; no stall: so were the others
        memory.last_block, memory.last_block_size = end - size, size
        memory.last_block_lines = lines
    return stall


@native
def flash_lines(memory: MemoryState, region: RegionState, address: int, size: int, rate: int) -> int:
    """``fetch_while`` of code in a flash behind its accelerator."""
    end = address + size
    shift = region.line_shift
    lines = ((end - 1) >> shift) - (address >> shift) + 1
    hits = region.code_hits
    stall = flash_accelerator.fetch_lines(memory, region, address, end, rate)
    # not only the line the core was in
    stays = lines == 1 or flash_accelerator.find_line(memory, region, address >> shift) >= 0
    memory.last_block = address if stays and region.code_hits - hits == lines else -1
    memory.last_block_size, memory.last_block_lines = size, lines
    region.fetches += lines
    region.fetch_stall += stall
    region.stall += stall
    last, block = (end - 1) >> shift, words_between(memory, region)
    remember(memory, last << shift, (last + 1) << shift, block + FLASH_HITS)
    memory.free_code_region = block
    memory.code_end = end
    memory.code_since = memory.now
    return stall


@shared
def fetch_while(memory: MemoryState, address: int, size: int, rate: int) -> int:
    """:func:`fetch_block`, for a film too."""
    stall = fetch_block(memory, address, size, rate)
    if memory.film:
        film.accessed(memory, events.FETCH, address, size, stall)
    return stall


@native
def fetch_block(memory: MemoryState, address: int, size: int, rate: int) -> int:
    """The ``size`` bytes of code of one basic block at ``address``; returns the stall in ticks.

    ``rate``: ticks that the block takes to execute without stalls, for each of its bytes, in 1 / 65,536: while the core
    works through one line the next one is on its way. ``memory.now`` is when the block begins; it goes on by the stall.
    """
    if memory.free_code_low <= address and address + size <= memory.free_code_high:
        RegionState(memory, memory.free_code_region).fetches += 1
        Words(memory)[memory.free_code_counter] += 1
        if address != memory.code_end:
            memory.code_since = memory.now
        memory.code_end = address + size
        return 0
    if memory.last_block == address and memory.last_block_size == size:
        RegionState(memory, memory.free_code_region).fetches += memory.last_block_lines
        Words(memory)[memory.free_code_counter] += memory.last_block_lines
        memory.code_since = memory.now
        memory.code_end = address + size
        return 0
    offset = find(memory, address)
    addresses = AddressRange(memory, offset)
    if offset >= 0 and address + size <= addresses.high and (memory.code_cache == 0 or addresses.attribute == 0):
        region = RegionState(memory, addresses.region)
        if region.transfers:  # perhaps no longer
            advance(memory, memory.now)
        if region.kind == L.FLASH and region.code_lines >= 0 and region.transfers == 0:
            return flash_lines(memory, region, address, size, rate)
    return fetch_lines(memory, address, size, rate)


@native
def fetch(memory: MemoryState, address: int, size: int) -> int:
    """Code that takes no time to execute: ``fetch_while`` without any work; returns the stall in ticks."""
    return fetch_while(memory, address, size, 0)

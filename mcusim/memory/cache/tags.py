"""The level-1 caches as tags: hit, fill and write-back.

A read miss stalls until the critical word is there; the rest of the line streams in after it, so the core's own work
between its next accesses (``gap``) hides part of it (Cortex-M7 TRM 5.9: critical word first, streaming from the
linefill buffer). A write miss of a write-back region allocates; its fill runs behind the store buffer, and the core
waits only for one of two linefill buffers, that is for the fill before the last to end (taken to be as long as the new
one). A dirty victim is written after the fill and keeps the memory busy.

All ports look lines up here (``lookup``) and make room here (``victim``, ``put``), as the cache's replacement policy
says (:mod:`mcusim.memory.cache.replacement`).

Not modelled: the two linefill buffers working at once, store-buffer merging across lines, speculative fills, ECC.
"""

from __future__ import annotations

from mcusim.memory import devices, range_lookup
from mcusim.memory import state_layout as L
from mcusim.memory.cache import replacement
from mcusim.memory.cache.line_transfer import fill_stall, read_line, write_line
from mcusim.memory.film import events
from mcusim.memory.film import record as film
from mcusim.memory.state_layout import AccessStream, AddressRange, CacheLine, CacheState, MemoryState, RegionState
from mcusim.native.functions import inlined, native
from mcusim.native.structs import words_between


@inlined
def set_of(cache: CacheState, tag: int) -> int:
    """Index of the first line of the set of line number ``tag``."""
    return (tag & (cache.sets - 1)) * cache.ways


@inlined
def find(cache: CacheState, tag: int) -> CacheLine:
    """The line of number ``tag``, or another one of its set, whose ``tag`` says so; nobody uses the line by that."""
    first = set_of(cache, tag)
    line = cache.lines[first]
    for index in range(first, first + cache.ways):
        line = cache.lines[index]
        if line.tag == tag:
            break
    return line


@native
def held(memory: MemoryState, address: int) -> int:
    """Whether the data cache contains the byte: 0 no, 1 in a clean line, 2 in a dirty one."""
    if memory.data_cache_block == 0:
        return 0
    cache = CacheState(memory, memory.data_cache_block)
    tag = address >> cache.line_shift
    line = find(cache, tag)
    return 1 + line.dirty if line.tag == tag else 0


@inlined
def lookup(memory: MemoryState, cache: CacheState, tag: int) -> CacheLine:
    """:func:`find` for an access to line number ``tag``, which uses the line."""
    line = find(cache, tag)
    if line.tag == tag:
        replacement.hit(memory, cache, line)
    return line


@inlined
def lookup_data(memory: MemoryState, cache: CacheState, tag: int) -> CacheLine:
    """:func:`lookup` in the data cache, at first where the last line was with these lowest bits of its number."""
    slot = tag & (L.RECENT_LINES - 1)
    line = CacheLine(memory, memory.recent_lines[slot])
    if line.tag != tag:
        line = find(cache, tag)
        memory.recent_lines[slot] = words_between(memory, line)
    if line.tag == tag:
        replacement.hit(memory, cache, line)
    return line


@inlined
def victim(memory: MemoryState, cache: CacheState, tag: int) -> CacheLine:
    """The line to replace by line number ``tag``: an empty way first."""
    return replacement.victim(memory, cache, set_of(cache, tag))


@inlined
def put(memory: MemoryState, cache: CacheState, line: CacheLine, tag: int, dirty: int) -> None:
    """The way has line number ``tag`` from now on."""
    if memory.film:
        film.note(memory, events.FILL, words_between(memory, line), tag, dirty)
    line.tag, line.dirty = tag, dirty
    replacement.fill(memory, cache, line)


@inlined
def mark_dirty(memory: MemoryState, line: CacheLine) -> None:
    """The line is dirty from now on."""
    if memory.film and line.dirty == 0:
        film.note(memory, events.DIRTY, words_between(memory, line), 0, 0)
    line.dirty = 1


@inlined
def empty(memory: MemoryState, line: CacheLine) -> None:
    """The way holds no line any more."""
    if memory.film:
        film.note(memory, events.DROP, words_between(memory, line), 0, 0)
    line.tag = line.age = -1
    line.dirty = 0


@inlined
def write_back(memory: MemoryState, cache: CacheState, line: CacheLine, start: int) -> int:
    """Write the dirty line to its memory from ``start``; returns the ticks that takes."""
    if memory.film:
        film.note(memory, events.WRITE_BACK, words_between(memory, line), line.tag, 0)
    line.dirty = 0
    return written(memory, cache, line.tag, start)


@inlined
def written(memory: MemoryState, cache: CacheState, tag: int, start: int) -> int:
    """Line number ``tag`` of the cache goes to its memory from ``start``; returns the ticks that takes."""
    address = tag * cache.line_bytes
    addresses = AddressRange(memory, range_lookup.find(memory, address))
    region = RegionState(memory, addresses.region)
    region.writes += 1
    region.write_bytes += cache.line_bytes
    memory.writebacks += 1
    return write_line(memory, region, address, cache.line_bytes, start)


@native
def fill(memory: MemoryState, addresses: AddressRange, stream: AccessStream, address: int, n: int) -> int:
    """:func:`access` that misses and allocates; returns the core's stall in ticks."""
    cache, write = CacheState(memory, memory.data_cache), stream.write
    region = RegionState(memory, addresses.region)
    size = cache.line_bytes
    tag = address >> cache.line_shift
    memory.misses += 1
    memory.hits += n - 1
    line = victim(memory, cache, tag)
    displaced = line.tag if line.dirty == 1 else -1
    put(memory, cache, line, tag, 1 if write else 0)  # a film shows the miss before the rows that it opens
    wait = read_line(memory, region, tag * size, size)
    first, last = memory.line_first, memory.line_last
    region.reads += 1
    region.read_bytes += size
    if displaced >= 0:
        if memory.film:
            film.note(memory, events.WRITE_BACK, -1, displaced, 0)
        written(memory, cache, displaced, memory.now + wait + last)
    return fill_stall(write, wait, first, last, (n - 1) * stream.gap)


@inlined
def access(memory: MemoryState, addresses: AddressRange, stream: AccessStream, address: int, n: int) -> int:
    """``n`` accesses inside one line of a cached region (``addresses``); returns the core's stall in ticks."""
    cache, write = CacheState(memory, memory.data_cache), stream.write
    tag = address >> cache.line_shift
    back = cache.write_back == 1 and addresses.attribute == 2
    line = lookup_data(memory, cache, tag)
    if line.tag == tag:
        memory.hits += n
        if not write:
            return 0
        if back:
            mark_dirty(memory, line)
            return 0
    if write and not back:
        region = RegionState(memory, addresses.region)
        region.writes += n
        region.write_bytes += n * stream.size
        posted = memory.other_stream
        posted.size, posted.write, posted.gap, posted.interleaved = stream.size, 1, stream.gap, 0
        return devices.run(memory, region, posted, address, n)
    return fill(memory, addresses, stream, address, n)


@native
def fetch_line(memory: MemoryState, address: int) -> int:
    """Instruction fetch of one I-cache line; returns the stall in ticks."""
    cache = CacheState(memory, memory.code_cache)
    tag = address >> cache.line_shift
    if lookup(memory, cache, tag).tag == tag:
        memory.code_hits += 1
        return 0
    memory.code_misses += 1
    offset = range_lookup.find(memory, address)
    if offset < 0:
        return 0
    addresses = AddressRange(memory, offset)
    put(memory, cache, victim(memory, cache, tag), tag, 0)
    region = RegionState(memory, addresses.region)
    if region.kind == L.TCM:
        return 0
    wait = read_line(memory, region, tag * cache.line_bytes, cache.line_bytes)
    region.reads += 1
    region.read_bytes += cache.line_bytes
    return wait + (memory.line_first + memory.line_last) // 2

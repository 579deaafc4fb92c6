"""Cache maintenance as a program does it: a line by address, a line by set and way, all of the instruction cache.

Each returns the ticks that the write-backs take and leaves the clock alone; the registers' own cost is the caller's.
They work on what the caches contain, whether they are switched on or not.

Not modelled: the difference between the points of unification and coherency, which are one here.
"""

from __future__ import annotations

from mcusim.memory.cache import data, tags
from mcusim.memory.ports import linefill
from mcusim.memory.race_detector import lines
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheLine, CacheState, MemoryState
from mcusim.native.functions import inlined, native


@inlined
def data_cache(memory: MemoryState) -> CacheState:
    """The data cache, whether it is switched on or not; where the machine has none ``data_cache_block`` is 0."""
    return CacheState(memory, memory.data_cache_block)


@native
def keep(memory: MemoryState, cache: CacheState, tag: int) -> None:
    """Line number ``tag`` of the data cache has been written back."""
    offset = find(memory, tag * cache.line_bytes)
    if offset >= 0:
        data.write_back(memory, AddressRange(memory, offset), tag * cache.line_bytes, cache.line_bytes)


@native
def treat(memory: MemoryState, cache: CacheState, line: CacheLine, clean: int, invalidate: int) -> int:
    """Clean and/or invalidate the line."""
    ticks = 0
    if line.tag < 0:
        return 0
    if clean and line.dirty == 1:
        ticks = tags.write_back(memory, cache, line, memory.now)
        keep(memory, cache, line.tag)
    if invalidate:
        linefill.give_up(memory, cache, line.tag)
        for i in range(2):
            if memory.data_fills[i].line == line.tag:
                memory.data_fills[i].line = -1
        tags.empty(memory, line)
    return ticks


@native
def maintain_line(memory: MemoryState, address: int, clean: int, invalidate: int) -> int:
    """The data-cache line that contains ``address``; returns the ticks of its write-back."""
    if memory.data_cache_block == 0:
        return 0
    cache = data_cache(memory)
    if memory.watch:
        lines.maintained(memory, address, clean, invalidate)
    tag = address >> cache.line_shift
    line = tags.find(cache, tag)
    return treat(memory, cache, line, clean, invalidate) if line.tag == tag else 0


@native
def maintain_range(memory: MemoryState, address: int, size: int, clean: int, invalidate: int) -> int:
    """Every line that holds some of ``size`` bytes at ``address``, one after the other, where the data cache is on.

    Returns the ticks of the write-backs; the loop itself is the caller's.
    """
    if memory.data_cache == 0:
        return 0
    before = memory.now
    line = data_cache(memory).line_bytes
    for tag in range(address // line, (address + size + line - 1) // line):
        memory.now += maintain_line(memory, tag * line, clean, invalidate)
    ticks = memory.now - before
    memory.now = before
    return ticks


@native
def maintain_set_way(memory: MemoryState, value: int, clean: int, invalidate: int) -> int:
    """The data-cache line that a set/way register's ``value`` names: the way in its top bits, the set above the line.

    Arm DDI0403, DCISW. Sets and ways beyond the cache's name nothing. Returns the ticks of the write-back.
    """
    if memory.data_cache_block == 0:
        return 0
    cache = data_cache(memory)
    ways = cache.ways
    top = 32
    while (1 << (32 - top)) < ways:
        top -= 1
    way = (value & 0xFFFFFFFF) >> top
    index = (value & ((1 << top) - 1)) >> cache.line_shift
    if way >= ways or index >= cache.sets:
        return 0
    if memory.watch and way == 0 and index == 0:
        lines.everything(memory, clean, invalidate)
    return treat(memory, cache, cache.lines[index * ways + way], clean, invalidate)


@native
def maintain_all(memory: MemoryState, clean: int, invalidate: int) -> int:
    """Every line of the data cache, one after the other; returns the ticks of the write-backs."""
    if memory.data_cache_block == 0:
        return 0
    cache, before = data_cache(memory), memory.now
    for index in range(cache.sets * cache.ways):
        memory.now += treat(memory, cache, cache.lines[index], clean, invalidate)
    ticks = memory.now - before
    memory.now = before
    return ticks


@native
def forget_code(memory: MemoryState) -> None:
    """No code is known to be present any more."""
    memory.free_code_low = memory.free_code_high = 0
    memory.last_block = -1
    memory.code_fill.line = -1


@native
def invalidate_instructions(memory: MemoryState) -> int:
    """Empty the instruction cache; returns 0 ticks."""
    forget_code(memory)
    if memory.code_cache_block > 0:
        cache = CacheState(memory, memory.code_cache_block)
        for index in range(cache.sets * cache.ways):
            tags.empty(memory, cache.lines[index])
    return 0


@native
def invalidate_instruction_line(memory: MemoryState, address: int) -> int:
    """Drop the line of ``address`` from the instruction cache; returns 0 ticks."""
    forget_code(memory)
    if memory.code_cache_block > 0:
        cache = CacheState(memory, memory.code_cache_block)
        tag = address >> cache.line_shift
        line = tags.find(cache, tag)
        if line.tag == tag:
            tags.empty(memory, line)
    return 0

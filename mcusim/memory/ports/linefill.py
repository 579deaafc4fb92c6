"""The linefill buffers of the emulated core: when each word of a cache line that is still on its way arrives.

The word that was asked for comes first, the others follow in order, wrapping at the line's end (Arm DDI0489F 5.9:
critical word first, the core goes on from the linefill buffer). Two buffers for data, one for code; a third fill waits
until the older one is done (two are assumed, Arm does not say).

Not modelled: forwarding of a store that waits for its fill to a load of the same word; the load waits for the word.
"""

from __future__ import annotations

from mcusim.memory import devices
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data, tags
from mcusim.memory.dma.arbitration import arrive
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, LinefillBuffer, MemoryState, RegionState
from mcusim.native.functions import native


@native
def free(memory: MemoryState) -> LinefillBuffer:
    """The data buffer that is, or will be, free first."""
    first, second = memory.data_fills[0], memory.data_fills[1]
    return first if first.last_arrival <= second.last_arrival else second


@native
def begin(memory: MemoryState, buffer: LinefillBuffer, cache: CacheState, region: RegionState, address: int) -> int:
    """Fill the line of ``address`` from the region through a buffer, from ``memory.line_start`` on; returns its end."""
    size, start = cache.line_bytes, memory.line_start
    tag = address >> cache.line_shift
    devices.line(memory, region, tag * size, size, 0)
    first, last = memory.line_first, memory.line_last
    words = max(1, size >> L.WORD)
    region.reads += 1
    region.read_bytes += size
    buffer.line = tag
    buffer.first_word = (address >> L.WORD) & (words - 1)
    buffer.first_arrival = start + first
    buffer.word_ticks = (last - first) // max(1, words - 1)
    buffer.last_arrival = start + last
    memory.filled = max(memory.filled, start + last)
    return start + last


@native
def arrival(buffer: LinefillBuffer, cache: CacheState, address: int) -> int:
    """When the word at ``address`` of the line in the buffer is there."""
    words = max(1, cache.line_bytes >> L.WORD)
    ahead = ((address >> L.WORD) - buffer.first_word) & (words - 1)
    return buffer.first_arrival + ahead * buffer.word_ticks


@native
def wait(memory: MemoryState, cache: CacheState, address: int) -> int:
    """Ticks until the word at ``address``, of a line in the data cache, has arrived; 0 if it is there."""
    tag = address >> cache.line_shift
    ready = memory.now
    for i in range(2):
        buffer = memory.data_fills[i]
        if buffer.line == tag and buffer.last_arrival > memory.now:
            ready = max(ready, arrival(buffer, cache, address))
    return ready - memory.now


@native
def give_up(memory: MemoryState, cache: CacheState, tag: int) -> None:
    """Line number ``tag`` of the data cache is dropped."""
    offset = find(memory, tag * cache.line_bytes)
    if offset >= 0:
        data.drop(memory, AddressRange(memory, offset), tag * cache.line_bytes, cache.line_bytes)


@native
def replace(memory: MemoryState, cache: CacheState, tag: int, dirty: int, for_data: int) -> int:
    """Give line number ``tag`` a way of the cache, the data cache or not; returns the line it displaces if that is
    dirty, else -1."""
    line = tags.victim(memory, cache, tag)
    held = line.tag
    displaced = held if held >= 0 and line.dirty == 1 else -1
    if displaced >= 0:  # beats due before find it still there
        region = RegionState(memory, AddressRange(memory, find(memory, displaced * cache.line_bytes)).region)
        if region.transfers:
            arrive(memory, region)
    elif held >= 0 and for_data:
        give_up(memory, cache, held)
    tags.put(memory, cache, line, tag, dirty)
    return displaced

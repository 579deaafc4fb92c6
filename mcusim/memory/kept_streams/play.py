"""Playing a kept stream: the same devices, moment by moment, without the cache in front of them.

Accesses and bytes are counted as they were in the recording.
"""

from __future__ import annotations

from mcusim.memory import devices, range_lookup
from mcusim.memory import state_layout as L
from mcusim.memory.cache.line_transfer import fill_stall, read_line, write_line
from mcusim.memory.film.events import KeptStreams
from mcusim.memory.kept_streams import layout as K
from mcusim.memory.kept_streams.layout import KeptCall
from mcusim.memory.operand_stalls import charge
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState, RegionState, RegionStates
from mcusim.native.functions import inlined, native
from mcusim.native.structs import Words


@inlined
def written(memory: MemoryState, addresses: AddressRange, tag: int, start: int) -> int:
    """Line number ``tag`` of the data cache goes to its memory, near ``addresses`` perhaps, from ``start`` on; the
    ticks that takes."""
    size = CacheState(memory, memory.data_cache).line_bytes
    address = tag * size
    if address < addresses.low or address >= addresses.high:
        addresses = AddressRange(memory, range_lookup.find(memory, address))
    region = RegionState(memory, addresses.region)
    return write_line(memory, region, address, size, start)


@inlined
def filled(memory: MemoryState, addresses: AddressRange, first: int, second: int) -> int:
    """A line is filled, and another one perhaps written back: the core's stall in ticks."""
    size = CacheState(memory, memory.data_cache).line_bytes
    region = RegionState(memory, addresses.region)
    address, displaced = second & (1 << K.ADDRESS) - 1, ((second >> K.ADDRESS) & (1 << K.DISPLACED) - 1) - 1
    wait = read_line(memory, region, address & -size, size)
    until_first, until_last = memory.line_first, memory.line_last
    if displaced >= 0:
        written(memory, addresses, displaced, memory.now + wait + until_last)
    n, gap = (first >> K.COUNT_AT) & (1 << K.COUNT) - 1, (first >> K.GAP_AT) & (1 << K.GAP) - 1
    return fill_stall((first >> K.STORE_AT) & 1, wait, until_first, until_last, (n - 1) * gap)


@inlined
def run(memory: MemoryState, addresses: AddressRange, first: int, address: int) -> int:
    """Accesses past the cache: the core's stall in ticks."""
    stream = memory.other_stream
    stream.size, stream.write = 1 << ((first >> K.SIZE_AT) & (1 << K.SIZE) - 1), (first >> K.STORE_AT) & 1
    stream.interleaved = (first >> K.BETWEEN_AT) & 1
    stream.gap = (first >> K.GAP_AT) & (1 << K.GAP) - 1
    n = (first >> K.COUNT_AT) & (1 << K.COUNT) - 1
    return devices.run(memory, RegionState(memory, addresses.region), stream, address, n)


@inlined
def lines(memory: MemoryState, addresses: AddressRange, first: int) -> int:
    """Lines of a flash that were not held: the core's stall in ticks."""
    region, n = RegionState(memory, addresses.region), (first >> K.COUNT_AT) & (1 << K.COUNT) - 1
    region.occupied += n * (region.wait + region.beat)
    return n * (region.wait + region.read_latency)


@inlined
def charged(memory: MemoryState, second: int, stall: int) -> None:
    """The stall is that of the event's operand."""
    operand = second >> K.OPERAND_AT
    if operand < K.NO_OPERAND:
        memory.operands[operand].stall += stall
    elif operand == K.ANOTHER_OPERAND:
        charge(memory, second & (1 << K.ADDRESS) - 1, stall)


@native
def play(memory: MemoryState, kept: KeptCall, events: Words) -> None:
    """A kernel call's events."""
    for i in range(kept.count):
        first, second = events[2 * i], events[2 * i + 1]
        kind = first & (1 << K.KIND) - 1
        memory.now += first >> K.DUE_AT
        if kind == K.WORK:
            continue
        addresses = AddressRange(memory, kept.ranges[(first >> K.RANGE_AT) & (1 << K.RANGE) - 1])
        if kind == K.FILL:
            stall = filled(memory, addresses, first, second)
        elif kind == K.LINES:
            stall = lines(memory, addresses, first)
        else:
            stall = run(memory, addresses, first, second & (1 << K.ADDRESS) - 1)
        if stall:
            RegionState(memory, addresses.region).stall += stall
            charged(memory, second, stall)
            memory.now += stall


@native
def count(memory: MemoryState, streams: KeptStreams, number: int) -> None:
    """Count what the call of that number counted."""
    call = streams.calls.records[number]
    for block in range(streams.blocks):
        region = RegionStates(memory, L.FIRST_BLOCK).records[block]
        counts = Words(streams.counts, K.COUNTS * (number * streams.blocks + block))
        region.reads += counts[0]
        region.writes += counts[1]
        region.read_bytes += counts[2]
        region.write_bytes += counts[3]
        region.data_hits += counts[4]
        region.data_misses += counts[5]
    memory.hits += call.hits
    memory.misses += call.misses
    memory.writebacks += call.writebacks


@native
def play_call(memory: MemoryState, streams: KeptStreams, number: int) -> None:
    """The kernel call of that number."""
    call = streams.calls.records[number]
    count(memory, streams, number)
    play(memory, call, Words(streams.events, 2 * call.first))
    memory.now += call.tail


@native
def play_maintenance(memory: MemoryState, streams: KeptStreams, number: int) -> int:
    """The lines that the cache maintenance of that number writes back: the ticks that takes; the clock stays."""
    call, before = streams.calls.records[number], memory.now
    count(memory, streams, number)
    for i in range(call.first, call.first + call.count):
        tag = streams.events[2 * i + 1]
        address = tag * CacheState(memory, memory.data_cache).line_bytes
        addresses = AddressRange(memory, range_lookup.find(memory, address))
        memory.now += written(memory, addresses, tag, memory.now)
    ticks = memory.now - before
    memory.now = before
    return ticks

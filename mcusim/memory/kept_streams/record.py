"""Writing down what gets past the data cache. A recording takes the place of a film: accesses are made one by one.

Not modelled: accesses of the emulated core, and of transfers in flight.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.film.events import FILL, WRITE_BACK, KeptStreams
from mcusim.memory.kept_streams import layout as K
from mcusim.memory.kept_streams.layout import KeptState
from mcusim.memory.operand_stalls import operand_of
from mcusim.memory.state_layout import AccessStream, AddressRange, CacheState, MemoryState, RegionState, RegionStates
from mcusim.native.functions import native, shared
from mcusim.native.structs import Words, words_between

MOST = (1 << K.COUNT) - 1  # accesses of an event
LOOKED_AT = 8  # events before, to which others may be added


@shared
def changed(memory: MemoryState, kind: int, record: int, tag: int) -> None:
    """The data cache changes, as a film has it."""
    kept = memory.film.kept
    if kind == FILL:
        kept.filled, kept.displaced = 1, -1
    elif kind == WRITE_BACK and record < 0:
        kept.displaced = tag
    elif kind == WRITE_BACK:
        append(kept, K.WORK, tag)


@native
def append(kept: KeptState, first: int, second: int) -> None:
    """Write an event down."""
    if kept.count >= kept.most:
        kept.failed = 1
        return
    kept.events[2 * kept.count] = first
    kept.events[2 * kept.count + 1] = second
    kept.count += 1


@native
def range_index(kept: KeptState, offset: int) -> int:
    """Which of the ranges met the one at ``offset`` is."""
    for i in range(kept.known):
        if kept.ranges[i] == offset:
            return i
    if kept.known == 1 << K.RANGE:
        kept.failed = 1
        return 0
    kept.ranges[kept.known] = offset
    kept.known += 1
    return kept.known - 1


@native
def operand_code(memory: MemoryState, address: int) -> int:
    """The operand as an event has it."""
    operand = operand_of(memory, address)
    if operand < 0:
        return K.NO_OPERAND << K.OPERAND_AT
    return (operand if operand < K.NO_OPERAND else K.ANOTHER_OPERAND) << K.OPERAND_AT


@native
def is_cached(memory: MemoryState, addresses: AddressRange) -> int:
    """Whether accesses go through the data cache."""
    return int(addresses.attribute > 0 and memory.data_cache > 0)


@native
def kind_of(memory: MemoryState, addresses: AddressRange, write: int) -> int:
    """The kind of event that the access just made is; WORK: none."""
    kept = memory.film.kept
    if is_cached(memory, addresses):
        back = CacheState(memory, memory.data_cache).write_back == 1 and addresses.attribute == 2
        if kept.filled:
            return K.FILL
        return K.RUN if write and not back else K.WORK
    return K.WORK if RegionState(memory, addresses.region).kind == L.TCM else K.RUN


@native
def merged(kept: KeptState, first: int, second: int, n: int) -> int:
    """Whether ``n`` accesses went to an event that is alike, since the last one whose time matters."""
    if (second >> K.OPERAND_AT) == K.ANOTHER_OPERAND:
        return 0
    index = kept.count - 1
    while index >= max(kept.since, kept.count - LOOKED_AT):
        before = kept.events[2 * index]
        if (before ^ first) & K.ALIKE == 0 and (kept.events[2 * index + 1] ^ second) >> K.OPERAND_AT == 0:
            due = (before >> K.DUE_AT) + (first >> K.DUE_AT)
            if ((before >> K.COUNT_AT) & MOST) + n <= MOST and due < 1 << K.DUE:
                kept.events[2 * index] += (n << K.COUNT_AT) + (first >> K.DUE_AT << K.DUE_AT)
                return 1
        index -= 1
    return 0


@native
def many(kept: KeptState, first: int, second: int, n: int) -> None:
    """``n`` accesses whose time does not matter, in as few events as may be."""
    if merged(kept, first, second, n):
        return
    while n > MOST:
        append(kept, first | MOST << K.COUNT_AT, second)
        first, n = first & (1 << K.DUE_AT) - 1, n - MOST
    append(kept, first | n << K.COUNT_AT, second)


@native
def has_lines(region: RegionState) -> int:
    """Whether reads of data past the cache look lines up that no code is among: a flash with data lines of its own."""
    return int(region.kind == L.FLASH and region.unified == 0 and region.data_lines > 0)


@native
def first_word(memory: MemoryState, addresses: AddressRange, stream: AccessStream, kind: int) -> int:
    """Of an event, without its count and the work before it; what makes no difference to the memory is left out."""
    kept, region, size = memory.film.kept, RegionState(memory, addresses.region), 0
    word = kind | range_index(kept, words_between(memory, addresses)) << K.RANGE_AT
    if kind == K.LINES:
        return word
    word |= stream.write << K.STORE_AT
    if kind == K.FILL or region.kind != L.SRAM or stream.write:
        word |= stream.gap << K.GAP_AT
    if region.kind == L.SRAM and kind == K.RUN:
        return word
    while 1 << size < stream.size:
        size += 1
    if 1 << size != stream.size:
        kept.failed = 1
    if not is_cached(memory, addresses):  # a store that the cache writes through is posted, not between others
        word |= stream.interleaved << K.BETWEEN_AT
    return word | size << K.SIZE_AT


@shared
def accessed(memory: MemoryState, addresses: AddressRange, stream: AccessStream, address: int, n: int) -> None:
    """``n`` accesses were made from ``memory.now`` on, with a stall of ``kept.stall``."""
    kept, region = memory.film.kept, RegionState(memory, addresses.region)
    kind, due = kind_of(memory, addresses, stream.write), memory.now - kept.mark
    if kind == K.RUN and has_lines(region):
        kind, n, kept.lines = K.LINES, kept.lines, 0
    if kind == K.WORK or n == 0:
        return
    timeless = kind == K.LINES or (kind == K.RUN and region.kind == L.SRAM)
    if (n > MOST and not timeless) or stream.gap >= 1 << K.GAP or due < 0:
        kept.failed = 1
    while due >= 1 << K.DUE:
        append(kept, K.WORK | (1 << K.DUE) - 1 << K.DUE_AT, 0)
        due -= (1 << K.DUE) - 1
    first = first_word(memory, addresses, stream, kind) | due << K.DUE_AT
    second = address | operand_code(memory, address)
    if timeless:
        many(kept, first, second, n)
    else:
        if kind == K.FILL:
            second |= kept.displaced + 1 << K.ADDRESS
            if kept.displaced + 1 >> K.DISPLACED:
                kept.failed = 1
        append(kept, first | n << K.COUNT_AT, second)
        kept.since = kept.count
    kept.mark = memory.now + kept.stall
    kept.filled = 0


@native
def count(memory: MemoryState, streams: KeptStreams, sign: int) -> None:
    """The counters as they are now, added to those of the call to come, or subtracted."""
    call = streams.calls.records[streams.next]
    for block in range(streams.blocks):
        region = RegionStates(memory, L.FIRST_BLOCK).records[block]
        counts = Words(streams.counts, K.COUNTS * (streams.next * streams.blocks + block))
        counts[0] += sign * region.reads
        counts[1] += sign * region.writes
        counts[2] += sign * region.read_bytes
        counts[3] += sign * region.write_bytes
        if has_lines(region):
            counts[4] += sign * region.data_hits
            counts[5] += sign * region.data_misses
    call.hits += sign * memory.hits
    call.misses += sign * memory.misses
    call.writebacks += sign * memory.writebacks


@native
def begin(memory: MemoryState, streams: KeptStreams) -> None:
    """A call, or maintenance, begins."""
    kept, call = streams.film.kept, streams.calls.records[streams.next]
    count(memory, streams, -1)
    call.first = kept.count
    kept.known = kept.filled = kept.lines = 0
    kept.mark, kept.since = memory.now, kept.count
    memory.film = streams.film


@native
def end(memory: MemoryState, streams: KeptStreams) -> None:
    """It has ended."""
    kept, call = streams.film.kept, streams.calls.records[streams.next]
    memory.film = streams.none
    count(memory, streams, 1)
    call.count, call.tail = kept.count - call.first, memory.now - kept.mark
    for i in range(1 << K.RANGE):
        call.ranges[i] = kept.ranges[i]
    streams.next += 1

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

FIRST_BLOCK = MemoryState.WORDS  # where a memory's blocks begin
MOST = (1 << K.COUNT) - 1  # accesses of an event
NOBODY = -2  # no event before to which accesses might go


@shared
def changed(memory: MemoryState, kind: int, record: int, tag: int) -> None:
    """The data cache changes, as a film has it."""
    kept = memory.film.kept
    if kind == FILL:
        kept.filled, kept.displaced = 1, -1
    elif kind == WRITE_BACK and record < 0:
        kept.displaced = tag
    elif kind == WRITE_BACK:
        append(kept, K.WRITE, tag)


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
def kind_of(memory: MemoryState, addresses: AddressRange, write: int) -> int:
    """The kind of event that the access just made is; WORK: none."""
    kept = memory.film.kept
    if addresses.attribute > 0 and memory.data_cache > 0:
        back = CacheState(memory, memory.data_cache).write_back == 1 and addresses.attribute == 2
        if kept.filled:
            return K.FILL
        return K.RUN if write and not back else K.WORK
    return K.WORK if RegionState(memory, addresses.region).kind == L.TCM else K.RUN


@native
def merged(memory: MemoryState, first: int, address: int, n: int) -> int:
    """Whether ``n`` accesses to memory without state went to the event before, which is alike."""
    kept = memory.film.kept
    before = kept.events[2 * kept.count - 2]
    alike = before & (1 << K.COUNT_AT) - 1 == first & (1 << K.COUNT_AT) - 1
    if not alike or (before >> K.GAP_AT) & (1 << K.GAP) - 1 != (first >> K.GAP_AT) & (1 << K.GAP) - 1:
        return 0
    due = (before >> K.DUE_AT) + (first >> K.DUE_AT)
    count = ((before >> K.COUNT_AT) & (1 << K.COUNT) - 1) + n
    if count >= 1 << K.COUNT or due >= 1 << K.DUE or operand_of(memory, address) != kept.last_operand:
        return 0
    kept.events[2 * kept.count - 2] += (n << K.COUNT_AT) + (first >> K.DUE_AT << K.DUE_AT)
    return 1


@native
def many(memory: MemoryState, first: int, address: int, n: int) -> None:
    """``n`` accesses to memory without state, in as few events as may be."""
    kept = memory.film.kept
    second = address | operand_code(memory, address)
    if kept.last_operand == NOBODY or not merged(memory, first, address, n):
        while n > MOST:
            append(kept, first | MOST << K.COUNT_AT, second)
            first, n = first & (1 << K.DUE_AT) - 1, n - MOST
        append(kept, first | n << K.COUNT_AT, second)
    kept.last_operand = operand_of(memory, address)


@shared
def accessed(memory: MemoryState, addresses: AddressRange, stream: AccessStream, address: int, n: int) -> None:
    """``n`` accesses were made from ``memory.now`` on, with a stall of ``kept.stall``."""
    kept = memory.film.kept
    kind = kind_of(memory, addresses, stream.write)
    if kind == K.WORK:
        return
    due, gap, size = memory.now - kept.mark, stream.gap, 0
    while 1 << size < stream.size:
        size += 1
    plain = kind == K.RUN and RegionState(memory, addresses.region).kind == L.SRAM
    if (n > MOST and not plain) or gap >= 1 << K.GAP or due < 0 or 1 << size != stream.size:
        kept.failed = 1
    while due >= 1 << K.DUE:
        append(kept, K.WORK | (1 << K.DUE) - 1 << K.DUE_AT, 0)
        due -= (1 << K.DUE) - 1
    first = kind | stream.write << K.STORE_AT | stream.interleaved << K.BETWEEN_AT | size << K.SIZE_AT
    first |= range_index(kept, words_between(memory, addresses)) << K.RANGE_AT | gap << K.GAP_AT
    if kind == K.FILL:
        second = address | kept.displaced + 1 << K.ADDRESS | operand_code(memory, address)
        append(kept, first | n << K.COUNT_AT | due << K.DUE_AT, second)
    elif not plain:
        append(kept, first | n << K.COUNT_AT | due << K.DUE_AT, address | operand_code(memory, address))
    else:
        many(memory, first | due << K.DUE_AT, address, n)
    if not plain:
        kept.last_operand = NOBODY
    kept.mark = memory.now + kept.stall
    kept.filled = 0


@native
def count(memory: MemoryState, streams: KeptStreams, sign: int) -> None:
    """The counters as they are now, added to those of the call to come, or subtracted."""
    call = streams.calls.records[streams.next]
    for block in range(streams.blocks):
        region = RegionStates(memory, FIRST_BLOCK).records[block]
        counts = Words(streams.counts, K.COUNTS * (streams.next * streams.blocks + block))
        counts[0] += sign * region.reads
        counts[1] += sign * region.writes
        counts[2] += sign * region.read_bytes
        counts[3] += sign * region.write_bytes
    call.hits += sign * memory.hits
    call.misses += sign * memory.misses
    call.writebacks += sign * memory.writebacks


@native
def begin(memory: MemoryState, streams: KeptStreams) -> None:
    """A call, or maintenance, begins."""
    kept, call = streams.film.kept, streams.calls.records[streams.next]
    count(memory, streams, -1)
    call.first = kept.count
    kept.known = kept.filled = 0
    kept.mark, kept.last_operand = memory.now, NOBODY
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

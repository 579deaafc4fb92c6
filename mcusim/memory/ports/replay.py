"""The one access path: every load, store and fetch of a simulated machine goes through these functions.

They are native functions over the state of :mod:`mcusim.memory.state_layout`; kernels' streams call ``walk``
natively. Each access is counted at the region that answers it (behind the cache), and a stall is charged to that
region.

Not modelled: the core's write buffer beyond one memory, exclusive accesses, MPU regions set at run time.
"""

from __future__ import annotations

from typing import Any

from mcusim.memory import devices, range_lookup
from mcusim.memory import state_layout as L
from mcusim.memory.cache import replacement, tags
from mcusim.memory.film import events
from mcusim.memory.film import record as film
from mcusim.memory.kept_streams import record as kept_streams
from mcusim.memory.operand_stalls import charge
from mcusim.memory.state_layout import (
    AccessStream,
    AddressRange,
    CacheLine,
    CacheState,
    CodeSweep,
    MemoryState,
    RegionState,
    RegionStates,
)
from mcusim.native.functions import inlined, native, shared
from mcusim.native.structs import Words, words_between

LINES_HINTED = 4  # of one operand, which may be the data cache's; a power of two


@inlined
def visit_in(memory: MemoryState, addresses: AddressRange, stream: AccessStream, address: int, n: int) -> int:
    """:func:`visit` of an address in ``addresses``."""
    region, write, gap = RegionState(memory, addresses.region), stream.write, stream.gap
    if addresses.attribute > 0 and memory.data_cache > 0:
        stall = tags.access(memory, addresses, stream, address, n)
    else:
        if write:
            region.writes += n
            region.write_bytes += n * stream.size
        else:
            region.reads += n
            region.read_bytes += n * stream.size
        stall = devices.run(memory, region, stream, address, n)
    region.stall += stall
    if stall:
        charge(memory, address, stall)
    if memory.film:
        if memory.film.kept:
            memory.film.kept.stall = stall
            kept_streams.accessed(memory, addresses, stream, address, n)
        else:
            kind = events.STORE if write else events.LOAD
            film.note(memory, kind, address, stream.size + (n << events.MANY), stall)
    memory.now += n * gap + stall
    return stall


@native
def visit(memory: MemoryState, stream: AccessStream, address: int, n: int) -> int:
    """``n`` accesses ascending from ``address`` in one 32-byte line.

    Advances the clock by the work and the stall and returns the stall in ticks. An address outside every region
    counts as free: the engine has checked all operands before.
    """
    offset = range_lookup.find(memory, address)
    if offset < 0:
        memory.now += n * stream.gap
        return 0
    return visit_in(memory, AddressRange(memory, offset), stream, address, n)


@inlined
def _is_plain(memory: MemoryState, addresses: AddressRange) -> int:
    """Are the addresses of memory that has no state, uncached."""
    if addresses.attribute > 0 and memory.data_cache > 0:
        return 0
    return int(RegionState(memory, addresses.region).kind <= L.SRAM)


@shared
def walk(memory: MemoryState, stream: AccessStream, address: int, length: int) -> None:
    """Accesses over a contiguous range, split into visits."""
    end, size = address + length, stream.size
    shift = memory.visit_shift
    offset = range_lookup.find(memory, address)
    addresses = AddressRange(memory, offset)
    if offset >= 0 and _is_plain(memory, addresses) and end <= addresses.high:
        visit_in(memory, addresses, stream, address, (length + size - 1) // size)  # no state: one step
        return
    while address < end:
        stop = min(end, ((address >> shift) + 1) << shift)
        n = (stop - address + size - 1) // size
        if offset < 0 or address >= addresses.high:
            offset = range_lookup.find(memory, address)
            addresses = AddressRange(memory, offset)
        if offset < 0:
            memory.now += n * stream.gap
        else:
            visit_in(memory, addresses, stream, address, n)
        address = stop


@shared
def walk_in(memory: MemoryState, stream: AccessStream, address: int, length: int) -> None:
    """:func:`walk` where a loop spends most of its time; ``stream.range`` is that of its first address, or of another
    one, or -1."""
    end, size = address + length, stream.size
    addresses = AddressRange(memory, stream.range)
    if stream.range < 0 or address < addresses.low or end > addresses.high:
        walk(memory, stream, address, length)
    elif _is_plain(memory, addresses):
        visit_in(memory, addresses, stream, address, (length + size - 1) // size)
    else:
        shift = memory.visit_shift
        while address < end:
            stop = min(end, ((address >> shift) + 1) << shift)
            visit_in(memory, addresses, stream, address, (stop - address + size - 1) // size)
            address = stop


@native
def cached_range(memory: MemoryState, address: int, length: int) -> int:
    """Offset of the range that has the whole of this memory if the data cache is on for it, else -1."""
    offset = range_lookup.find(memory, address)
    if offset < 0 or memory.data_cache == 0 or memory.film:
        return -1  # a film has each visit
    addresses = AddressRange(memory, offset)
    return offset if addresses.attribute and address + length <= addresses.high else -1


@native
def coupled_range(memory: MemoryState, address: int, length: int) -> int:
    """Offset of the range that has the whole of this memory if it is tightly coupled, else -1."""
    offset = range_lookup.find(memory, address)
    addresses = AddressRange(memory, offset)
    if offset < 0 or memory.film or not _is_plain(memory, addresses) or address + length > addresses.high:
        return -1
    return offset if RegionState(memory, addresses.region).kind == L.TCM else -1


@shared
def read_missing(memory: MemoryState, addresses: AddressRange, stream: AccessStream, address: int, n: int) -> None:
    """:func:`visit_in` for reads of a line that the data cache does not hold."""
    stall = tags.fill(memory, addresses, stream, address, n)
    RegionState(memory, addresses.region).stall += stall
    if stall:
        charge(memory, address, stall)
    memory.now += n * stream.gap + stall


@inlined
def read_held(memory: MemoryState, stream: AccessStream, hints: Words, address: int, length: int) -> None:
    """:func:`walk_in` for reads of a :func:`cached_range`, in few steps where the cache holds the lines.

    ``hints`` are offsets of :data:`LINES_HINTED` of the cache's lines that may be these ones, and are kept so.
    """
    end, size, gap, due = address + length, stream.size, stream.gap, 0
    shift, cache = memory.visit_shift, CacheState(memory, memory.data_cache)
    hint = 0
    while address < end:
        stop = min(end, ((address >> shift) + 1) << shift)
        n = (stop - address + size - 1) // size
        tag = address >> cache.line_shift
        line = CacheLine(memory, hints[hint & LINES_HINTED - 1])
        if line.tag != tag:
            line = tags.find(cache, tag)
            hints[hint & LINES_HINTED - 1] = words_between(memory, line)
        if line.tag == tag:
            replacement.hit(memory, cache, line)
            memory.hits += n
            due += n * gap
        else:
            memory.now += due
            due = 0
            read_missing(memory, AddressRange(memory, stream.range), stream, address, n)
        address = stop
        hint += 1
    memory.now += due


@inlined
def read_coupled(memory: MemoryState, stream: AccessStream, n: int) -> None:
    """``n`` reads of a :func:`coupled_range`."""
    region = RegionState(memory, AddressRange(memory, stream.range).region)
    region.reads += n
    region.read_bytes += n * stream.size
    memory.now += n * stream.gap


@native
def uncached_line(memory: MemoryState, region: RegionState, address: int, line: int, n: int) -> int:
    """Ticks of one line of code read from its memory, counted ``n`` times."""
    occupied = region.occupied
    memory.line_start = max(memory.now, region.busy_until)
    devices.line(memory, region, address, line, 0)
    region.occupied = occupied + n * (region.occupied - occupied)
    region.reads += n
    region.read_bytes += n * line
    return (memory.line_first + memory.line_last) // 2


@native
def cached_fetch(memory: MemoryState, region: RegionState, sweep: CodeSweep) -> int:
    """Instruction fetch through the I-cache; returns the stall in ticks."""
    cache = CacheState(memory, memory.code_cache)
    line = cache.line_bytes
    lines = (sweep.length + line - 1) // line
    stall = 0
    before = memory.now
    for i in range(lines):
        ticks = tags.fetch_line(memory, sweep.address + i * line)
        stall += ticks
        memory.now += ticks
    if lines > cache.sets * cache.ways:
        executed = sweep.executed - sweep.begun
        again = max(0, min(lines * (sweep.sweeps - 1), executed // line - lines))
        stall += again * uncached_line(memory, region, sweep.address, line, again)
        memory.code_misses += again
    memory.now = before
    return stall


@native
def flash_fetch(memory: MemoryState, region: RegionState, sweep: CodeSweep) -> int:
    """Instruction fetch straight from flash and its accelerator; returns the stall in ticks."""
    line, shift = 1 << region.line_shift, region.line_shift
    executed = (sweep.executed >> shift) - (sweep.begun >> shift)
    access = region.wait + region.beat
    if region.code_lines < 0:
        region.code_misses += executed
        region.reads += executed
        region.read_bytes += executed * line
        region.occupied += executed * access
        return executed * (region.wait + region.fetch_latency)
    lines = (sweep.length + line - 1) >> shift
    entered = sweep.sweeps if lines > region.code_lines else sweep.cold
    missed = min(executed, lines * entered)
    region.code_misses += missed
    region.reads += missed
    region.read_bytes += missed * line
    region.occupied += missed * access
    change, wait = region.line_change, region.wait + region.read_latency
    ahead = missed - min(missed, entered) if region.prefetches else 0
    late = max(0, access - change - (line * sweep.rate >> 16))
    return executed * change + (missed - ahead) * wait + ahead * late


@native
def fetch(memory: MemoryState, sweep: CodeSweep) -> int:
    """Instruction fetch of a kernel call; returns the stall in ticks.

    With an I-cache the first sweep fills it line by line; code larger than the cache misses on every line of every
    sweep (as under LRU and round-robin; a random replacement is taken to do no better). A flash accelerator holds lines
    likewise; with its prefetch the first line of such a sweep waits, the others take the longer of their work and of a
    read. ``line_change`` is added to every line. Without either, every line executed comes from flash. Other memories
    without a cache are :func:`count_words`'s.
    """
    offset = range_lookup.find(memory, sweep.address)
    if offset < 0:
        return 0
    addresses = AddressRange(memory, offset)
    region = RegionState(memory, addresses.region)
    through = memory.code_cache > 0 and addresses.attribute > 0
    if region.kind == L.TCM or (region.kind != L.FLASH and not through):
        return 0
    stall = cached_fetch(memory, region, sweep) if through else flash_fetch(memory, region, sweep)
    region.stall += stall
    region.fetch_stall += stall
    memory.now += stall
    if memory.film:
        film.accessed(memory, events.FETCH, sweep.address, sweep.length, stall)
    return stall


def word_by_word(memory: MemoryState, address: int) -> RegionState | None:
    """The memory from which code there comes word by word, past all caches, that is no flash; None where there is
    none."""
    find: Any = range_lookup.find  # a root is handed to native code as its array
    offset = int(find(memory.array, address))
    if offset < 0 or (memory.code_cache > 0 and AddressRange(memory, offset).attribute > 0):
        return None
    region = RegionState(memory, AddressRange(memory, offset).region)
    return None if region.kind in (L.TCM, L.FLASH) else region


def word_ticks(memory: MemoryState, region: RegionState) -> tuple[int, int]:
    """Ticks that code waits for a word of the region, and those more for one that does not follow the last.

    Not modelled: rows of an SDRAM, which code seldom leaves.
    """
    size = 1 << memory.bus_shift
    if region.kind == L.QSPI:
        return size * region.beat + region.read_overhead, region.command + region.cs_high
    if region.kind == L.SDRAM:
        beats = max(1, size >> region.width_shift)
        return region.read_overhead + region.t_cl + beats * region.t_clk, 0
    return region.fetch_latency, 0


def stream_of(memory: MemoryState, size: int, write: int = 0, gap: int = 0, interleaved: int = 0) -> AccessStream:
    """The stream for accesses that have none of their own; for Python."""
    stream = memory.other_stream
    stream.size, stream.write, stream.gap, stream.interleaved = size, write, gap, interleaved
    return stream


def count_words(memory: MemoryState, region: RegionState, words: int) -> None:
    """``words`` of code were read from the region."""
    region.reads += words
    region.read_bytes += words << memory.bus_shift


@native
def sync(memory: MemoryState, now: int, first: int, count: int) -> None:
    """Set the clock to ``now``; what a task simulated ahead of others left in the future is set back to now.

    Not so in memories that a DMA transfer in flight touches: it runs at its own time, and what it left is in progress.
    """
    memory.now = now
    for i in range(count):
        region = RegionStates(memory, first).records[i]
        if region.transfers:
            continue
        region.busy_until = min(region.busy_until, now)
        region.last_write = min(region.last_write, now)
        if region.t_refi > 0 and region.next_refresh > now + region.t_refi:
            region.next_refresh = now + region.t_refi
        for bank in range(region.banks):
            region.activated[bank] = min(region.activated[bank], now)

"""The one access path: every load, store and fetch of a simulated machine goes through these functions.

They are numba functions over the state array of :mod:`mcusim.memory.state_layout`; kernels' streams call ``walk``
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
from mcusim.memory.operand_stalls import charge
from mcusim.memory.state_layout import AddressRange, CacheLine, CacheState, MemoryState, RegionState, RegionStates
from mcusim.native.compile import inlined, native, shared
from mcusim.native.structs import Words, words_between


@inlined
def visit_in(
    memory: MemoryState, addresses: AddressRange, address: int, n: int, size: int, write: int, gap: int, inter: int
) -> int:
    """:func:`visit` of an address in ``addresses``."""
    region = RegionState(memory, addresses.region)
    if addresses.attribute > 0 and memory.data_cache > 0:
        stall = tags.access(memory, addresses, address, n, size, write, gap)
    else:
        if write:
            region.writes += n
            region.write_bytes += n * size
        else:
            region.reads += n
            region.read_bytes += n * size
        stall = devices.run(memory, region, address, n, size, write, gap, inter)
    region.stall += stall
    if stall:
        charge(memory, address, stall)
    memory.now += n * gap + stall
    if memory.film:
        film.accessed(memory, events.STORE if write else events.LOAD, address, size, n, stall, n * gap + stall)
    return stall


@native
def visit(memory: MemoryState, address: int, n: int, size: int, write: int, gap: int, inter: int) -> int:
    """``n`` accesses of ``size`` bytes ascending from ``address`` in one 32-byte line, ``gap`` ticks of work each.

    Advances the clock by the work and the stall and returns the stall in ticks. An address outside every region
    counts as free: the engine has checked all operands before.
    """
    offset = range_lookup.find(memory, address)
    if offset < 0:
        memory.now += n * gap
        return 0
    addresses = AddressRange(memory, offset)
    return visit_in(memory, addresses, address, n, size, write, gap, inter)


@inlined
def _is_plain(memory: MemoryState, addresses: AddressRange) -> int:
    """Are the addresses of memory that has no state, uncached."""
    if addresses.attribute > 0 and memory.data_cache > 0:
        return 0
    return int(RegionState(memory, addresses.region).kind <= L.SRAM)


@shared
def walk(memory: MemoryState, address: int, length: int, size: int, write: int, gap: int, inter: int) -> None:
    """Accesses of ``size`` bytes over a contiguous range, split into visits."""
    end = address + length
    shift = memory.visit_shift
    offset = range_lookup.find(memory, address)
    addresses = AddressRange(memory, offset)
    if offset >= 0 and _is_plain(memory, addresses) and end <= addresses.high:
        visit_in(memory, addresses, address, (length + size - 1) // size, size, write, gap, inter)  # no state: one step
        return
    while address < end:
        stop = min(end, ((address >> shift) + 1) << shift)
        n = (stop - address + size - 1) // size
        if offset < 0 or address >= addresses.high:
            offset = range_lookup.find(memory, address)
            addresses = AddressRange(memory, offset)
        if offset < 0:
            memory.now += n * gap
        else:
            visit_in(memory, addresses, address, n, size, write, gap, inter)
        address = stop


@shared
def walk_in(
    memory: MemoryState, offset: int, address: int, length: int, size: int, write: int, gap: int, inter: int
) -> None:
    """:func:`walk` where a loop spends most of its time; ``offset`` is that of the range of its first address, or of
    another one, or -1."""
    end = address + length
    addresses = AddressRange(memory, offset)
    if offset < 0 or address < addresses.low or end > addresses.high:
        walk(memory, address, length, size, write, gap, inter)
    elif _is_plain(memory, addresses):
        visit_in(memory, addresses, address, (length + size - 1) // size, size, write, gap, inter)
    else:
        shift = memory.visit_shift
        while address < end:
            stop = min(end, ((address >> shift) + 1) << shift)
            visit_in(memory, addresses, address, (stop - address + size - 1) // size, size, write, gap, inter)
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
def read_missing(memory: MemoryState, addresses: AddressRange, address: int, n: int, gap: int) -> None:
    """:func:`visit_in` for reads of a line that the data cache does not hold."""
    stall = tags.fill(memory, addresses, address, n, 0, gap)
    RegionState(memory, addresses.region).stall += stall
    if stall:
        charge(memory, address, stall)
    memory.now += n * gap + stall


@inlined
def read_held(
    memory: MemoryState, hints: Words, offset: int, address: int, length: int, size: int, gap: int, due: int
) -> int:
    """:func:`walk_in` for reads of a :func:`cached_range`, in few steps where the cache holds the lines.

    ``hints`` are offsets of the cache's lines that may be these ones, and are kept so. The clock is ``due``
    ticks late; returns how late it is then. Only a miss wants to know what time it is.
    """
    end = address + length
    shift, cache = memory.visit_shift, CacheState(memory, memory.data_cache)
    hint = 0
    while address < end:
        stop = min(end, ((address >> shift) + 1) << shift)
        n = (stop - address + size - 1) // size
        tag = address >> cache.line_shift
        line = CacheLine(memory, hints[hint])
        if line.tag != tag:
            line = tags.find(cache, tag)
            hints[hint] = words_between(memory, line)
        if line.tag == tag:
            replacement.hit(memory, cache, line)
            memory.hits += n
            due += n * gap
        else:
            memory.now += due
            due = 0
            read_missing(memory, AddressRange(memory, offset), address, n, gap)
        address = stop
        hint += 1
    return due


@inlined
def read_coupled(memory: MemoryState, offset: int, n: int, size: int, gap: int) -> int:
    """``n`` reads of a :func:`coupled_range`; returns the ticks of work that the clock is late by them."""
    region = RegionState(memory, AddressRange(memory, offset).region)
    region.reads += n
    region.read_bytes += n * size
    return n * gap


@native
def uncached_line(memory: MemoryState, region: RegionState, address: int, line: int, n: int) -> int:
    """Ticks of one line of code read from its memory, counted ``n`` times."""
    occupied = region.occupied
    first, last = devices.line(memory, region, address, line, 0, max(memory.now, region.busy_until))
    region.occupied = occupied + n * (region.occupied - occupied)
    region.reads += n
    region.read_bytes += n * line
    return (first + last) // 2


@native
def cached_fetch(
    memory: MemoryState, region: RegionState, address: int, length: int, sweeps: int, executed: int
) -> int:
    """Instruction fetch through the I-cache; returns the stall in ticks."""
    cache = CacheState(memory, memory.code_cache)
    line = cache.line_bytes
    lines = (length + line - 1) // line
    stall = 0
    before = memory.now
    for i in range(lines):
        ticks = tags.fetch_line(memory, address + i * line)
        stall += ticks
        memory.now += ticks
    if lines > cache.sets * cache.ways:
        again = max(0, min(lines * (sweeps - 1), executed // line - lines))
        stall += again * uncached_line(memory, region, address, line, again)
        memory.code_misses += again
    memory.now = before
    return stall


@native
def flash_fetch(
    memory: MemoryState, region: RegionState, address: int, length: int, sweeps: int, cold: int, run: int, rate: int
) -> int:
    """Instruction fetch of ``run`` lines straight from flash and its accelerator; returns the stall in ticks."""
    line = 1 << region.line_shift
    if region.code_lines < 0:
        region.code_misses += run
        return run * uncached_line(memory, region, address, line, run)
    lines = (length + line - 1) >> region.line_shift
    entered = sweeps if lines > region.code_lines else cold
    missed = min(run, lines * entered)
    access = region.wait + region.beat
    region.code_misses += missed
    region.reads += missed
    region.read_bytes += missed * line
    region.occupied += missed * access
    change, wait = region.line_change, region.wait + region.read_latency
    ahead = missed - min(missed, entered) if region.prefetches else 0
    late = max(0, access - change - (line * rate >> 16))
    return run * change + (missed - ahead) * wait + ahead * late


@native
def fetch(
    memory: MemoryState, address: int, length: int, sweeps: int, cold: int, begun: int, executed: int, rate: int
) -> int:
    """Instruction fetch of a kernel call; returns the stall in ticks.

    ``length`` of code are swept ``sweeps`` times; the call executes the code bytes from ``begun`` to ``executed`` of
    its operator (the fetches of its tiles then sum to the operator's), ``rate`` / 65,536 ticks each; ``cold`` says that
    the operator starts.

    With an I-cache the first sweep fills it line by line; code larger than the cache misses on every line of every
    sweep (as under LRU and round-robin; a random replacement is taken to do no better). A flash accelerator holds lines
    likewise; with its prefetch the first line of such a sweep waits, the others take the longer of their work and of a
    read. ``line_change`` is added to every line. Without either, every line executed comes from flash. Other memories
    without a cache are :func:`count_words`'s.
    """
    offset = range_lookup.find(memory, address)
    if offset < 0:
        return 0
    addresses = AddressRange(memory, offset)
    region = RegionState(memory, addresses.region)
    through = memory.code_cache > 0 and addresses.attribute > 0
    if region.kind == L.TCM or (region.kind != L.FLASH and not through):
        return 0
    if through:
        stall = cached_fetch(memory, region, address, length, sweeps, executed - begun)
    else:
        run = (executed >> region.line_shift) - (begun >> region.line_shift)
        stall = flash_fetch(memory, region, address, length, sweeps, cold, run, rate)
    region.stall += stall
    region.fetch_stall += stall
    memory.now += stall
    if memory.film:
        film.accessed(memory, events.FETCH, address, length, 1, stall, stall)
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
    return region.read_latency, 0


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

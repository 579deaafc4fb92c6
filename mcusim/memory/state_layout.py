"""The layout of the one int64 state array that the native memory functions share.

The array is: a header (with the DMA controllers and the transfers in flight), one block per region (parameters,
counters, dynamic state; a second one where the aliases are a port of their own), the address ranges that map to the
blocks, the accelerators' lines, the tag arrays of the caches, and room for the ranges of a running program. Times in it
are *ticks*: ``TICK`` of them make a core cycle, so that a 108 MHz memory next to a 200 MHz core keeps its ratio to half
a tick a clock.

Each struct's fields lie in the order of the lines below (:mod:`mcusim.native.structs`).
"""

from __future__ import annotations

from typing import Annotated

from mcusim.memory.cache.violations import ViolationLog
from mcusim.memory.film.events import FilmState
from mcusim.memory.race_detector.layout import WatchState
from mcusim.native.structs import POINTER, Struct, Structs, Words

TICK = 256  # ticks per core cycle
VISIT = 32  # bytes: no visit crosses such a line, the granule of the replayed streams (less under a shorter cache line)
WORD = 3  # log2 of the bytes of a word of a linefill
NEVER = 1 << 61  # a time that does not come
RECENT_RANGES = 64  # range records remembered, by a hash of the address
RECENT_LINES = 64  # lines of the data cache remembered, by the lowest bits of their numbers
MAX_CONTROLLERS = 8
MAX_TRANSFERS = 64
MAX_OPERANDS = 32
MAX_RANGES = 256
MAX_BANKS = 16
MAX_COLUMNS = 16  # lines of a read FIFO
BUCKETS = 256  # of the instruction lines of an accelerator


class LinefillBuffer(Struct):
    """A line on its way into a cache. ``line``: its number, -1 none; ``word_ticks``: from word to word."""

    line: int
    first_word: int
    first_arrival: int
    word_ticks: int
    last_arrival: int


class DmaPort(Struct):
    """Of a DMA controller: when its next access to a memory begins, when it is free, the slot served last."""

    next_access: int
    free: int
    last_slot: int


class DmaController(Struct):
    """The port that reads (ST: the peripheral port), and the one that writes."""

    reading: DmaPort
    writing: DmaPort


class TransferState(Struct):
    """A DMA transfer: what it is, how far its reads and its writes have come, its FIFO."""

    state: int  # IDLE, ACTIVE, DONE, REPORTED
    controller: int
    priority: int
    begin: int
    # ticks of each port before its access to a memory, of a bus clock
    before_read: int
    before_write: int
    bus_clock: int
    # bytes of a beat, of a burst, of its FIFO, and how many there are when it is emptied
    beat: int
    burst: int
    fifo_size: int
    threshold: int
    shares: int  # a bit for each block that it touches
    # of the port that writes: bytes of a beat and of a burst; do addresses move on (0: they stay)
    write_beat: int
    write_burst: int
    source_moves: int
    target_moves: int
    # reads: next address, bytes to come, of these in the line of the memory, that memory's block, line of a flash read
    # last
    read_address: int
    unread: int
    unread_in_line: int
    source: int
    last_line: int
    # writes: where their bytes come from, next address, bytes to come, of these in the lines of both, the target's
    # block
    write_source: int
    write_address: int
    unwritten: int
    unwritten_in_line: int
    target: int
    # FIFO: bytes in it, those of them to be written now and from when, since when there is room for a read (NEVER:
    # there is none); bytes and end of the last read and of the last write
    fifo_level: int
    to_drain: int
    drain_from: int
    room_since: int
    last_read: int
    read_end: int
    last_write: int
    write_end: int
    # when the transfer ended, and when it lets go of its memories
    end: int
    release: int
    # where its next bytes are on the host: in memory at both ends, as the core sees the target (0: no data)
    source_memory: int
    target_memory: int
    target_view: int
    # for the sanitizer the writers of those and of what the core sees of the source, the writers it should find, and
    # its own number as one
    source_stored: int
    target_stored: int
    source_seen: int
    target_seen: int
    source_meant: int
    code: int


IDLE, ACTIVE, DONE, REPORTED = range(4)
"""States of a transfer: slot free; under way; all beats made, its end not reported yet; reported."""


class OperandRange(Struct):
    """Of the running kernel call: first address, end, ticks of stall."""

    low: int
    high: int
    stall: int


class AccessStream(Struct):
    """Accesses of one kind: bytes of each, whether they are stores, ticks of core work with each, whether those of
    other streams come in between; ``range``: the offset of the addresses that they are in, or were, -1: not known."""

    size: int
    write: int
    gap: int
    interleaved: int
    range: int


class CodeSweep(Struct):
    """Code of a kernel call: ``length`` bytes swept ``sweeps`` times; the call executes the code bytes from ``begun``
    to ``executed`` of its operator (the fetches of its tiles then sum to the operator's), ``rate`` / 65,536 ticks each;
    ``cold``: the operator starts."""

    address: int
    length: int
    sweeps: int
    cold: int
    begun: int
    executed: int
    rate: int


class RegionState(Struct):
    """A region's block: parameters, state and counters of its device. Times in ticks."""

    kind: int  # TCM, SRAM, FLASH, SDRAM, QSPI
    read_latency: int
    fetch_latency: int  # of code past the caches
    write_latency: int
    beat: int
    width_shift: int  # log2 of the bytes of a beat
    dma_latency: int  # of a DMA's read
    arbitration: int  # in the bus matrix, of the first of a core's reads back to back
    line_shift: int  # log2 of the bytes of a flash line
    wait: int
    data_lines: int
    code_lines: int
    line_change: int
    data_ways: int
    code_ways: int
    write_fifo: int
    read_overhead: int
    write_overhead: int
    t_cl: int
    t_rcd: int
    t_rp: int
    t_rc: int
    t_ras: int
    t_wr: int
    t_clk: int
    t_refi: int
    # read FIFO: its lines, columns read during the CAS latency (0: it is off), those of a row less one
    read_fifo: int
    columns_ahead: int
    column_mask: int
    banks: int
    row_shift: int
    row_mask: int
    bank_shift: int
    # QSPI: ticks of a command, between two
    command: int
    cs_high: int
    # state
    busy_until: int
    next_refresh: int
    latched_line: int  # of a flash without an accelerator
    next_address: int  # of a QSPI, in sequence
    last_write_bank: int  # of an SDRAM
    last_write: int
    data_line_store: int  # offset of the accelerator's data lines
    open_row: Annotated[Words, MAX_BANKS]  # per bank, -1 closed
    activated: Annotated[Words, MAX_BANKS]  # time of the last ACTIVATE per bank
    columns_held: int
    columns: Annotated[Words, MAX_COLUMNS]  # in the read FIFO
    # counters: accesses, bytes, ticks the device was occupied, ticks the core stalled
    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    occupied: int
    stall: int
    row_misses: int
    refreshes: int
    data_hits: int
    data_misses: int
    code_misses: int
    # of the emulated core: lines of code it came to, ticks it stalled for them, in the accelerator, by its prefetch
    fetches: int
    fetch_stall: int
    code_hits: int
    prefetch_hits: int
    # of transfers in flight: ticks of the core's stall while a beat held the memory, bytes of beats
    waited: int
    dma_read_bytes: int
    dma_write_bytes: int
    spared: int  # ticks that reads would have taken longer without the read FIFO
    # accelerator: offset of its instruction lines, do data reads share them, does it prefetch, keep what it prefetched,
    # end one for a miss; line the core is in, line prefetched, when it is there, count of look-ups
    code_line_store: int
    unified: int
    prefetches: int
    keeps_prefetched: int
    cancels_prefetch: int
    current_line: int
    prefetched_line: int
    prefetch_ready: int
    lookups: int
    # transfers that touch the region; a beat holds it since, until; an access of the core holds it until
    transfers: int
    held_since: int
    held_until: int
    taken_until: int
    # a flash that is being programmed or erased: which bits of an address count, from where to where it cannot be read,
    # and until when (``transfers`` counts the operation)
    program_mask: int
    program_low: int
    program_high: int
    program_until: int


class RegionStates(Struct):
    """One behind another."""

    records: Annotated[Structs[RegionState], 0]


class RoundState(Struct):
    """How all is that a transfer alone depends on: the moment, from when on the port that reads is free, the transfer,
    the blocks of source and target."""

    now: int
    reading_free: int
    transfer: TransferState
    source: RegionState
    target: RegionState


class MemoryState(Struct, root=True):
    """The header of the array."""

    now: int
    ranges: int
    first_range: int
    # offsets of the caches, 0: none, or switched off
    data_cache: int
    code_cache: int
    hits: int
    misses: int
    writebacks: int
    code_hits: int
    code_misses: int
    seed: int  # of a random replacement
    visit_shift: int  # log2 of the bytes of a visit
    # of the emulated core: log2 of the bytes its bus moves at once, the caches' offsets whether they are on or off, the
    # room for its ranges
    bus_shift: int
    data_cache_block: int
    code_cache_block: int
    room: int
    # the code that costs nothing now: from, to, its region's block, the counter of its hits
    free_code_low: int
    free_code_high: int
    free_code_region: int
    free_code_counter: int
    # where the last block ended, when the core came to its last line, where a hit is counted that nobody asks for
    code_end: int
    code_since: int
    uncounted: int
    # the block fetched last, if all its lines were there: fetching it again changes nothing but the counts
    last_block: int
    last_block_size: int
    last_block_lines: int
    # of the transfers in flight: when the next half of a beat begins, when the next region is no longer shared, slots
    # in use, up to when the engine has asked for all beats
    next_beat: int
    next_release: int
    slots: int
    beats_asked: int
    # of the sanitizer: its violations (0: off), the core's task, the stack from where to where
    violations: Annotated[ViolationLog, POINTER]
    task: int
    stack_low: int
    stack_high: int
    watch: Annotated[WatchState, POINTER]  # what watching a firmware needs, 0: off
    # of lines apart from what the core gets (mcusim.memory.cache.apart): the cache is off and has some; where the host
    # keeps their bytes then (0: nowhere); 1: dirty ones, 2: flash has changed behind some
    aside: int
    aside_room: int
    apart: int
    film: Annotated[FilmState, POINTER]  # 0: none is taken
    operand_count: int  # in use, of the running kernel call
    other_stream: AccessStream  # of an access that belongs to none
    # of a line that is moved: from when on, ticks until its first word and until its last
    line_start: int
    line_first: int
    line_last: int
    # when the last word of every fill under way is there, and the linefill buffers
    filled: int
    data_fills: Annotated[Structs[LinefillBuffer], 2]
    code_fill: LinefillBuffer
    recent_ranges: Annotated[Words, RECENT_RANGES]  # offsets of range records last looked up
    recent_lines: Annotated[Words, RECENT_LINES]  # offsets of lines of the data cache last looked up, by their number
    controllers: Annotated[Structs[DmaController], MAX_CONTROLLERS]
    transfers: Annotated[Structs[TransferState], MAX_TRANSFERS]
    lone_transfer: TransferState  # one that nobody disturbs
    # a round of it (mcusim.memory.dma.rounds): what is known of it, how all was at its begin and at its end
    round_known: int
    round_begin: RoundState
    round_end: RoundState
    operands: Annotated[Structs[OperandRange], MAX_OPERANDS]


class AddressRange(Struct):
    """Addresses that map to one region's block."""

    low: int
    high: int
    region: int
    attribute: int  # 0 uncached, 1 write-through, 2 write-back
    flags: int
    # where the host has the byte of guest address 0 as the core sees it and in memory (0: nowhere), and its writer (two
    # bytes each) as seen, in memory, and as the program means it
    core_view: int
    memory: int
    seen: int
    stored: int
    meant: int
    # of a watched firmware: the instruction that last stored to each word, the exception whose handler did to each
    # byte, a byte of flags for each line of 32 (from that of address 0 on; 0: no cache)
    stores: int
    handled: int
    lines: int


class AddressRanges(Struct):
    """By address."""

    records: Annotated[Structs[AddressRange], 0]


DEVICE, EXECUTE, READ, WRITE, ALLOCATE, FREE, UNLESS_SHARED, WATCHED, PROGRAMS = 1, 2, 4, 8, 16, 32, 64, 128, 256
"""Flags of a range. ALLOCATE: a write miss of write-back memory fills a line; FREE: no access ever waits;
UNLESS_SHARED: none would if no transfer in flight touched the region; WATCHED: the first access is noted; PROGRAMS:
stores may go to the controller of the flash."""


class CacheLine(Struct):
    """``tag``: line number, -1: the way is empty; ``age``: as the replacement policy means it, -1: the way is empty."""

    tag: int
    age: int
    dirty: int


class CacheState(Struct):
    """Geometry, the replacement policy's number and a clock for it; its lines, set by set."""

    sets: int
    ways: int
    line_bytes: int
    line_shift: int
    replacement: int
    write_back: int
    clock: int
    lines: Annotated[Structs[CacheLine], 0]


class FlashLine(Struct):
    """An instruction line of an accelerator: its number (-1 empty), its age, the next one of its bucket (-1: none)."""

    tag: int
    age: int
    next: int


class CodeLines(Struct):
    """The instruction lines of an accelerator, set by set, behind the index of the first line of each hash bucket (-1:
    it is empty)."""

    first: Annotated[Words, BUCKETS]
    lines: Annotated[Structs[FlashLine], 0]


FIRST_BLOCK = MemoryState.WORDS  # where the memories' blocks begin
LAST_TICK = 1 << 60  # leaves room below 2**63 for the task that passes it
TCM, SRAM, FLASH, SDRAM, QSPI = range(5)
ATTRIBUTES = {"device": 0, "uncached": 0, "write-through": 1, "write-back": 2}

"""The structs that watching a firmware's run needs; ``memory.watch`` points at them, it is 0 while nobody watches.

A writer is 16 bits: 0 is who wrote before the run, up to ``MOST_CODES`` a DMA transfer, from ``BY_CORE`` on the core,
with ``BY_HANDLER`` one of its handlers; the low bits of the core's count its turns, as they were then. A *turn* is the
time between two changes of the core's context, or between two operations on its data cache.
"""

from __future__ import annotations

from typing import Annotated

from mcusim.native.structs import Struct, Structs, Words

MOST_REPORTS = 400
MOST_CODES = 0x4000
BY_CORE, BY_HANDLER, TURN = 0x8000, 0x4000, 0x3FFF
MOST_OPEN, MOST_TARGETS, LOOK_BACK = 24, 24, 8
MOST_WORDS, MOST_GUARDS, MOST_STORES, MOST_LOADED = 4096, 40, 4, 64
CALLERS = 6
EXCEPTIONS = 288
FROM_PROGRAM = -1  # an interrupt that the program sets pending itself
CACHE_LINE = 5  # log2 of the bytes that a word of a range's ``lines`` is for

# of each line: which bytes the DMA has written since it was last invalidated, a bit each; the core has written to it
# since it was last cleaned
FRESH, UNCLEAN = 0xFFFF_FFFF, 1 << 32

# kinds of reports: the core loads what is not the newest; may do so (no line was held, none was invalidated); the DMA
# reads so, or may; it writes to a line that is dirty, or may be; the core loads the target of a transfer, stores to its
# source, to its target before it knows of its end; it loads on past the end of what was transferred; a handler's store
# is lost; it is, unless the handler's value is a constant
(STALE, MAYBE_STALE, UNCLEANED, MAYBE_UNCLEANED, DIRTY, MAYBE_DIRTY, EARLY, SOURCE_WRITTEN, TARGET_WRITTEN, SHORT,
 RACE, MAYBE_RACE) = range(12)  # fmt: skip


class RaceReport(Struct):
    """Instruction and transfer, first byte and end, who should have written what was read, who has as the core sees it
    and in memory, state of the line (0 not held, 1 clean, 2 dirty; of a race the handler's record), tick, an
    instruction or index that goes with it, exception that ran."""

    kind: int
    pc: int
    code: int
    low: int
    high: int
    wanted: int
    seen: int
    stored: int
    held: int
    now: int
    other: int
    exception: int
    times: int
    callers: Annotated[Words, CALLERS]  # where the core's calls go back to, the last one first; 0: no more


class OpenTransfer(Struct):
    """A transfer whose end the program does not know of: its number (0: no record), ticks of its beginning, bytes that
    the hardware says are there, that the program knows of, in which turn (0: the main program), its exception."""

    code: int
    source: int
    source_end: int
    target: int
    target_end: int
    begin: int
    arrived: int
    known: int
    turn: int
    exception: int


class LastTarget(Struct):
    """The last transfer to an address: its end, the end of the variable it is in, its number."""

    low: int
    end: int
    limit: int
    code: int


class RecentLoad(Struct):
    """Not of the main stack; ``count``: instructions before it; by which exception (0: the main program)."""

    address: int
    size: int
    pc: int
    count: int
    value: int
    exception: int
    now: int


class GuardWord(Struct):
    """A word of the main program's, and the value that a handler has always loaded of it."""

    word: int
    value: int


class HandlerWord(Struct):
    """What a handler stores to: the word (0: no record), the exception, the address; size and value, whether these are
    always so, whether it never loads the word before, by which instructions; which words of the main program's it had
    loaded then, each with the same value."""

    word: int
    exception: int
    address: int
    size: int
    value: int
    same: int
    blind: int
    guard_count: int
    store_count: int
    stores: Annotated[Words, MOST_STORES]
    guards: Annotated[Structs[GuardWord], MOST_GUARDS]


class HandlerLoad(Struct):
    """A word that the handler which runs has loaded; ``of_program``: the main program wrote it."""

    word: int
    value: int
    of_program: int


class WatchState(Struct, root=True):
    """Of a watched run."""

    report_count: int
    lost: int
    exceptions: int  # address of the exceptions' state
    # the turn, the writer that the core is in it, the exception that runs (0: none) and since when, up to which turn
    # the main program knows what handlers did
    turn: int
    writer: int
    exception: int
    since: int
    known_turn: int
    # instructions of handlers so far, of all at the turn's beginning
    handler_instructions: int
    turn_instructions: int
    slept: int  # ticks that the core had slept when the main program last learned of a wake-up
    started: int
    open_count: int
    target_count: int
    # what is asked about: the index of a load, the address and the instruction of a store
    asked_load: int
    asked_address: int
    asked_pc: int
    # the last loads of the main program, and those of handlers: where the next one goes, and the loads
    next_load: Annotated[Words, 2]
    loads: Annotated[Structs[RecentLoad], 2 * LOOK_BACK]
    handler_load_count: int
    handler_loads: Annotated[Structs[HandlerLoad], MOST_LOADED]  # the first ones
    handler_words: Annotated[Structs[HandlerWord], MOST_WORDS]
    frame: int  # the last one on a stack other than the main one
    frame_end: int
    open_transfers: Annotated[Structs[OpenTransfer], MOST_OPEN]
    targets: Annotated[Structs[LastTarget], MOST_TARGETS]
    of_dma: Annotated[Words, EXCEPTIONS]  # whether the exception is a DMA stream's
    # since which tick no block lets an event request the exception; 0: some does, or none is known; FROM_PROGRAM: it
    # came all the same
    off_since: Annotated[Words, EXCEPTIONS]
    # by a transfer's number: the instruction that started it, first byte and end of source and target
    sites: Annotated[Words, MOST_CODES]
    sources: Annotated[Words, MOST_CODES]
    source_ends: Annotated[Words, MOST_CODES]
    target_lows: Annotated[Words, MOST_CODES]
    target_ends: Annotated[Words, MOST_CODES]
    reports: Annotated[Structs[RaceReport], MOST_REPORTS]
    draft: RaceReport  # the one that is being made

"""Slots of the array that watching a firmware's run needs; ``s[WATCH]`` has its address, 0 while nobody watches.

A writer is 16 bits: 0 is who wrote before the run, up to ``MOST_CODES`` a DMA transfer, from ``BY_CORE`` on the core,
with ``BY_HANDLER`` one of its handlers; the low bits of the core's count its turns, as they were then. A *turn* is the
time between two changes of the core's context, or between two operations on its data cache.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native
from mcusim.native.records import Record

MOST_REPORTS = 400
MOST_CODES = 0x4000
BY_CORE, BY_HANDLER, TURN = 0x8000, 0x4000, 0x3FFF
MOST_OPEN, MOST_TARGETS, LOOK_BACK = 24, 24, 8
MOST_WORDS, MOST_GUARDS, MOST_STORES, MOST_LOADED = 4096, 40, 4, 64
CALLERS = 6
PLACES = 288  # of exceptions
FROM_PROGRAM = -1  # an interrupt that the program sets pending itself
CACHE_LINE = 5  # log2 of the bytes that a word of LINES is for

# of each line: which bytes the DMA has written since it was last invalidated, a bit each; the core has written to it
# since it was last cleaned
FRESH, UNCLEAN = 0xFFFF_FFFF, 1 << 32

# what is reported: kind, instruction and transfer, first byte and end, who should have written what was read, who has
# as the core sees it and in memory, state of the line (0 not held, 1 clean, 2 dirty), tick, an instruction or place
# that goes with it, exception that ran, times
report = Record("report")
R_KIND, R_PC, R_CODE, R_LOW, R_HIGH = report.fields("R_KIND", "R_PC", "R_CODE", "R_LOW", "R_HIGH")
R_WANTED, R_SEEN, R_STORED, R_HELD = report.fields("R_WANTED", "R_SEEN", "R_STORED", "R_HELD")
R_NOW, R_OTHER, R_PLACE, R_TIMES = report.fields("R_NOW", "R_OTHER", "R_PLACE", "R_TIMES")
R_CALLERS = report.array("R_CALLERS", CALLERS)  # where the core's calls go back to, the last one first; 0: no more
REPORT = report.freeze()
# kinds: the core loads what is not the newest; may do so (no line was held, none was invalidated); the DMA reads so, or
# may; it writes to a line that is dirty, or may be; the core loads the target of a transfer, stores to its source, to
# its target before it knows of its end; it loads on past the end of what was transferred; a handler's store is lost; it
# is, unless the handler's value is a constant
(STALE, MAYBE_STALE, UNCLEANED, MAYBE_UNCLEANED, DIRTY, MAYBE_DIRTY, EARLY, SOURCE_WRITTEN, TARGET_WRITTEN, SHORT,
 RACE, MAYBE_RACE) = range(12)  # fmt: skip

# a transfer whose end the program does not know of: its number (0: no record), source, target, ticks of its beginning,
# bytes that the hardware says are there, that the program has been told of, in which turn (0: the main program was),
# the place of its exception
open_transfer = Record("open transfer")
O_CODE, O_SOURCE, O_SOURCE_END, O_TARGET, O_TARGET_END = open_transfer.fields(
    "O_CODE", "O_SOURCE", "O_SOURCE_END", "O_TARGET", "O_TARGET_END"
)
O_BEGIN, O_THERE, O_TOLD, O_TURN, O_PLACE = open_transfer.fields("O_BEGIN", "O_THERE", "O_TOLD", "O_TURN", "O_PLACE")
OPEN = open_transfer.freeze()

# the last transfer to a place: its end, the end of the variable it is in, its number
target = Record("target")
T_LOW, T_END, T_LIMIT, T_CODE = target.fields("T_LOW", "T_END", "T_LIMIT", "T_CODE")
TARGET = target.freeze()

load = Record("load")  # not of the main stack; by which exception (0: the main program), at which tick
B_ADDRESS, B_SIZE, B_PC, B_COUNT, B_VALUE, B_PLACE, B_NOW = load.fields(
    "B_ADDRESS", "B_SIZE", "B_PC", "B_COUNT", "B_VALUE", "B_PLACE", "B_NOW"
)
LOAD = load.freeze()

# what a handler stores to: the word (0: no record), the exception, the address; size and value, whether these are
# always so, whether it never loads the word before, by which instructions; which words of the main program's it had
# loaded then, each with the same value
handled = Record("word of a handler")
H_WORD, H_PLACE, H_ADDRESS, H_SIZE, H_VALUE, H_SAME, H_BLIND, H_GUARDS = handled.fields(
    "H_WORD", "H_PLACE", "H_ADDRESS", "H_SIZE", "H_VALUE", "H_SAME", "H_BLIND", "H_GUARDS"
)
H_STORES, H_STORE = handled.field("H_STORES"), handled.array("H_STORE", MOST_STORES)
H_GUARD = handled.array("H_GUARD", 2 * MOST_GUARDS)
HANDLED = handled.freeze()

watch = Record("watch")
COUNT, LOST = watch.fields("COUNT", "LOST")
EXCEPTIONS = watch.field("EXCEPTIONS")  # address of the exceptions' state
# the turn, the writer that the core is in it, the exception that runs (0: none) and since when, up to which turn the
# main program knows what handlers did
NOW_TURN, CODE, PLACE, SINCE, KNOWN = watch.fields("NOW_TURN", "CODE", "PLACE", "SINCE", "KNOWN")
OTHERS, ENTERED = watch.fields("OTHERS", "ENTERED")  # instructions of handlers so far, of all at the turn's beginning
SLEPT = watch.field("SLEPT")  # ticks that the core had slept when the main program was last told of a wake-up
STARTED, RUNNING, TARGETS_USED = watch.fields("STARTED", "RUNNING", "TARGETS_USED")
ASKED_LOAD, ASKED_ADDRESS, ASKED_PC = watch.fields("ASKED_LOAD", "ASKED_ADDRESS", "ASKED_PC")  # a load's record
# the last loads of the main program, and those of handlers: where the next one goes, and the loads
LOADS_AT, LOADS = watch.array("LOADS_AT", 2), watch.array("LOADS", 2 * LOOK_BACK * LOAD)
# words that the handler which runs has loaded (address, value, whether the main program's), the first of them
LOADED, LOADS_OF_HANDLER = watch.field("LOADED"), watch.array("LOADS_OF_HANDLER", 3 * MOST_LOADED)
WORDS = watch.array("WORDS", MOST_WORDS * HANDLED)
FRAME, FRAME_END = watch.fields("FRAME", "FRAME_END")  # the last one on a stack other than the main one
OPENS = watch.array("OPENS", MOST_OPEN * OPEN)
TARGETS = watch.array("TARGETS", MOST_TARGETS * TARGET)
OF_DMA = watch.array("OF_DMA", PLACES)  # whether the exception is a DMA stream's
# since which tick no block lets an event request it; 0: some does, or none is known; FROM_PROGRAM: it came all the same
OFF = watch.array("OFF", PLACES)
# by a transfer's number: the instruction that started it, first byte and end of source and target
SITES = watch.array("SITES", MOST_CODES)
SOURCES, SOURCE_ENDS = watch.array("SOURCES", MOST_CODES), watch.array("SOURCE_ENDS", MOST_CODES)
TARGET_LOWS, TARGET_ENDS = watch.array("TARGET_LOWS", MOST_CODES), watch.array("TARGET_ENDS", MOST_CODES)
REPORTS = watch.array("REPORTS", MOST_REPORTS * REPORT)
WATCH = watch.freeze()


@native
def word(s: State, slot: int) -> int:
    """What a slot has."""
    return host.get64(s[L.WATCH] + 8 * slot)


@native
def put(s: State, slot: int, value: int) -> None:
    """Set a slot."""
    host.put64(s[L.WATCH] + 8 * slot, value)


@native
def next_turn(s: State, handler: int) -> None:
    """The core's next turn begins."""
    turn = word(s, NOW_TURN) + 1
    put(s, NOW_TURN, turn)
    code = BY_CORE | (BY_HANDLER if handler else 0) | (turn & TURN)
    put(s, CODE, code)
    s[L.TASK] = code


@native
def note(
    s: State, kind: int, pc: int, code: int, low: int, high: int, wanted: int, seen: int, stored: int, held: int,
    other: int,
) -> int:  # fmt: skip
    """Enter a report, or widen the one of the same kind, instruction and start of a transfer; where a new one is."""
    count = word(s, COUNT)
    site = word(s, SITES + code)
    k = count - 1
    while k >= 0:
        p = REPORTS + k * REPORT
        if word(s, p + R_KIND) == kind and word(s, p + R_PC) == pc and word(s, SITES + word(s, p + R_CODE)) == site:
            put(s, p + R_LOW, min(low, word(s, p + R_LOW)))
            put(s, p + R_HIGH, max(high, word(s, p + R_HIGH)))
            put(s, p + R_TIMES, word(s, p + R_TIMES) + 1)
            return -1
        k -= 1
    if count >= MOST_REPORTS:
        put(s, LOST, word(s, LOST) + 1)
        return -1
    p = REPORTS + count * REPORT
    for slot, value in (
        (R_KIND, kind), (R_PC, pc), (R_CODE, code), (R_LOW, low), (R_HIGH, high), (R_WANTED, wanted), (R_SEEN, seen),
        (R_STORED, stored), (R_HELD, held), (R_NOW, s[L.NOW]), (R_OTHER, other), (R_PLACE, word(s, PLACE)),
        (R_TIMES, 1),
    ):  # fmt: skip
        put(s, p + slot, value)
    put(s, COUNT, count + 1)
    return p

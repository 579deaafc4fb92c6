"""Slots of the array of the emulated core's exceptions, and their numbers (Arm DDI0403 B1.5.2).

Sets of exceptions are bits, 32 to a word: bit n of word 0 is exception n (below 16), bit i of the words behind is
interrupt line i, exception 16 + i; the *place* of an exception is the number of its bit. Times are ticks.
"""

from __future__ import annotations

from mcusim.native.compile import native
from mcusim.native.records import Record

NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT, SVCALL, PENDSV, SYSTICK = 2, 3, 4, 5, 6, 11, 14, 15
LINES = 240  # ARMv7-M has room for so many interrupt lines
FIRST_LINE = 32  # the place of line 0
WORDS = 9
PLACES = WORDS * 32
LOG_SIZE, LOG_SPARE = 4096, 512  # entries; those that remain when Python is asked to look
ON_PROCESS = 4  # in EXC_RETURN: the frame is on the process stack
PUSHED, BEGUN, ENDED, POPPED = range(4)  # what an entry is of
NEVER = 1 << 60
IDLE = 256  # priority of thread mode with nothing masked

entry = Record("entry of the log")
LOG_WHAT, LOG_TIME, LOG_FIRST, LOG_SECOND = entry.fields("LOG_WHAT", "LOG_TIME", "LOG_FIRST", "LOG_SECOND")
LOG_ENTRY = entry.freeze()

exceptions = Record("exceptions")
PENDING, ENABLED, ACTIVE = (exceptions.array(name, WORDS) for name in ("PENDING", "ENABLED", "ACTIVE"))
HIGH = exceptions.array("HIGH", WORDS)  # lines whose signal is high: they pend again when their handler returns
PRIORITY = exceptions.array("PRIORITY", PLACES)
ARRIVED = exceptions.array("ARRIVED", PLACES)  # when it became pending
COUNT, SPENT = exceptions.array("COUNT", PLACES), exceptions.array("SPENT", PLACES)  # entries; time in the handler
GROUP_SHIFT = exceptions.field("GROUP_SHIFT")  # AIRCR.PRIGROUP + 1: lower bits do not preempt
VECTORS = exceptions.field("VECTORS")  # whether the program has a vector table: without one there are no exceptions
# the handler that runs (0: thread mode), and since when; of an entry under way: the exception that caused it (0: none),
# when its frame was there, EXC_RETURN of the frame that was pushed last
CURRENT, SINCE, ENTERING, ENTERED_AT, RETURN_TO = exceptions.fields(
    "CURRENT", "SINCE", "ENTERING", "ENTERED_AT", "RETURN_TO"
)
FPU_WAITS = exceptions.field("FPU_WAITS")  # FPCCR.LSPACT: a frame has room for floating-point registers, still unsaved
HANDLER = exceptions.array("HANDLER", PLACES)  # the vector of its last entry
# entries since Python looked. PUSHED: since when, the frame's address, lowest address of a task's stack; BEGUN (place
# and handlers active with it): when it became pending; ENDED (with its place); POPPED: the frame's address, EXC_RETURN
LOG_USED, LOG = exceptions.field("LOG_USED"), exceptions.array("LOG", LOG_SIZE * LOG_ENTRY)
IMPLEMENTED = exceptions.array("IMPLEMENTED", WORDS)  # lines that the part has, and system exceptions
CFSR, HFSR = exceptions.fields("CFSR", "HFSR")  # the fault status registers
EVENT, SEV_ON_PEND = exceptions.fields("EVENT", "SEV_ON_PEND")  # the event register of WFE; SCR.SEVONPEND
# where the host has the address that the local exclusive monitor marks, 0: not known
MONITOR = exceptions.field("MONITOR")
EXCEPTIONS = exceptions.freeze()


@native
def number_of(place: int) -> int:
    """The exception number of a place."""
    return place if place < FIRST_LINE else place - FIRST_LINE + 16


@native
def place_of(number: int) -> int:
    """The place of an exception number."""
    return number if number < 16 else number - 16 + FIRST_LINE

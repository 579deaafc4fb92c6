"""The state of the emulated core's exceptions, and their numbers (Arm DDI0403 B1.5.2).

Sets of exceptions are bits, 32 to a word: bit n of word 0 is exception n (below 16), bit i of the words behind is
interrupt line i, exception 16 + i; the *index* of an exception is the number of its bit. Times are ticks.
"""

from __future__ import annotations

from typing import Annotated

from mcusim.native.functions import native
from mcusim.native.structs import Struct, Structs, Words

NMI, HARD_FAULT, MEM_MANAGE, BUS_FAULT, USAGE_FAULT, SVCALL, PENDSV, SYSTICK = 2, 3, 4, 5, 6, 11, 14, 15
LINES = 240  # ARMv7-M has room for so many interrupt lines
FIRST_LINE = 32  # the index of line 0
WORDS = 9
INDEXES = WORDS * 32
LOG_SIZE, LOG_SPARE = 4096, 512  # entries; those that remain when Python is asked to look
ON_PROCESS = 4  # in EXC_RETURN: the frame is on the process stack
PUSHED, BEGUN, ENDED, POPPED = range(4)  # what an entry is of
NEVER = 1 << 60
IDLE = 256  # priority of thread mode with nothing masked


class LogEntry(Struct):
    """PUSHED: since when, the frame's address, lowest address of a task's stack; BEGUN (index and handlers active with
    it): when it became pending; ENDED (with its index); POPPED: the frame's address, EXC_RETURN."""

    what: int
    time: int
    first: int
    second: int


class ExceptionState(Struct, root=True):
    """By index, but for the sets: words of bits."""

    pending: Annotated[Words, WORDS]
    enabled: Annotated[Words, WORDS]
    active: Annotated[Words, WORDS]
    line_high: Annotated[Words, WORDS]  # lines whose signal is high: they pend again when their handler returns
    priority: Annotated[Words, INDEXES]
    pending_since: Annotated[Words, INDEXES]
    entries: Annotated[Words, INDEXES]
    handler_ticks: Annotated[Words, INDEXES]
    group_shift: int  # AIRCR.PRIGROUP + 1: lower bits do not preempt
    vector_table: int  # whether the program has one: without it there are no exceptions
    # the handler that runs (0: thread mode), and since when; of an entry under way: the exception that caused it (0:
    # none), when its frame was there, EXC_RETURN of the frame that was pushed last
    current: int
    since: int
    entering: int
    frame_pushed: int
    return_to: int
    lazy_frame: int  # FPCCR.LSPACT: a frame has room for floating-point registers, still unsaved
    handler: Annotated[Words, INDEXES]  # the vector of its last entry
    log_used: int  # since Python looked
    log: Annotated[Structs[LogEntry], LOG_SIZE]
    implemented: Annotated[Words, WORDS]  # lines that the part has, and system exceptions
    cfsr: int  # the fault status registers
    hfsr: int
    event: int  # the event register of WFE
    sev_on_pend: int  # SCR.SEVONPEND
    monitor: int  # where the host has the address that the local exclusive monitor marks, 0: not known


@native
def number_of(index: int) -> int:
    """The exception number of an index."""
    return index if index < FIRST_LINE else index - FIRST_LINE + 16


@native
def index_of(number: int) -> int:
    """The index of an exception number."""
    return number if number < 16 else number - 16 + FIRST_LINE

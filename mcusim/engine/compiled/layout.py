"""The tables of a compiled program, and the state of the engine that plays it.

Moments and durations are core cycles unless said; what the memory takes is ticks.
"""

from __future__ import annotations

from typing import Annotated

from mcusim.kernels.cost.counted.access_streams import CountedCall
from mcusim.memory.film.events import KeptStreams
from mcusim.memory.state_layout import CodeSweep, MemoryState, OperandRange, RegionState, TransferState
from mcusim.memory.system import AccessStats
from mcusim.native.structs import POINTER, Struct, Structs, Words, offset_of

COMPUTE, MAINTAIN, TRANSFER = range(3)
"""Kinds of tasks."""
WAITING, ENDED, PROCESSED = range(3)
"""States of a task: it has not ended; it has, and who waits for it does not know yet; they know."""
FLASH, SRAM, SDRAM, QSPI = range(4)
"""What a kernel call waits for, in the order of a task's ``waits``."""
MAX_PROCESSES, MAX_BLOCKS, MAX_QUEUE = 24, 32, 256
# the counters of a block that tell whether it was asked for anything
FIRST_COUNTER = offset_of(RegionState.reads)
COUNTED = offset_of(RegionState.spared) + 1 - FIRST_COUNTER
STATS = len(AccessStats._fields) + 1
"""Words of what a task asked of a region: those of AccessStats, and whether anything was asked."""


class TaskState(Struct):
    """``after``: index of the first of the tasks that it waits for. Of a kernel call: cycles of its loops and of the
    interpreter, ``opaque``: it is those alone; its fetches, its ``call`` with the kind of its streams, and its
    operands. Of a transfer: index of its ports, driver code before and after. Of maintenance: ticks of its loop."""

    kind: int
    after: int
    after_count: int
    compute: int
    overhead: int
    opaque: int
    sweep: CodeSweep
    call: int
    streams: int
    images: int
    input_step: int
    output_step: int
    operand: int
    operand_count: int
    port: int
    controller: int
    priority: int
    setup: int
    handler: int
    source: int
    target: int
    bytes: int
    clean: int
    invalidate: int
    line_ticks: int
    # what came of it: from when on it waited, how many tasks had ended when it began, ``alone``: its length without
    # others, ``late``: what others cost it, ``stolen``: driver code that it was held up by
    state: int
    waited_from: int
    ended_before: int
    begin: int
    end: int
    alone: int
    late: int
    stolen: int
    waits: Annotated[Words, 4]


class TaskStates(Struct):
    """In the program's order."""

    records: Annotated[Structs[TaskState], 0]


class CountedCalls(Struct):
    """One behind another."""

    records: Annotated[Structs[CountedCall], 0]


class OperandRanges(Struct):
    """Of all kernel calls."""

    records: Annotated[Structs[OperandRange], 0]


class PortTemplates(Struct):
    """Transfers that have not begun, one for each kind of ports."""

    records: Annotated[Structs[TransferState], 0]


class Process(Struct):
    """The core, or a stream: its tasks in the table of lanes, the one it is at, and what it does then (``step``).

    It goes on at ``due`` by the ``timer``, or when ``change`` happens among the activities (0: it waits for none), or
    when ``pending`` tasks have ended. ``fired``: it knows already that it goes on. Of moments that are the same the
    lower ``number`` comes first.
    """

    next: int
    end: int
    task: int
    step: int
    timer: int
    due: int
    number: int
    fired: int
    change: int
    change_number: int
    pending: int
    wait_number: int
    # its activity: whether it runs, from when on, ticks left, since when and for how long at this pace, the pace
    running: int
    started: int
    remaining: int
    since: int
    need: int
    factor: int


class EngineState(Struct, root=True):
    """Process 0 is the core. ``kept``: what is recorded of accesses, or was, 0: nothing. ``queue``: what happens
    at this moment yet, kind and number each. ``failed``: something did not fit."""

    memory: Annotated[MemoryState, POINTER]
    first_block: int
    blocks: int
    regions: int
    tasks: Annotated[TaskStates, POINTER]
    after: Annotated[Words, POINTER]
    lanes: Annotated[Words, POINTER]
    operands: Annotated[OperandRanges, POINTER]
    calls: Annotated[CountedCalls, POINTER]
    ports: Annotated[PortTemplates, POINTER]
    kept: Annotated[KeptStreams, POINTER]
    next_kept: int
    stats: Annotated[Words, POINTER]
    ended: Annotated[Words, POINTER]  # the tasks in the order of their ends
    ended_count: int
    region_of: Annotated[Words, MAX_BLOCKS]  # of each block its region
    cause_of: Annotated[Words, MAX_BLOCKS]  # of each region what its stalls are
    before: Annotated[Words, MAX_BLOCKS * COUNTED]  # the counters, when the task began
    carried: Annotated[Words, 4]  # ticks of cycles not yet full
    now: int
    numbers: int
    changes: int
    stolen: int  # by the DMA driver, since last accounted
    driver_until: int
    queue_begin: int
    queue_end: int
    queue: Annotated[Words, 2 * MAX_QUEUE]
    processes_left: int
    process_count: int
    processes: Annotated[Structs[Process], MAX_PROCESSES]
    failed: int

"""The structs that the emulator's hooks share: the core, a record for each block, each access, each call edge.

The native hooks read and write them; Python fills the tables when a block is met for the first time and reads the
counters at the end. Times are ticks (``mcusim.memory.state_layout.TICK`` to a cycle). Fields lie in the order of the
lines below (:mod:`mcusim.native.structs`).
"""

from __future__ import annotations

from typing import Annotated

from mcusim.native.structs import Struct, Structs, Words

MPU_REGIONS = 16
RING_SIZE = 16  # taken branches remembered
SHADOW_DEPTH = 256  # calls deep
READIES, NEEDED = 6, 10  # registers that a block leaves in flight, and that it reads early
SAVED = 17  # r0 to r15 and xPSR
NESTS_DEPTH, CONTEXTS_KEPT, CONTEXT_CALLS = 32, 16, 32  # exceptions deep; contexts put off, and calls of each
SAVED_FLOATS = 33  # s0 to s31 and FPSCR
JOURNAL_SIZE = 8192
MOST_FLASH_STORES = 64  # of one block
# what is noted: a dirty line is accessed while the cache is off, a line of flash older than the flash is read, a locked
# register is stored to, a cache is switched on, or written back, that was not invalidated, an MPU region is switched on
# that the part does not have
OFF_DIRTY, OLD_FLASH, LOCKED, DATA_ON, CODE_ON, NOT_YET_CLEAN, NO_REGION, MOST_NOTES = range(8)
SPLITS_UNALIGNED, PREDICTS, STORE_BUFFER, EARLY_DIVIDE = 1, 2, 4, 8  # traits of a core
STATE_BITS, AFTER_BRANCH = 4, 10  # mcusim.cpu.pipeline.cortex_m4_fetch has the states


class TakenBranch(Struct):
    """Of the last ones."""

    source: int
    target: int


class ShadowCall(Struct):
    """A call on the shadow stack: its edge is counted when it returns. ``return_address``: bit 0 marks a tail call."""

    return_address: int
    edge: int
    ticks: int
    instructions: int


class InterruptedCode(Struct):
    """What an exception interrupted: its frame, since when, its calls on the shadow stack from and to."""

    frame: int
    since: int
    call_base: int
    call_depth: int
    instructions: int


class SuspendedContext(Struct):
    """The calls of a context that another one has replaced, by the frame that it goes on with."""

    frame: int
    since: int
    instructions: int
    call_count: int
    calls: Annotated[Structs[ShadowCall], CONTEXT_CALLS]


class StoreToFlash(Struct):
    """A store to flash; ``old``: what was there before; ``access``: the index of its record."""

    address: int
    size: int
    value: int
    old: int
    pc: int
    access: int


class NoteState(Struct):
    """What a program does that is noted once: the first instruction that did it, the address, how often."""

    pc: int
    address: int
    count: int


class CoreAccess(Struct):
    """A load or store that is being made (``value``: what is stored), of which instruction, with which access flags; of
    an instruction that faults, ``size`` 0."""

    address: int
    size: int
    write: int
    value: int
    pc: int
    flags: int


class CoreState(Struct, root=True):
    """The core."""

    # control
    stop: int
    stop_address: int
    stop_size: int
    # when the block hook looks up: at the end of the run's slice, or when the first of the others is due
    horizon: int
    instruction_limit: int
    run_horizon: int
    event_due: int
    systick_due: int
    traits: int
    branch_refill: int  # cycles of a taken branch
    return_address: int
    # accounting: the block entered last and not left yet (-1 none), its ticks that are on the clock, its accesses to
    # come
    instructions: int
    open_block: int
    consumed: int
    cursor: int
    cursor_end: int
    slow: int
    branch_taken: int
    unforeseen: int
    slot_free: int
    ready_base: int
    last_bank: int
    last_region: int
    prefetch_state: int  # M4: state in which the block entered last leaves the prefetch
    access: CoreAccess
    last_unaligned: int
    with_branch: int
    last_block: int  # the block entered last
    # of a program that waits (mcusim.emulator.fast_forward): before when it is not looked for, blocks that wait to be
    # passed before the core stops, whether stores are written down in the journal
    wait_from: int
    waits_to_pass: int
    records_stores: int
    # faults and limits
    fault: int
    fault_address: int
    fault_pc: int
    fault_size: int
    fault_write: int
    unmapped: int
    fault_in_block: int  # the fault was met inside a block, which ran on
    stack_limit: int
    guard_end: int
    stack_low: int
    stack_top: int
    stack_known: int
    other_stack_low: int  # the lowest address of another stack that was stored to since it is in use
    device_faults: int  # an unaligned access to Device memory faults
    halt_on_violation: int  # the sanitizer's first violation stops the core
    registers: Annotated[Words, SAVED]  # as a fault found them
    # the first access to a watched range: its instruction (0: none yet), address, bytes, whether it was a store
    watch_pc: int
    watch_address: int
    watch_size: int
    watch_write: int
    # stores to flash since the last look, for its controller; flash_flag: it has one (the flag of ranges)
    flash_flag: int
    flash_store_count: int
    flash_stores: Annotated[Structs[StoreToFlash], MOST_FLASH_STORES]
    # stores near code since the last look
    written_low: int
    written_high: int
    # system registers
    fpu: int
    trap_unaligned: int  # CCR.UNALIGN_TRP
    trap_divide: int  # CCR.DIV_0_TRP
    cycle_base: int
    systick_base: int
    systick_left: int
    systick_flag_read: int
    console_used: int
    console_size: int
    reset_requested: int
    # the DWT takes no store until it is unlocked; 1 more than what DWT_CTRL has while its word is one that was not
    # taken, 0: the word is right
    dwt_locked: int
    dwt_kept: int
    # lines of the data cache that were invalidated by set and way, whether the instruction cache was
    invalidated_lines: int
    invalidated_code: int
    notes: Annotated[Structs[NoteState], MOST_NOTES]
    ccr_ones: int  # bits of CCR that are always ones
    system_reads: int  # loads from the private peripheral bus
    data_cache: int  # offsets of the caches in the memory state
    code_cache: int
    data_ccsidr: int
    code_ccsidr: int
    maintenance_cost: int  # ticks of the core for a cache maintenance operation by address
    maintenance_ticks: int  # spent in maintenance operations
    # ticks of exception entries and returns without the stalls of their accesses, those stalls, and ticks asleep
    exception_ticks: int
    stacking_ticks: int
    sleep_ticks: int
    peripheral_blocks: int
    peripheral_written: int
    mpu_changed: int
    mpu_selected: int  # RNR
    mpu_regions: int  # of the part's MPU
    mpu_rbar: Annotated[Words, MPU_REGIONS]
    mpu_rasr: Annotated[Words, MPU_REGIONS]
    # where these registers were last stored to: any of the private peripheral bus, CCR, MPU_CTRL, each MPU region
    system_pc: int
    ccr_pc: int
    mpu_ctrl_pc: int
    mpu_pc: Annotated[Words, MPU_REGIONS]
    # the last taken branches, the next one to be replaced, and the calls under way
    branch_ring: Annotated[Structs[TakenBranch], RING_SIZE]
    ring_next: int
    calls: Annotated[Structs[ShadowCall], SHADOW_DEPTH]
    call_depth: int
    # of the code that runs: its first call there; how many exceptions deep, what they interrupted, contexts put off
    call_base: int
    nested: int
    interrupted: Annotated[Structs[InterruptedCode], NESTS_DEPTH]
    contexts: Annotated[Structs[SuspendedContext], CONTEXTS_KEPT]
    # s0 to s31 and FPSCR as a fault found them; bytes that a block has overwritten from it on, each address << 8 | byte
    floats: Annotated[Words, SAVED_FLOATS]
    journal_used: int
    journal: Annotated[Words, JOURNAL_SIZE]


class BlockRecord(Struct):
    """A basic block, and what was counted of it. ``ready`` and ``needs`` are packed: register << 32 | ticks."""

    address: int
    size: int
    instruction_count: int
    ticks: int
    first_access: int
    accesses_end: int
    flags: int
    kind: int  # how it ends
    fall_through: int
    target: int
    ready_mask: int
    needs_mask: int
    flags_early: int
    last_pc: int
    ready: Annotated[Words, READIES]
    needs: Annotated[Words, NEEDED]
    runs: int
    fetch_ticks: int
    branch_ticks: int
    carry_ticks: int
    shared_ticks: int
    shares: int
    rate: int  # ticks a byte of code, in 1 / 65,536
    # M4: what each state of the prefetch costs at entry, and which one it leaves; STATE_BITS each
    prefetch_costs: int
    prefetch_leaves: int
    prefetch_ticks: int


class BlockTable(Struct, root=True):
    """Blocks by index."""

    records: Annotated[Structs[BlockRecord], 0]


class BlockSlot(Struct):
    """``address``: -1, it is free."""

    address: int
    index: int


class BlockHash(Struct, root=True):
    """Indexes of blocks by address; ``mask``: the number of slots, a power of two, less 1."""

    mask: int
    slots: Annotated[Structs[BlockSlot], 0]


class ForeseenAccess(Struct):
    """A foreseen access (divides have a record too, behind the block's accesses; record 0 is for accesses that were not
    foreseen): its moment in the block, ticks more, and what was counted."""

    write: int
    size: int
    moment: int
    extra: int
    flags: int
    pc: int
    count: int
    stall: int
    penalty: int


class AccessTable(Struct, root=True):
    """Accesses by index."""

    records: Annotated[Structs[ForeseenAccess], 0]


class CallEdge(Struct):
    """``key``: block << 32 | callee, -1: it is free; calls, inclusive ticks and instructions."""

    key: int
    calls: int
    ticks: int
    instructions: int


class CallEdges(Struct, root=True):
    """``mask``: the number of slots, a power of two, less 1."""

    mask: int
    slots: Annotated[Structs[CallEdge], 0]


# why the core stopped
RUNNING, AT_HORIZON, AT_LIMIT, UNKNOWN, RETURNED, FAULTED, FLUSH, EVENTS, EXCEPTION, ASLEEP, WAITING = range(11)

# fault codes
NO_FAULT, UNALIGNED, UNALIGNED_DEVICE, NO_ACCESS, NO_PERIPHERAL, STACK = range(6)
NO_FPU, READ_ONLY, NOT_EXECUTABLE, ENDLESS_CODE, ARM_STATE, VIOLATION, UNDEFINED = range(6, 13)
STACKING, UNSTACKING, LAZY_STACKING, BAD_VECTOR, BAD_RETURN, DIVIDED_BY_ZERO, UNPRIVILEGED = range(13, 20)
WRONG_KEY = 20
WATCHED = 1 << 20  # no fault: who watches asks for the masks

# block flags
# LEAVES_SLOT: its branch leaves a slot free (begun in its own cycle, begun next to a branch); ALWAYS: it has no
# condition; MOVES_STACK: it sets SP to something else; FOUND_IN_DECODE: M4: its branch's refill is a cycle less
CONDITIONAL_ACCESS, HAS_FP, FOUND_IN_DECODE, LEAVES_SLOT, LEAVES_SLOT_WITH_BRANCH, ALWAYS, MOVES_STACK = (
    1,
    2,
    4,
    8,
    16,
    32,
    64,
)
TAIL_CALL = 128  # its branch goes to the first instruction of another function
WAITS = 256  # in a loop that seems to wait
READS_BASEPRI = 512

# how a block ends
FALLS, CONDITIONAL, UNCONDITIONAL, CALL, INDIRECT_CALL, RETURNS, INDIRECT, TABLE = range(8)

# access flags
ALIGNED, PAIRED, FOLLOWS, YOUNGER, BY_STACK, SECOND, EVEN = 1, 2, 4, 8, 16, 32, 64  # SECOND: word of a doubleword

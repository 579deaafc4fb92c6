"""Slots of the emulator's native state: one int64 array for the core, one record per block, one per access.

The native hooks read and write them; Python fills the tables when a block is met for the first time and reads the
counters at the end. Times are ticks (``mcusim.memory.state_layout.TICK`` to a cycle). Each record's slots are assigned
in the order of the lines below (:mod:`mcusim.native.records`).
"""

from __future__ import annotations

from mcusim.native.records import Record

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

# a taken branch: from, to
branch = Record("taken branch")
RING_FROM, RING_TO = branch.fields("RING_FROM", "RING_TO")
RING_ENTRY = branch.freeze()

# a call on the shadow stack: return address, edge, ticks and instructions at the call
call = Record("call")
CALL_RETURN, CALL_EDGE, CALL_TICKS, CALL_INSTRUCTIONS = call.fields(
    "CALL_RETURN", "CALL_EDGE", "CALL_TICKS", "CALL_INSTRUCTIONS"
)
SHADOW_ENTRY = call.freeze()

# what an exception interrupted: where its frame is, since when, its calls on the shadow stack from and to, instructions
nest = Record("interrupted code")
NEST_FRAME, NEST_SINCE, NEST_BASE, NEST_DEPTH, NEST_INSTRUCTIONS = nest.fields(
    "NEST_FRAME", "NEST_SINCE", "NEST_BASE", "NEST_DEPTH", "NEST_INSTRUCTIONS"
)
NEST = nest.freeze()

# the calls of a context that another one has replaced, by the frame that it goes on with
context = Record("context")
CONTEXT_FRAME, CONTEXT_SINCE, CONTEXT_INSTRUCTIONS, CONTEXT_DEPTH = context.fields(
    "CONTEXT_FRAME", "CONTEXT_SINCE", "CONTEXT_INSTRUCTIONS", "CONTEXT_DEPTH"
)
CONTEXT_FRAMES = context.array("CONTEXT_FRAMES", CONTEXT_CALLS * SHADOW_ENTRY)
CONTEXT = context.freeze()

# a store to flash: where, bytes, what was stored, what was there before, the instruction, its access record
flash_store = Record("store to flash")
STORE_ADDRESS, STORE_SIZE, STORE_VALUE = flash_store.fields("STORE_ADDRESS", "STORE_SIZE", "STORE_VALUE")
STORE_OLD, STORE_PC, STORE_RECORD = flash_store.fields("STORE_OLD", "STORE_PC", "STORE_RECORD")
FLASH_STORE = flash_store.freeze()

# what a program does that is noted once: the first instruction that did it, the address, how often
note = Record("note")
NOTE_PC, NOTE_ADDRESS, NOTE_COUNT = note.fields("NOTE_PC", "NOTE_ADDRESS", "NOTE_COUNT")
NOTE = note.freeze()

core = Record("core")
# control
STOP, STOP_ADDRESS, STOP_SIZE, HORIZON, LIMIT = core.fields("STOP", "STOP_ADDRESS", "STOP_SIZE", "HORIZON", "LIMIT")
# HORIZON: when the block hook looks up: at the end of the run's slice, or when the first of the others is due
RUN_HORIZON, EVENT_DUE, SYSTICK_DUE = core.fields("RUN_HORIZON", "EVENT_DUE", "SYSTICK_DUE")
TRAITS, REFILL, RETURN = core.fields("TRAITS", "REFILL", "RETURN")  # REFILL: cycles of a taken branch
SPLITS_UNALIGNED, PREDICTS, STORE_BUFFER, EARLY_DIVIDE = 1, 2, 4, 8  # in TRAITS
# accounting: the block entered last and not left yet (-1 none), its ticks that are on the clock, its accesses to come
INSTRUCTIONS, PREVIOUS, CONSUMED = core.fields("INSTRUCTIONS", "PREVIOUS", "CONSUMED")
CURSOR, CURSOR_END, SLOW, TAKEN, LOST = core.fields("CURSOR", "CURSOR_END", "SLOW", "TAKEN", "LOST")
SLOT_FREE, READY_BASE, LAST_BANK, LAST_REGION = core.fields("SLOT_FREE", "READY_BASE", "LAST_BANK", "LAST_REGION")
PREFETCHED = core.field("PREFETCHED")  # M4: state in which the block entered last leaves the prefetch
LAST_UNALIGNED, WITH_BRANCH, ENTERED = core.fields(
    "LAST_UNALIGNED", "WITH_BRANCH", "ENTERED"
)  # ENTERED: the block entered last
# of a program that waits (mcusim.emulator.fast_forward): before when it is not looked for, blocks that wait to be
# passed before the core stops, whether stores are written down in JOURNAL
WAIT_FROM, WAIT_PASS, KEEPS_STORES = core.fields("WAIT_FROM", "WAIT_PASS", "KEEPS_STORES")
# faults and limits
FAULT, FAULT_ADDRESS, FAULT_PC = core.fields("FAULT", "FAULT_ADDRESS", "FAULT_PC")
FAULT_SIZE, FAULT_WRITE, UNMAPPED = core.fields("FAULT_SIZE", "FAULT_WRITE", "UNMAPPED")
FAULT_INSIDE = core.field("FAULT_INSIDE")  # the fault was met inside a block, which ran on
STACK_LIMIT, GUARD_END, STACK_LOW = core.fields("STACK_LIMIT", "GUARD_END", "STACK_LOW")
STACK_TOP, STACK_KNOWN = core.fields("STACK_TOP", "STACK_KNOWN")
OTHER_LOW = core.field("OTHER_LOW")  # the lowest address of another stack that was stored to since it is in use
DEVICE_FAULTS = core.field("DEVICE_FAULTS")  # an unaligned access to Device memory faults
HALT_ON_VIOLATION = core.field("HALT_ON_VIOLATION")  # the sanitizer's first violation stops the core
REGISTERS = core.array("REGISTERS", SAVED)  # as a fault found them
# the first access to a watched range: its instruction (0: none yet), address, bytes, whether it was a store
WATCH_PC, WATCH_ADDRESS, WATCH_SIZE, WATCH_WRITE = core.fields("WATCH_PC", "WATCH_ADDRESS", "WATCH_SIZE", "WATCH_WRITE")
# stores to flash since the last look, for its controller; PROGRAMS: it has one (the flag of ranges)
PROGRAMS, FLASH_STORES = core.fields("PROGRAMS", "FLASH_STORES")
FLASH_LOG = core.array("FLASH_LOG", MOST_FLASH_STORES * FLASH_STORE)
# stores near code since the last look
WRITTEN_LOW, WRITTEN_HIGH = core.fields("WRITTEN_LOW", "WRITTEN_HIGH")
# system registers
FPU = core.field("FPU")
TRAP_UNALIGNED, TRAP_DIVIDE = core.fields("TRAP_UNALIGNED", "TRAP_DIVIDE")  # CCR.UNALIGN_TRP, CCR.DIV_0_TRP
CYCLE_BASE, TICK_BASE, TICK_LEFT, COUNT_READ = core.fields("CYCLE_BASE", "TICK_BASE", "TICK_LEFT", "COUNT_READ")
CONSOLE_USED, CONSOLE_SIZE = core.fields("CONSOLE_USED", "CONSOLE_SIZE")
RESET_ASKED = core.field("RESET_ASKED")
# the DWT takes no store until it is unlocked; 1 more than what DWT_CTRL has while its word is one that was not taken,
# 0: the word is right
DWT_LOCKED, DWT_KEPT = core.fields("DWT_LOCKED", "DWT_KEPT")
# lines of the data cache that were invalidated by set and way, whether the instruction cache was
INVALIDATED_LINES, INVALIDATED_CODE = core.fields("INVALIDATED_LINES", "INVALIDATED_CODE")
NOTES = core.array("NOTES", MOST_NOTES * NOTE)
CCR_ONES = core.field("CCR_ONES")  # bits of CCR that are always ones
SYSTEM_READS = core.field("SYSTEM_READS")  # loads from the private peripheral bus
D_CACHE, I_CACHE = core.fields("D_CACHE", "I_CACHE")  # offsets of the caches in the memory state
CCSIDR_D, CCSIDR_I = core.fields("CCSIDR_D", "CCSIDR_I")
MAINTENANCE = core.field("MAINTENANCE")  # ticks of the core for a cache maintenance operation by address
SYSTEM_TICKS = core.field("SYSTEM_TICKS")  # ticks spent in maintenance operations
# ticks of exception entries and returns without the stalls of their accesses, those stalls, and ticks asleep
EXCEPTION_TICKS, STACKING_TICKS, SLEEP_TICKS = core.fields("EXCEPTION_TICKS", "STACKING_TICKS", "SLEEP_TICKS")
LISTED, PERIPHERAL_WRITTEN = core.fields("LISTED", "PERIPHERAL_WRITTEN")  # LISTED: number of peripheral blocks
MPU_CHANGED, MPU_REGION = core.fields("MPU_CHANGED", "MPU_REGION")  # MPU_REGION: RNR
MPU_HAS = core.field("MPU_HAS")  # regions of the part's MPU
MPU_RBAR, MPU_RASR = core.array("MPU_RBAR", MPU_REGIONS), core.array("MPU_RASR", MPU_REGIONS)
# where these registers were last stored to: any of the private peripheral bus, CCR, MPU_CTRL, each MPU region
SYSTEM_PC, CACHES_PC, MPU_CTRL_PC = core.fields("SYSTEM_PC", "CACHES_PC", "MPU_CTRL_PC")
MPU_PC = core.array("MPU_PC", MPU_REGIONS)
# the last taken branches, the next one to be replaced, and the calls under way
RING, RING_AT = core.array("RING", RING_SIZE * RING_ENTRY), core.field("RING_AT")
SHADOW, CALL_DEPTH = core.array("SHADOW", SHADOW_DEPTH * SHADOW_ENTRY), core.field("CALL_DEPTH")
# of the code that runs: its first call there; how many exceptions deep, what they interrupted, contexts put off
CALL_BASE, NESTED = core.fields("CALL_BASE", "NESTED")
NESTS, CONTEXTS = core.array("NESTS", NESTS_DEPTH * NEST), core.array("CONTEXTS", CONTEXTS_KEPT * CONTEXT)
# s0 to s31 and FPSCR as a fault found them; bytes that a block has overwritten from it on, each address << 8 | byte
FLOATS = core.array("FLOATS", SAVED_FLOATS)
JOURNAL_USED, JOURNAL = core.field("JOURNAL_USED"), core.array("JOURNAL", JOURNAL_SIZE)
CORE = core.freeze()

# why the core stopped
RUNNING, AT_HORIZON, AT_LIMIT, UNKNOWN, RETURNED, FAULTED, FLUSH, EVENTS, EXCEPTION, ASLEEP, WAITING = range(11)

# fault codes
NO_FAULT, UNALIGNED, UNALIGNED_DEVICE, NO_ACCESS, NO_PERIPHERAL, STACK = range(6)
NO_FPU, READ_ONLY, NOT_EXECUTABLE, ENDLESS_CODE, ARM_STATE, VIOLATION, UNDEFINED = range(6, 13)
STACKING, UNSTACKING, LAZY_STACKING, BAD_VECTOR, BAD_RETURN, DIVIDED_BY_ZERO, UNPRIVILEGED = range(13, 20)
WRONG_KEY = 20
WATCHED = 1 << 20  # no fault: who watches asks for the masks

block = Record("block")
ADDRESS, SIZE, COUNT_OF, TICKS, FIRST, END = block.fields("ADDRESS", "SIZE", "COUNT_OF", "TICKS", "FIRST", "END")
FLAGS, KIND, FALL, TARGET = block.fields("FLAGS", "KIND", "FALL", "TARGET")
READY_MASK, NEEDS_MASK, EARLY, LAST_PC = block.fields("READY_MASK", "NEEDS_MASK", "EARLY", "LAST_PC")
READY, NEEDS = block.array("READY", READIES), block.array("NEEDS", NEEDED)  # packed: register << 32 | ticks
RUNS, FETCH_TICKS, BRANCH_TICKS, CARRY_TICKS = block.fields("RUNS", "FETCH_TICKS", "BRANCH_TICKS", "CARRY_TICKS")
SHARED_TICKS, SHARES, RATE = block.fields("SHARED_TICKS", "SHARES", "RATE")  # RATE: ticks a byte of code, in 1 / 65,536
# M4: what each state of the prefetch costs at entry, and which one it leaves; STATE_BITS each
PREFETCH_COSTS, PREFETCH_LEAVES, PREFETCH_TICKS = block.fields("PREFETCH_COSTS", "PREFETCH_LEAVES", "PREFETCH_TICKS")
STATE_BITS, AFTER_BRANCH = 4, 10  # mcusim.cpu.pipeline.cortex_m4_fetch has the states
BLOCK = block.freeze()

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

# an access (divides have a record too, behind the block's accesses; the first record is for accesses not foreseen)
access = Record("access")
WRITE, BYTES, AT, EXTRA, ACCESS_FLAGS, PC = access.fields("WRITE", "BYTES", "AT", "EXTRA", "ACCESS_FLAGS", "PC")
MADE, STALLED, PENALTY = access.fields("MADE", "STALLED", "PENALTY")
ACCESS = access.freeze()

# access flags
ALIGNED, PAIRED, FOLLOWS, YOUNGER, BY_STACK, SECOND, EVEN = 1, 2, 4, 8, 16, 32, 64  # SECOND: word of a doubleword

# a call edge: key (block << 32 | callee), calls, inclusive ticks and instructions
edge = Record("call edge")
EDGE_KEY, EDGE_CALLS, EDGE_TICKS, EDGE_INSTRUCTIONS = edge.fields(
    "EDGE_KEY", "EDGE_CALLS", "EDGE_TICKS", "EDGE_INSTRUCTIONS"
)
EDGE = edge.freeze()

"""Slots of the emulator's native state: one int64 array for the core, one record per block, one per access.

The native hooks read and write them; Python fills the tables when a block is met for the first time and reads the
counters at the end. Times are ticks (``mcusim.memory.state_layout.TICK`` to a cycle).
"""

from __future__ import annotations

# the core: control ...
STOP, STOP_ADDRESS, STOP_SIZE, HORIZON, LIMIT, ISA, RESERVED, RETURN = range(8)
# ... accounting ...
INSTRUCTIONS, WARM, PREVIOUS, CONSUMED, CURSOR, CURSOR_END, SLOW, TAKEN, LOST, SLOT_FREE = range(8, 18)
READY_BASE, LAST_BANK, LAST_REGION = range(18, 21)
# ... faults and limits ...
FAULT, FAULT_ADDRESS, FAULT_PC, FAULT_SIZE, FAULT_WRITE, STACK_LIMIT, GUARD_END, STACK_LOW, FPU = range(22, 31)
WRITTEN_LOW, WRITTEN_HIGH = 31, 32  # stores near code since the last look
# ... system registers ...
CYCLE_BASE, TICK_BASE, TICK_LEFT, CONSOLE_USED, CONSOLE_SIZE, MPU_CHANGED, RESET_ASKED = range(34, 41)
D_CACHE, I_CACHE, PERIPHERALS = range(41, 44)  # offsets of the caches in the memory state; listed peripheral values
MAINTENANCE = 44  # ticks of the core for a cache maintenance operation by address
SYSTEM_TICKS = 45  # ticks spent in maintenance operations
DEVICE_FAULTS = 46  # an unaligned access to Device memory faults
TRAP_UNALIGNED = 47  # CCR.UNALIGN_TRP
PERIPHERAL_WRITTEN, BESIDE, LAST_UNALIGNED, STACK_TOP, STACK_KNOWN, UNMAPPED = 54, 55, 56, 57, 58, 59
NOTES_HALT = 61  # the sanitizer's first note stops the core
LISTED = 48  # number of peripheral blocks
COUNT_READ, CCSIDR_D, CCSIDR_I = 51, 52, 53
CALL_DEPTH, ENTERED = 49, 50  # ENTERED: the block entered last
REGISTERS = 64  # r0 to r15 and xPSR at a fault
MPU_REGION = 84  # RNR
MPU_RBAR, MPU_RASR = 88, 104  # 16 regions each
RING, RING_SIZE, RING_AT = 128, 16, 60  # the last taken branches: from, to
SHADOW, SHADOW_DEPTH, SHADOW_ENTRY = 192, 256, 4  # call stack: return address, edge, ticks and instructions at the call
CORE = SHADOW + SHADOW_DEPTH * SHADOW_ENTRY

# why the core stopped
RUNNING, AT_HORIZON, AT_LIMIT, UNKNOWN, RETURNED, FAULTED, FLUSH = range(7)

# fault codes
NO_FAULT, UNALIGNED, UNALIGNED_DEVICE, NO_ACCESS, NO_PERIPHERAL, STACK = range(6)
NO_FPU, READ_ONLY, NOT_EXECUTABLE, ENDLESS_CODE, ARM_STATE, NOTED = range(6, 12)

# a block
ADDRESS, SIZE, COUNT_OF, TICKS, FIRST, END, FLAGS, KIND, FALL, TARGET = range(10)
READY_MASK, NEEDS_MASK, EARLY, LAST_PC = range(10, 14)
READY, READIES = 14, 6  # packed: register << 32 | ticks
NEEDS, NEEDED = 20, 10
RUNS, FETCH_TICKS, BRANCH_TICKS, CARRY_TICKS, SHARED_TICKS, SHARES, RATE = range(
    30, 37
)  # RATE: ticks a byte of code, in 1 / 65,536
BLOCK = 38

# block flags
# LEAVES_SLOT: its branch leaves a slot free (begun in a cycle of its own, begun beside a branch); ALWAYS: it has no
# condition; MOVES_STACK: it sets SP to something else
CONDITIONAL_ACCESS, HAS_FP, WIDE_ENTRY, LEAVES_SLOT, LEAVES_SLOT_BESIDE, ALWAYS, MOVES_STACK = 1, 2, 4, 8, 16, 32, 64

# how a block ends
FALLS, CONDITIONAL, UNCONDITIONAL, CALL, INDIRECT_CALL, RETURNS, INDIRECT, TABLE = range(8)

# an access (divides have a record too, behind the block's accesses; the first record is for accesses not foreseen)
WRITE, BYTES, AT, EXTRA, ACCESS_FLAGS, PC, MADE, STALLED, PENALTY = range(9)
ACCESS = 10

# access flags
ALIGNED, PAIRED, FOLLOWS, YOUNGER, BY_STACK, SECOND, EVEN = 1, 2, 4, 8, 16, 32, 64  # SECOND: word of a doubleword

# a call edge: key (block << 32 | callee), calls, inclusive ticks and instructions
EDGE = 4

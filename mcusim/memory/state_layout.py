"""Where everything lives in the one int64 state array that the native memory functions share.

The array is: a header (with the DMA controllers and the transfers in flight), one block per region (parameters,
counters, dynamic state; a second one where the aliases are a port of their own), the address ranges that map to the
blocks, the accelerators' lines, the tag arrays of the caches, and room for the ranges of a running program. Times in it
are *ticks*: ``TICK`` of them make a core cycle, so that a 108 MHz memory beside a 200 MHz core keeps its ratio to half
a tick a clock.
"""

from __future__ import annotations

TICK = 256  # ticks per core cycle
VISIT = 32  # bytes: no visit crosses such a line, the granule of the replayed streams (less under a shorter cache line)

# header
NOW, RANGES, RANGE_BASE, DCACHE, ICACHE, HITS, MISSES, WRITEBACKS, IHITS, IMISSES, SEED, SHIFT = range(12)
# ... of the emulated core: log2 of the bytes its bus moves at once, the caches' places whether they are on or off,
BUS, DATA_AT, CODE_AT, ROOM = range(13, 17)
# the code that costs nothing now (from, to, its region's block, the counter of its hits), where the last block ended,
# when the core came to its last line, where a hit is counted that nobody asks for,
CODE_LOW, CODE_HIGH, CODE_BLOCK, CODE_COUNT, CODE_END, CODE_SINCE, UNCOUNTED = range(17, 24)
# the block fetched last, if all its lines were at hand: fetching it again changes nothing but the counts
AGAIN, AGAIN_SIZE, AGAIN_LINES = range(25, 28)
# of the transfers in flight: when the next half of a beat begins, when the next region is no longer shared, slots in
# use, up to when the engine has asked for all beats
NEXT_BEAT, NEXT_RELEASE, SLOTS, ASKED = range(28, 32)
# of the sanitizer: address of its notes (0: off), the core's task, the stack from where to where
NOTES, TASK, STACK_FROM, STACK_TO = range(56, 60)
# ranges of the running kernel call's operands in use (behind the flights)
OPERANDS = 60
# when the last word of every fill under way is there, and the linefill buffers: two for data, one for code
FILLED = 24
DATA_FILLS, CODE_FILL = 32, 48
# linefill buffer: line number (-1 none), word that came first, its arrival, ticks from word to word, the last's arrival
F_LINE, F_WORD, F_FIRST, F_STEP, F_LAST = range(5)
FILL = 8
WORD = 3  # log2 of the bytes of a word of a linefill
# range record last found, by a hash of the address
FOUND = 64
FOUNDS = 64
NEVER = 1 << 61

# DMA controller: when its next half beat begins, the flight whose write is due (0: a read, whose is open), when it is
# free, the slot served last
K_AT, K_FLIGHT, K_FREE, K_LAST = range(4)
CONTROLLER = 4
MAX_CONTROLLERS = 8
CONTROLLERS = FOUND + FOUNDS
# transfer in flight: what it is ...
D_STATE, D_CONTROLLER, D_PRIORITY, D_BEGIN, D_SOURCE, D_TARGET, D_LEFT, D_BEAT, D_STEP, D_OWN, D_CLOCK, D_SHARES = (
    range(12)
)
# ... the chunk under way: region blocks, bytes to come, reads, which is next, bytes of each, ticks between writes, of
# the stall of all its writes, of its first read's; counts of rows opened when its two rows were last open, ...
D_FROM, D_TO, D_CHUNK, D_READS, D_NEXT, D_SIZE, D_GAP, D_STALL, D_HEAD, D_ROWS_FROM, D_ROWS_TO = range(12, 23)
# ... when it began, what undisturbed it leaves in the SDRAM, how much later it is by now, when its next read is due if
# nobody else is served before ...
D_PLANNED, D_BUSY_FROM, D_BUSY_TO, D_WRITTEN, D_ACTIVATED, D_SHIFT, D_EXPECTED = range(23, 30)
# ... the beat under way: bytes, its beats, end without a stall of the write; and when the flight ended and is let go
D_BYTES, D_BEATS, D_UNTIL, D_END, D_RELEASE = range(30, 35)
# ... where its next bytes are on the host: in memory at both ends, as the core sees the target (0: no data) ...
D_MEM_FROM, D_MEM_TO, D_VIEW_TO = range(35, 38)
# ... and for the sanitizer the writers of those and of what the core sees of the source, the writers it should find,
# and its own number as one
D_STORED_FROM, D_STORED_TO, D_SEEN_FROM, D_SEEN_TO, D_MEANT, D_CODE = range(38, 44)
FLIGHT = 44
MAX_FLIGHTS = 64
FLIGHTS = CONTROLLERS + MAX_CONTROLLERS * CONTROLLER
# states: slot free; under way; all beats made, its end not reported yet; reported
IDLE, FLYING, LANDED, REPORTED = range(4)
# operand of the running kernel call: first address, end, ticks of stall
OPERAND = FLIGHTS + MAX_FLIGHTS * FLIGHT
MAX_OPERANDS = 32
HEADER = OPERAND + 3 * MAX_OPERANDS

# range record: first address, end, region block, attribute (0 uncached, 1 write-through, 2 write-back), flags; where
# the host has the byte of guest address 0 as the core sees it and in memory (0: nowhere), and its writer (two bytes
# each) as seen, in memory, and as the program means it
LOW, HIGH, BLOCK, ATTRIBUTE, FLAGS, VIEW, MEM, SEEN, STORED, MEANT = range(10)
RANGE = 10
MAX_RANGES = 256
# flags; ALLOCATE: a write miss of write-back memory fills a line; FREE: no access ever waits; UNLESS_SHARED: none would
# if no transfer in flight touched the region
DEVICE, EXECUTE, READ, WRITE, ALLOCATE, FREE, UNLESS_SHARED = 1, 2, 4, 8, 16, 32, 64

# region block: kind and parameters (WIDTH is the log2 of the bytes of a beat, LINE that of a flash line) ...
KIND, LATENCY_R, LATENCY_W, BEAT, WIDTH, LINE, WAIT, A_LINES, I_LINES, HIDES, FIFO = range(11)
OVERHEAD_R, OVERHEAD_W, T_CL, T_RCD, T_RP, T_RC, T_RAS, T_WR, T_CLK, T_REFI = range(11, 21)
BANKS, ROW_SHIFT, ROW_MASK, BANK_SHIFT, COMMAND, CS_HIGH, CHANGE = range(21, 28)
# ... dynamic state (LAST_ADDRESS: of a QSPI the next in sequence, of an SDRAM the bank of LAST_WRITE) ...
BUSY, NEXT_REFRESH, LATCH, LAST_ADDRESS, LAST_WRITE, ACCEL = range(28, 34)
OPEN = 34  # open row per bank, -1 closed
ACTIVATED = 50  # time of the last ACTIVATE per bank
# ... and counters: accesses, bytes, ticks the device was occupied, ticks the core stalled
READS, WRITES, READ_BYTES, WRITE_BYTES, OCCUPIED, STALL, ROW_MISSES, REFRESHES, A_HITS, A_MISSES, F_MISSES = range(
    66, 77
)
# of the emulated core: lines of code it came to, ticks it stalled for them, found in the accelerator, by its prefetch
FETCHES, FETCH_STALL, F_HITS, F_PREFETCHED = range(77, 81)
# of transfers in flight: ticks of the core's stall while a beat held the memory, bytes of beats
WAITED, DMA_READ_BYTES, DMA_WRITE_BYTES = range(81, 84)
COUNTERS = slice(READS, DMA_WRITE_BYTES + 1)
# accelerator: place of its instruction lines, do data reads share them, does it prefetch; line the core is in, line
# prefetched, when it is there, count of look-ups
I_ACCEL, UNIFIED, PREFETCHES, CURRENT, PREFETCH, PREFETCHED_AT, I_CLOCK = range(84, 91)
# flights that touch the region; a beat holds it since, until; an access of the core holds it until
SHARED, HELD_SINCE, HELD, TAKEN = range(91, 95)
REGION = 96
MAX_BANKS = 16

# cache block: geometry, then per line: tag (-1 empty), age, dirty
C_SETS, C_WAYS, C_LINE, C_SHIFT, C_REPLACE, C_WRITEBACK, C_CLOCK = range(7)
CACHE = 8
LRU, ROUND_ROBIN, RANDOM = range(3)

TCM, SRAM, FLASH, SDRAM, QSPI = range(5)
ATTRIBUTES = {"device": 0, "uncached": 0, "write-through": 1, "write-back": 2}

# instruction lines of an accelerator: first line of each hash bucket, then per line: number (-1 empty), age, next
BUCKETS = 256
I_TAG, I_AGE, I_NEXT = range(3)
I_LINE = 3

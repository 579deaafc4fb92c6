"""The layout of the one int64 state array that the native memory functions share.

The array is: a header (with the DMA controllers and the transfers in flight), one block per region (parameters,
counters, dynamic state; a second one where the aliases are a port of their own), the address ranges that map to the
blocks, the accelerators' lines, the tag arrays of the caches, and room for the ranges of a running program. Times in it
are *ticks*: ``TICK`` of them make a core cycle, so that a 108 MHz memory next to a 200 MHz core keeps its ratio to half
a tick a clock.

Each record's slots are assigned in the order of the lines below (:mod:`mcusim.native.records`).
"""

from __future__ import annotations

from mcusim.native.records import Record

TICK = 256  # ticks per core cycle
VISIT = 32  # bytes: no visit crosses such a line, the granule of the replayed streams (less under a shorter cache line)
WORD = 3  # log2 of the bytes of a word of a linefill
NEVER = 1 << 61  # a time that does not come
FOUNDS = 64  # range records remembered, by a hash of the address
MAX_CONTROLLERS = 8
MAX_TRANSFERS = 64
MAX_OPERANDS = 32
MAX_RANGES = 256
MAX_BANKS = 16
MOST_REGION = 160  # slots of a region's block, at most
MAX_COLUMNS = 16  # lines of a read FIFO
BUCKETS = 256  # of the instruction lines of an accelerator

# linefill buffer: line number (-1 none), word that came first, its arrival, ticks from word to word, the last's arrival
fill = Record("linefill buffer")
F_LINE, F_WORD, F_FIRST, F_STEP, F_LAST = fill.fields("F_LINE", "F_WORD", "F_FIRST", "F_STEP", "F_LAST")
FILL = fill.freeze()

# port of a DMA controller: when its next access to a memory begins, when it is free, the slot served last
port = Record("DMA port")
P_AT, P_FREE, P_LAST = port.fields("P_AT", "P_FREE", "P_LAST")
PORT = port.freeze()

controller = Record("DMA controller")  # the port that reads (ST: the peripheral port), and the one that writes
READING, WRITING = controller.array("READING", PORT), controller.array("WRITING", PORT)
CONTROLLER = controller.freeze()

transfer = Record("DMA transfer")
# what it is: ticks of each port before its access to a memory, of a bus clock; bytes of a beat, of a burst, of its
# FIFO, and how many there are when it is emptied
D_STATE, D_CONTROLLER, D_PRIORITY, D_BEGIN = transfer.fields("D_STATE", "D_CONTROLLER", "D_PRIORITY", "D_BEGIN")
D_BEFORE_READ, D_BEFORE_WRITE, D_CLOCK = transfer.fields("D_BEFORE_READ", "D_BEFORE_WRITE", "D_CLOCK")
D_BEAT, D_STEP, D_ROOM, D_THRESHOLD, D_SHARES = transfer.fields("D_BEAT", "D_STEP", "D_ROOM", "D_THRESHOLD", "D_SHARES")
# of the port that writes: bytes of a beat and of a burst; do the addresses of source and target move on (0: they stay)
D_BEAT_TO, D_STEP_TO, D_MOVES_FROM, D_MOVES_TO = transfer.fields("D_BEAT_TO", "D_STEP_TO", "D_MOVES_FROM", "D_MOVES_TO")
# reads: next address, bytes to come, of these in the line of the memory, that memory's block, line of a flash read last
D_READ, D_UNREAD, D_AHEAD, D_FROM, D_LINE = transfer.fields("D_READ", "D_UNREAD", "D_AHEAD", "D_FROM", "D_LINE")
# writes: where their bytes come from, next address, bytes to come, of these in the lines of both, the target's block
D_SOURCE, D_TARGET, D_LEFT, D_CHUNK, D_TO = transfer.fields("D_SOURCE", "D_TARGET", "D_LEFT", "D_CHUNK", "D_TO")
# FIFO: bytes in it, those of them to be written now and from when, since when there is room for a read (NEVER: there is
# none); bytes and end of the last read and of the last write
D_LEVEL, D_DRAIN, D_READY, D_ROOM_AT = transfer.fields("D_LEVEL", "D_DRAIN", "D_READY", "D_ROOM_AT")
D_FILLED, D_READ_END, D_FREED, D_WRITE_END = transfer.fields("D_FILLED", "D_READ_END", "D_FREED", "D_WRITE_END")
# when the transfer ended, and when it lets go of its memories
D_END, D_RELEASE = transfer.fields("D_END", "D_RELEASE")
# where its next bytes are on the host: in memory at both ends, as the core sees the target (0: no data)
D_MEM_FROM, D_MEM_TO, D_VIEW_TO = transfer.fields("D_MEM_FROM", "D_MEM_TO", "D_VIEW_TO")
# for the sanitizer the writers of those and of what the core sees of the source, the writers it should find, and its
# own number as one
D_STORED_FROM, D_STORED_TO = transfer.fields("D_STORED_FROM", "D_STORED_TO")
D_SEEN_FROM, D_SEEN_TO, D_MEANT, D_CODE = transfer.fields("D_SEEN_FROM", "D_SEEN_TO", "D_MEANT", "D_CODE")
TRANSFER = transfer.freeze()
# its states: slot free; under way; all beats made, its end not reported yet; reported
IDLE, ACTIVE, DONE, REPORTED = range(4)

# operand of the running kernel call: first address, end, ticks of stall
operand = Record("operand")
O_LOW, O_HIGH, O_STALL = operand.fields("O_LOW", "O_HIGH", "O_STALL")
OPERAND = operand.freeze()

# how all is that a transfer alone depends on: the moment, from when on the port that reads is free, the transfer, the
# blocks of source and target
kept = Record("kept round")
R_AT, R_READING = kept.fields("R_AT", "R_READING")
R_TRANSFER = kept.array("R_TRANSFER", TRANSFER)
R_SOURCE, R_TARGET = kept.array("R_SOURCE", MOST_REGION), kept.array("R_TARGET", MOST_REGION)
KEPT = kept.freeze()

header = Record("header")
NOW = header.field("NOW")
RANGES, RANGE_BASE = header.fields("RANGES", "RANGE_BASE")
DCACHE, ICACHE = header.fields("DCACHE", "ICACHE")  # offsets of the caches, 0: none, or switched off
HITS, MISSES, WRITEBACKS, IHITS, IMISSES = header.fields("HITS", "MISSES", "WRITEBACKS", "IHITS", "IMISSES")
SEED = header.field("SEED")  # of a random replacement
SHIFT = header.field("SHIFT")  # log2 of the bytes of a visit
# of the emulated core: log2 of the bytes its bus moves at once, the caches' places whether they are on or off, the room
# for its ranges
BUS, DATA_AT, CODE_AT, ROOM = header.fields("BUS", "DATA_AT", "CODE_AT", "ROOM")
# the code that costs nothing now: from, to, its region's block, the counter of its hits
CODE_LOW, CODE_HIGH, CODE_BLOCK, CODE_COUNT = header.fields("CODE_LOW", "CODE_HIGH", "CODE_BLOCK", "CODE_COUNT")
# where the last block ended, when the core came to its last line, where a hit is counted that nobody asks for
CODE_END, CODE_SINCE, UNCOUNTED = header.fields("CODE_END", "CODE_SINCE", "UNCOUNTED")
# the block fetched last, if all its lines were at hand: fetching it again changes nothing but the counts
AGAIN, AGAIN_SIZE, AGAIN_LINES = header.fields("AGAIN", "AGAIN_SIZE", "AGAIN_LINES")
# of the transfers in flight: when the next half of a beat begins, when the next region is no longer shared, slots in
# use, up to when the engine has asked for all beats
NEXT_BEAT, NEXT_RELEASE, SLOTS, ASKED = header.fields("NEXT_BEAT", "NEXT_RELEASE", "SLOTS", "ASKED")
# of the sanitizer: address of its violations (0: off), the core's task, the stack from where to where
VIOLATIONS, TASK, STACK_FROM, STACK_TO = header.fields("VIOLATIONS", "TASK", "STACK_FROM", "STACK_TO")
WATCH = header.field(
    "WATCH"
)  # what watching a firmware needs (mcusim.memory.race_detector.layout), 0: off; VIOLATIONS is set too
# of lines apart from what the core gets (mcusim.memory.cache.apart): the cache is off and has some; where the host
# keeps their bytes then (0: nowhere); 1: dirty ones, 2: flash has changed behind some
ASIDE, ASIDE_ROOM, APART = header.fields("ASIDE", "ASIDE_ROOM", "APART")
FILM = header.field("FILM")  # address of what a film needs (mcusim.memory.film.record), 0: none is taken
OPERAND_COUNT = header.field("OPERAND_COUNT")  # in use, of the running kernel call
# when the last word of every fill under way is there, and the linefill buffers: two for data, one for code
FILLED = header.field("FILLED")
DATA_FILLS, CODE_FILL = header.array("DATA_FILLS", 2 * FILL), header.array("CODE_FILL", FILL)
FOUND = header.array("FOUND", FOUNDS)  # range records last found
CONTROLLERS = header.array("CONTROLLERS", MAX_CONTROLLERS * CONTROLLER)
TRANSFERS = header.array("TRANSFERS", MAX_TRANSFERS * TRANSFER)
ALONE = header.array("ALONE", TRANSFER)  # a transfer that nobody disturbs
# a round of it (mcusim.memory.dma.rounds): what is known of it, how all was at its begin and at its end
ROUND = header.field("ROUND")
ROUND_BEGIN, ROUND_END = header.array("ROUND_BEGIN", KEPT), header.array("ROUND_END", KEPT)
OPERANDS = header.array("OPERANDS", MAX_OPERANDS * OPERAND)
HEADER = header.freeze()
CONTROLLERS_END = CONTROLLERS + MAX_CONTROLLERS * CONTROLLER

address_range = Record("address range")
# first address, end, region block, attribute (0 uncached, 1 write-through, 2 write-back), flags
LOW, HIGH, BLOCK, ATTRIBUTE, FLAGS = address_range.fields("LOW", "HIGH", "BLOCK", "ATTRIBUTE", "FLAGS")
# where the host has the byte of guest address 0 as the core sees it and in memory (0: nowhere), and its writer (two
# bytes each) as seen, in memory, and as the program means it
VIEW, MEM, SEEN, STORED, MEANT = address_range.fields("VIEW", "MEM", "SEEN", "STORED", "MEANT")
# of a watched firmware: the instruction that last stored to each word, the exception whose handler did to each byte, a
# byte of flags for each line of 32 (from that of address 0 on; 0: no cache)
STORES, HANDLED, LINES = address_range.fields("STORES", "HANDLED", "LINES")
RANGE = address_range.freeze()
# flags; ALLOCATE: a write miss of write-back memory fills a line; FREE: no access ever waits; UNLESS_SHARED: none would
# if no transfer in flight touched the region; WATCHED: the first access is noted; PROGRAMS: stores may go to the
# controller of the flash
DEVICE, EXECUTE, READ, WRITE, ALLOCATE, FREE, UNLESS_SHARED, WATCHED, PROGRAMS = 1, 2, 4, 8, 16, 32, 64, 128, 256

region = Record("region")
# kind and parameters (WIDTH is the log2 of the bytes of a beat, LINE that of a flash line)
KIND, LATENCY_R, LATENCY_W, BEAT, WIDTH = region.fields("KIND", "LATENCY_R", "LATENCY_W", "BEAT", "WIDTH")
LATENCY_DMA = region.field("LATENCY_DMA")  # of a DMA's read
ARBITRATION = region.field("ARBITRATION")  # in the bus matrix, of the first of a core's reads back to back
LINE, WAIT, A_LINES, I_LINES, CHANGE = region.fields("LINE", "WAIT", "A_LINES", "I_LINES", "CHANGE")
A_WAYS, I_WAYS = region.fields("A_WAYS", "I_WAYS")  # of the accelerator's data and instruction lines
FIFO, OVERHEAD_R, OVERHEAD_W = region.fields("FIFO", "OVERHEAD_R", "OVERHEAD_W")
T_CL, T_RCD, T_RP, T_RC, T_RAS = region.fields("T_CL", "T_RCD", "T_RP", "T_RC", "T_RAS")
T_WR, T_CLK, T_REFI = region.fields("T_WR", "T_CLK", "T_REFI")
# read FIFO: its lines, columns read during the CAS latency (0: it is off), those of a row less one
READ_FIFO, AHEAD, COLUMN_MASK = region.fields("READ_FIFO", "AHEAD", "COLUMN_MASK")
BANKS, ROW_SHIFT, ROW_MASK, BANK_SHIFT = region.fields("BANKS", "ROW_SHIFT", "ROW_MASK", "BANK_SHIFT")
COMMAND, CS_HIGH = region.fields("COMMAND", "CS_HIGH")
# dynamic state (LAST_ADDRESS: of a QSPI the next in sequence, of an SDRAM the bank of LAST_WRITE)
BUSY, NEXT_REFRESH, LATCH = region.fields("BUSY", "NEXT_REFRESH", "LATCH")
LAST_ADDRESS, LAST_WRITE, ACCEL = region.fields("LAST_ADDRESS", "LAST_WRITE", "ACCEL")
OPEN = region.array("OPEN", MAX_BANKS)  # open row per bank, -1 closed
ACTIVATED = region.array("ACTIVATED", MAX_BANKS)  # time of the last ACTIVATE per bank
COLUMNS_HELD, COLUMNS = region.field("COLUMNS_HELD"), region.array("COLUMNS", MAX_COLUMNS)  # in the read FIFO
# counters: accesses, bytes, ticks the device was occupied, ticks the core stalled
READS, WRITES, READ_BYTES, WRITE_BYTES = region.fields("READS", "WRITES", "READ_BYTES", "WRITE_BYTES")
OCCUPIED, STALL, ROW_MISSES, REFRESHES = region.fields("OCCUPIED", "STALL", "ROW_MISSES", "REFRESHES")
A_HITS, A_MISSES, F_MISSES = region.fields("A_HITS", "A_MISSES", "F_MISSES")
# of the emulated core: lines of code it came to, ticks it stalled for them, found in the accelerator, by its prefetch
FETCHES, FETCH_STALL, F_HITS, F_PREFETCHED = region.fields("FETCHES", "FETCH_STALL", "F_HITS", "F_PREFETCHED")
# of transfers in flight: ticks of the core's stall while a beat held the memory, bytes of beats
WAITED, DMA_READ_BYTES, DMA_WRITE_BYTES = region.fields("WAITED", "DMA_READ_BYTES", "DMA_WRITE_BYTES")
SPARED = region.field("SPARED")  # ticks that reads would have taken longer without the read FIFO
COUNTERS = slice(READS, SPARED + 1)
# accelerator: place of its instruction lines, do data reads share them, does it prefetch, keep what it prefetched, end
# one for a miss; line the core is in, line prefetched, when it is there, count of look-ups
I_ACCEL, UNIFIED, PREFETCHES, KEEPS = region.fields("I_ACCEL", "UNIFIED", "PREFETCHES", "KEEPS")
CANCELS, CURRENT = region.fields("CANCELS", "CURRENT")
PREFETCH, PREFETCHED_AT, I_CLOCK = region.fields("PREFETCH", "PREFETCHED_AT", "I_CLOCK")
# transfers that touch the region; a beat holds it since, until; an access of the core holds it until
SHARED, HELD_SINCE, HELD, TAKEN = region.fields("SHARED", "HELD_SINCE", "HELD", "TAKEN")
# a flash that is being programmed or erased: which bits of an address count, from where to where it cannot be read, and
# until when (SHARED counts the operation)
P_MASK, P_LOW, P_HIGH, P_UNTIL = region.fields("P_MASK", "P_LOW", "P_HIGH", "P_UNTIL")
REGION = region.freeze()
assert REGION <= MOST_REGION

# cache block: geometry, the replacement policy's number and a clock for it; its lines come behind, set by set
cache = Record("cache")
C_SETS, C_WAYS, C_LINE, C_SHIFT = cache.fields("C_SETS", "C_WAYS", "C_LINE", "C_SHIFT")
C_REPLACE, C_WRITEBACK, C_CLOCK = cache.fields("C_REPLACE", "C_WRITEBACK", "C_CLOCK")
CACHE = cache.freeze()

cache_line = Record("cache line")
TAG = cache_line.field("TAG")  # line number, -1: the way is empty
AGE = cache_line.field("AGE")  # as the replacement policy means it, -1: the way is empty
DIRTY = cache_line.field("DIRTY")
CACHE_LINE = cache_line.freeze()

# instruction line of an accelerator (behind the first line of each hash bucket): number (-1 empty), age, next
flash_line = Record("instruction line")
I_TAG, I_AGE, I_NEXT = flash_line.fields("I_TAG", "I_AGE", "I_NEXT")
I_LINE = flash_line.freeze()

TCM, SRAM, FLASH, SDRAM, QSPI = range(5)
ATTRIBUTES = {"device": 0, "uncached": 0, "write-through": 1, "write-back": 2}

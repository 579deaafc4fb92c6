"""Where everything lives in the one int64 state array that the native memory functions share.

The array is: a header, one block per region (parameters, counters, dynamic state), the address ranges that map to the
blocks, and the tag arrays of the caches. Times in it are *ticks*: ``TICK`` of them make a core cycle, so that a
108 MHz memory beside a 200 MHz core keeps its ratio to half a tick a clock.
"""

from __future__ import annotations

TICK = 256  # ticks per core cycle
VISIT = 32  # bytes: no visit crosses such a line, the granule of the replayed streams (less under a shorter cache line)

# header
NOW, RANGES, RANGE_BASE, DCACHE, ICACHE, HITS, MISSES, WRITEBACKS, IHITS, IMISSES, SEED, LAST, SHIFT = range(13)
HEADER = 16

# range record: first address, end, region block, attribute (0 uncached, 1 write-through, 2 write-back)
LOW, HIGH, BLOCK, ATTRIBUTE = range(4)
RANGE = 4

# region block: kind and parameters (WIDTH is the log2 of the bytes of a beat, LINE that of a flash line) ...
KIND, LATENCY_R, LATENCY_W, BEAT, WIDTH, LINE, WAIT, A_LINES, I_LINES, HIDES, FIFO = range(11)
OVERHEAD_R, OVERHEAD_W, T_CL, T_RCD, T_RP, T_RC, T_RAS, T_WR, T_CLK, T_REFI = range(11, 21)
BANKS, ROW_SHIFT, ROW_MASK, BANK_SHIFT, COMMAND, CS_HIGH, CHANGE = range(21, 28)
# ... dynamic state ...
BUSY, NEXT_REFRESH, LATCH, LAST_ADDRESS, LAST_WRITE, ACCEL = range(28, 34)
OPEN = 34  # open row per bank, -1 closed
ACTIVATED = 50  # time of the last ACTIVATE per bank
# ... and counters: accesses, bytes, ticks the device was occupied, ticks the core stalled
READS, WRITES, READ_BYTES, WRITE_BYTES, OCCUPIED, STALL, ROW_MISSES, REFRESHES, A_HITS, A_MISSES, F_MISSES = range(
    66, 77
)
REGION = 80
COUNTERS = slice(READS, F_MISSES + 1)
MAX_BANKS = 16

# cache block: geometry, then per line: tag (-1 empty), age, dirty
C_SETS, C_WAYS, C_LINE, C_SHIFT, C_REPLACE, C_WRITEBACK, C_CLOCK = range(7)
CACHE = 8
LRU, ROUND_ROBIN, RANDOM = range(3)

TCM, SRAM, FLASH, SDRAM, QSPI = range(5)
ATTRIBUTES = {"uncached": 0, "write-through": 1, "write-back": 2}

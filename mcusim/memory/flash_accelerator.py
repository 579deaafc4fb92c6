"""ST's flash accelerator (ART) line by line: current line, prefetch of the next one, instruction lines with LRU.

ST RM0090 3.5.2: a line that is neither the current one, nor prefetched, nor held is read from flash, costs the wait
states, and is copied into the instruction lines. While the core asks for a line the next one is read, unless it is
held; a core that gets there early waits for the rest of that read, so that code in sequence takes the longer of its own
time and of one access a line. On the STM32F7 the lines are unified: data reads through the same port look them up too
(ST RM0385, ART accelerator).

What the manual leaves open, and what is taken here: a prefetched line is copied into the instruction lines when the
core comes to it (``keeps_prefetched``; without it, the manual to the letter, loops of dense code would be slower with
the prefetch than without it, while ST states that CoreMark runs as with 0 wait states); a miss ends a prefetch under
way (``cancels_prefetch``; else it waits until the flash is free). A read of data goes ahead likewise, as RM0090 gives
the D-Code bus priority, and the prefetch under way begins again behind it. A prefetch never delays the line that it
reads: one that waits for the flash when the core comes is read as a miss.

Not modelled: data reads of one basic block against the prefetches of its later lines in their true order (a block's
code is fetched when it begins); whether lines that are held start a prefetch is not documented, here they do.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import CodeLines, FlashLine, MemoryState, RegionState
from mcusim.native.functions import inlined, native

NO_LINE = -1


@inlined
def code_lines(memory: MemoryState, region: RegionState) -> CodeLines:
    """The instruction lines of the region's accelerator."""
    return CodeLines(memory, region.code_line_store)


@native
def find_line(memory: MemoryState, region: RegionState, line: int) -> int:
    """Index of flash line number ``line`` among the instruction lines, or NO_LINE."""
    held = code_lines(memory, region)
    index = held.first[line & (L.BUCKETS - 1)]
    while index >= 0 and held.lines[index].tag != line:
        index = held.lines[index].next
    return index


@native
def unlink(held: CodeLines, index: int) -> None:
    """Take the line at ``index`` out of its bucket."""
    line = held.lines[index]
    bucket = line.tag & (L.BUCKETS - 1)
    before = held.first[bucket]
    if before == index:
        held.first[bucket] = line.next
        return
    while held.lines[before].next != index:
        before = held.lines[before].next
    held.lines[before].next = line.next


@native
def touch(region: RegionState, line: FlashLine) -> None:
    """The line is the most recently used one."""
    region.lookups += 1
    line.age = region.lookups


@native
def insert(memory: MemoryState, region: RegionState, number: int) -> None:
    """Copy line ``number`` into the instruction lines in place of the least recently used one of its set."""
    held = code_lines(memory, region)
    ways = region.code_ways
    first = (number & (region.code_lines // ways - 1)) * ways
    index = first
    for other in range(first + 1, first + ways):
        if held.lines[other].age < held.lines[index].age:
            index = other
    line = held.lines[index]
    if line.tag >= 0:
        unlink(held, index)
    bucket = number & (L.BUCKETS - 1)
    line.tag, line.next = number, held.first[bucket]
    held.first[bucket] = index
    touch(region, line)


@native
def read_flash(memory: MemoryState, region: RegionState, line: int) -> int:
    """Read ``line`` of code from flash and keep it, now or when the prefetch under way is over; returns the wait."""
    now = memory.now
    left = max(0, region.busy_until - now)
    wait = region.wait + region.read_latency
    region.occupied += region.wait + region.beat
    if region.cancels_prefetch:
        region.occupied -= left
    else:
        wait += left
    region.reads += 1
    region.read_bytes += 1 << region.line_shift
    region.busy_until = now + wait
    if region.code_lines > 0:
        insert(memory, region, line)
    return wait


@native
def read_data(memory: MemoryState, region: RegionState) -> int:
    """A read of data goes to the flash; returns its wait in ticks, which puts off or is put off by a prefetch."""
    access = region.wait + region.beat
    wait = region.wait + region.read_latency
    left = region.prefetch_ready - memory.now
    region.occupied += access
    if left <= 0:
        return wait
    if region.cancels_prefetch == 0:
        return wait + (left if left <= access else 0)
    region.occupied += max(0, access - left)
    region.prefetch_ready = max(region.prefetch_ready, memory.now + wait + access)
    region.busy_until = max(region.busy_until, region.prefetch_ready)
    return wait


@native
def prefetch(memory: MemoryState, region: RegionState, line: int, now: int) -> None:
    """Start to read ``line`` after the one that the core gets at ``now``, unless it is present."""
    if region.prefetches == 0 or line == region.prefetched_line or find_line(memory, region, line) >= 0:
        return
    access = region.wait + region.beat
    region.prefetched_line = line
    region.prefetch_ready = max(now - region.beat, region.busy_until) + access
    region.busy_until = region.prefetch_ready
    region.occupied += access


@native
def miss(memory: MemoryState, region: RegionState, line: int) -> int:
    """The core comes to ``line``, which is not held; returns its wait in ticks."""
    left = region.prefetch_ready - memory.now
    if line == region.prefetched_line and (left <= region.wait + region.beat or region.cancels_prefetch == 0):
        region.prefetch_hits += 1
        if region.keeps_prefetched and region.code_lines > 0:
            insert(memory, region, line)
        return max(0, left)
    region.code_misses += 1
    if left > 0 and region.cancels_prefetch:
        region.prefetched_line, region.prefetch_ready = -1, 0
    return read_flash(memory, region, line)


@native
def fetch(memory: MemoryState, region: RegionState, line: int) -> int:
    """The core comes to code in flash line number ``line`` at ``memory.now``; returns its wait in ticks."""
    if line == region.current_line:
        region.code_hits += 1
        return 0
    region.current_line = line
    index = find_line(memory, region, line)
    if index >= 0:
        region.code_hits += 1
        touch(region, code_lines(memory, region).lines[index])
        wait = 0
    else:
        wait = miss(memory, region, line)
    prefetch(memory, region, line + 1, memory.now + wait)
    return wait


@native
def fetch_lines(memory: MemoryState, region: RegionState, address: int, end: int, rate: int) -> int:
    """Code from ``address`` to ``end``, line by line, the core taking ``rate`` / 65,536 ticks a byte; returns the wait.

    ``memory.now`` goes on by the wait.
    """
    shift = region.line_shift
    first = address >> shift
    begin = memory.now
    wait = 0
    for line in range(first, ((end - 1) >> shift) + 1):
        if line > first:
            memory.now = begin + wait + (((line << shift) - address) * rate >> 16)
        wait += fetch(memory, region, line)
    memory.now = begin + wait
    return wait


@native
def read(memory: MemoryState, region: RegionState, line: int) -> int:
    """A data read in flash line number ``line`` through unified lines; returns its wait in ticks."""
    index = find_line(memory, region, line)
    memory.last_block = -1
    if index >= 0:
        touch(region, code_lines(memory, region).lines[index])
    if index >= 0 or line == region.current_line:
        region.data_hits += 1
        return 0
    region.data_misses += 1
    if region.code_lines > 0:
        insert(memory, region, line)
    return read_data(memory, region)

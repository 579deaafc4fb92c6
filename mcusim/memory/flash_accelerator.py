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
from mcusim.native.compile import State, native


@native
def held(s: State, r: int, line: int) -> int:
    """Offset of the record of flash line number ``line`` among the instruction lines, or -1."""
    at = s[r + L.I_ACCEL]
    slot = s[at + (line & (L.BUCKETS - 1))]
    while slot >= 0 and s[slot + L.I_TAG] != line:
        slot = s[slot + L.I_NEXT]
    return slot


@native
def forget(s: State, at: int, slot: int) -> None:
    """Take the line in record ``slot`` out of its bucket."""
    here = at + (s[slot + L.I_TAG] & (L.BUCKETS - 1))
    while s[here] != slot:
        here = s[here] + L.I_NEXT
    s[here] = s[slot + L.I_NEXT]


@native
def used(s: State, r: int, slot: int) -> None:
    """The line in record ``slot`` is the most recently used one."""
    s[r + L.I_CLOCK] += 1
    s[slot + L.I_AGE] = s[r + L.I_CLOCK]


@native
def hold(s: State, r: int, line: int) -> None:
    """Copy ``line`` into the instruction lines in place of the least recently used one of its set."""
    at = s[r + L.I_ACCEL]
    ways = s[r + L.I_WAYS]
    slot = at + L.BUCKETS + (line & (s[r + L.I_LINES] // ways - 1)) * ways * L.I_LINE
    for other in range(slot + L.I_LINE, slot + ways * L.I_LINE, L.I_LINE):
        if s[other + L.I_AGE] < s[slot + L.I_AGE]:
            slot = other
    if s[slot + L.I_TAG] >= 0:
        forget(s, at, slot)
    bucket = at + (line & (L.BUCKETS - 1))
    s[slot + L.I_TAG], s[slot + L.I_NEXT] = line, s[bucket]
    s[bucket] = slot
    used(s, r, slot)


@native
def read_flash(s: State, r: int, line: int) -> int:
    """Read ``line`` of code from flash and keep it, now or when the prefetch under way is over; returns the wait."""
    now = s[L.NOW]
    left = max(0, s[r + L.BUSY] - now)
    wait = s[r + L.WAIT] + s[r + L.LATENCY_R]
    s[r + L.OCCUPIED] += s[r + L.WAIT] + s[r + L.BEAT]
    if s[r + L.CANCELS]:
        s[r + L.OCCUPIED] -= left
    else:
        wait += left
    s[r + L.READS] += 1
    s[r + L.READ_BYTES] += 1 << s[r + L.LINE]
    s[r + L.BUSY] = now + wait
    if s[r + L.I_LINES] > 0:
        hold(s, r, line)
    return wait


@native
def read_data(s: State, r: int) -> int:
    """A read of data goes to the flash; returns its wait in ticks, which puts off or is put off by a prefetch."""
    access = s[r + L.WAIT] + s[r + L.BEAT]
    wait = s[r + L.WAIT] + s[r + L.LATENCY_R]
    left = s[r + L.PREFETCHED_AT] - s[L.NOW]
    s[r + L.OCCUPIED] += access
    if left <= 0:
        return wait
    if s[r + L.CANCELS] == 0:
        return wait + (left if left <= access else 0)
    s[r + L.OCCUPIED] += max(0, access - left)
    s[r + L.PREFETCHED_AT] = max(s[r + L.PREFETCHED_AT], s[L.NOW] + wait + access)
    s[r + L.BUSY] = max(s[r + L.BUSY], s[r + L.PREFETCHED_AT])
    return wait


@native
def prefetch(s: State, r: int, line: int, now: int) -> None:
    """Start to read ``line`` after the one that the core gets at ``now``, unless it is present."""
    if s[r + L.PREFETCHES] == 0 or line == s[r + L.PREFETCH] or held(s, r, line) >= 0:
        return
    access = s[r + L.WAIT] + s[r + L.BEAT]
    s[r + L.PREFETCH] = line
    s[r + L.PREFETCHED_AT] = max(now - s[r + L.BEAT], s[r + L.BUSY]) + access
    s[r + L.BUSY] = s[r + L.PREFETCHED_AT]
    s[r + L.OCCUPIED] += access


@native
def missed(s: State, r: int, line: int) -> int:
    """The core comes to ``line``, which is not held; returns its wait in ticks."""
    left = s[r + L.PREFETCHED_AT] - s[L.NOW]
    if line == s[r + L.PREFETCH] and (left <= s[r + L.WAIT] + s[r + L.BEAT] or s[r + L.CANCELS] == 0):
        s[r + L.F_PREFETCHED] += 1
        if s[r + L.KEEPS] and s[r + L.I_LINES] > 0:
            hold(s, r, line)
        return max(0, left)
    s[r + L.F_MISSES] += 1
    if left > 0 and s[r + L.CANCELS]:
        s[r + L.PREFETCH], s[r + L.PREFETCHED_AT] = -1, 0
    return read_flash(s, r, line)


@native
def fetch(s: State, r: int, line: int) -> int:
    """The core comes to code in flash line number ``line`` at ``s[NOW]``; returns its wait in ticks."""
    if line == s[r + L.CURRENT]:
        s[r + L.F_HITS] += 1
        return 0
    s[r + L.CURRENT] = line
    slot = held(s, r, line)
    if slot >= 0:
        s[r + L.F_HITS] += 1
        used(s, r, slot)
        wait = 0
    else:
        wait = missed(s, r, line)
    prefetch(s, r, line + 1, s[L.NOW] + wait)
    return wait


@native
def fetch_lines(s: State, r: int, address: int, end: int, rate: int) -> int:
    """Code from ``address`` to ``end``, line by line, the core taking ``rate`` / 65,536 ticks a byte; returns the wait.

    ``s[NOW]`` goes on by the wait.
    """
    shift = s[r + L.LINE]
    first = address >> shift
    begin = s[L.NOW]
    wait = 0
    for line in range(first, ((end - 1) >> shift) + 1):
        if line > first:
            s[L.NOW] = begin + wait + (((line << shift) - address) * rate >> 16)
        wait += fetch(s, r, line)
    s[L.NOW] = begin + wait
    return wait


@native
def read(s: State, r: int, line: int) -> int:
    """A data read in flash line number ``line`` through unified lines; returns its wait in ticks."""
    slot = held(s, r, line)
    s[L.AGAIN] = -1
    if slot >= 0:
        used(s, r, slot)
    if slot >= 0 or line == s[r + L.CURRENT]:
        s[r + L.A_HITS] += 1
        return 0
    s[r + L.A_MISSES] += 1
    if s[r + L.I_LINES] > 0:
        hold(s, r, line)
    return read_data(s, r)

"""DMA transfers in flight: beat by beat next to the core, each waiting for what the other has of a memory.

A controller makes one beat (or burst, which is not cut) at a time; at each turn the ready stream of the highest
priority goes, equal ones alternate: a more urgent transfer pre-empts between beats. Before an access of the core to a
memory that a transfer touches, all half beats (reads, writes) that were due before it are made (``arrive``); then the
core waits while one holds the memory, and the next one waits for the core: they are served as they come, and alternate
where both always wait (round-robin, ST AN4031). Nothing is done for an access to any other memory.

Tightly coupled memory has a port of its own for the DMA here: neither waits for the other. A beat's bytes are moved
with its write (:mod:`mcusim.memory.cache.data`).

Not modelled: contention of two controllers, of the two ports of one flash, on the bus matrix between accesses
to different memories, beats between the fill and the write-back of one cache miss, and beats while the core writes
back a line, or a task the lines of its span, by cache maintenance (they come after it).
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import data
from mcusim.memory.dma import beats
from mcusim.native.compile import State, native, shared

__all__ = ["advance", "arrive", "attach", "mark_shared", "next_turn"]


@native
def mark_shared(s: State, r: int) -> None:
    """Ranges of block ``r`` where no access waits are such no more while a transfer touches it."""
    for i in range(s[L.RANGES]):
        q = s[L.RANGE_BASE] + i * L.RANGE
        if s[q + L.BLOCK] == r and s[q + L.FLAGS] & L.FREE:
            s[q + L.FLAGS] += L.UNLESS_SHARED - L.FREE


@native
def detach(s: State, r: int) -> None:
    """One transfer less touches block ``r``."""
    s[r + L.SHARED] -= 1
    if s[r + L.SHARED]:
        return
    for i in range(s[L.RANGES]):
        q = s[L.RANGE_BASE] + i * L.RANGE
        if s[q + L.BLOCK] == r and s[q + L.FLAGS] & L.UNLESS_SHARED:
            s[q + L.FLAGS] += L.FREE - L.UNLESS_SHARED


@native
def next_turn(s: State, k: int) -> None:
    """Controller ``k`` is between two beats: when the next one begins."""
    first = L.NEVER
    for i in range(s[L.SLOTS]):
        f = L.TRANSFERS + i * L.TRANSFER
        if s[f + L.D_STATE] == L.ACTIVE and s[f + L.D_CONTROLLER] == k:
            first = min(first, s[f + L.D_BEGIN])
    s[k + L.K_AT] = max(first, s[k + L.K_FREE])
    s[L.NEXT_BEAT] = min(s[L.NEXT_BEAT], s[k + L.K_AT])


@native
def attach(s: State, f: int) -> None:
    """Transfer ``f`` is filled in: its controller takes it up."""
    s[f + L.D_STATE], s[f + L.D_CHUNK] = L.ACTIVE, 0
    for i in range(62):
        if s[f + L.D_SHARES] >> i & 1:
            r = L.HEADER + i * L.REGION
            if s[r + L.SHARED] == 0:
                s[r + L.TAKEN] = s[r + L.BUSY]
            s[r + L.SHARED] += 1
            mark_shared(s, r)
    k = s[f + L.D_CONTROLLER]
    if s[k + L.K_TRANSFER] == 0:
        next_turn(s, k)


@native
def choose(s: State, k: int) -> int:
    """The transfer that controller ``k`` serves now: the highest priority, of equals the one after the last served."""
    best = -1
    for i in range(1, s[L.SLOTS] + 1):
        f = L.TRANSFERS + (s[k + L.K_LAST] + i) % s[L.SLOTS] * L.TRANSFER
        if s[f + L.D_STATE] != L.ACTIVE or s[f + L.D_CONTROLLER] != k or s[f + L.D_BEGIN] > s[k + L.K_AT]:
            continue
        if best < 0 or s[f + L.D_PRIORITY] > s[best + L.D_PRIORITY]:
            best = f
    return best


@native
def complete(s: State, f: int, end: int) -> None:
    """All beats are made; the memories are shared until the last one lets go of them."""
    s[f + L.D_STATE], s[f + L.D_END] = L.DONE, end
    release = end
    for i in range(62):
        if s[f + L.D_SHARES] >> i & 1:
            release = max(release, s[L.HEADER + i * L.REGION + L.HELD])
    s[f + L.D_RELEASE] = release
    s[L.NEXT_RELEASE] = min(s[L.NEXT_RELEASE], release)


@native
def release(s: State) -> None:
    """Let go of the memories of transfers whose time has come."""
    now = s[L.NEXT_RELEASE]
    s[L.NEXT_RELEASE] = L.NEVER
    for j in range(s[L.SLOTS]):
        f = L.TRANSFERS + j * L.TRANSFER
        if s[f + L.D_STATE] < L.DONE or s[f + L.D_RELEASE] == L.NEVER:
            continue
        if s[f + L.D_RELEASE] > now:
            s[L.NEXT_RELEASE] = min(s[L.NEXT_RELEASE], s[f + L.D_RELEASE])
            continue
        s[f + L.D_RELEASE] = L.NEVER
        for i in range(62):
            if s[f + L.D_SHARES] >> i & 1:
                detach(s, L.HEADER + i * L.REGION)
        if s[f + L.D_STATE] == L.REPORTED:
            s[f + L.D_STATE] = L.IDLE


@native
def read_half(s: State, k: int) -> None:
    """Controller ``k`` has its turn: the read of one beat, and when its write will come."""
    f = choose(s, k)
    start = s[k + L.K_AT]
    fresh = s[f + L.D_CHUNK] == 0
    if fresh and beats.begin_chunk(s, f) == 0:
        complete(s, f, start)
        next_turn(s, k)
        return
    r = s[f + L.D_FROM]
    slot = (f - L.TRANSFERS) // L.TRANSFER
    if s[r + L.KIND] != L.TCM:
        start = max(start, s[r + L.TAKEN])
        if slot != s[k + L.K_LAST]:
            start = max(start, s[r + L.HELD])
    s[L.NOW] = start
    if fresh:
        beats.plan_chunk(s, f)
    else:
        s[f + L.D_SHIFT] += start - s[f + L.D_EXPECTED]
    count = min(s[f + L.D_STEP], s[f + L.D_CHUNK])
    b = (count + s[f + L.D_BEAT] - 1) // s[f + L.D_BEAT]
    s[f + L.D_BYTES], s[f + L.D_BEATS] = count, b
    until = start + beats.read(s, f) + s[f + L.D_OWN] + (b - 1) * s[f + L.D_CLOCK]
    to = s[f + L.D_TO]
    held = b * s[to + L.BEAT] if s[to + L.KIND] == L.SRAM else 1
    s[f + L.D_UNTIL] = until
    s[k + L.K_TRANSFER], s[k + L.K_LAST], s[k + L.K_AT] = f, slot, max(start, until - held)


@native
def write_half(s: State, k: int) -> None:
    """The write of the beat that controller ``k`` has read."""
    f = s[k + L.K_TRANSFER]
    r = s[f + L.D_TO]
    due = start = s[k + L.K_AT]
    if s[r + L.KIND] != L.TCM and s[r + L.KIND] != L.SDRAM:
        start = max(due, s[r + L.TAKEN])
    s[f + L.D_SHIFT] += start - due
    s[L.NOW] = start
    end = s[f + L.D_UNTIL] + start - due + beats.write(s, f)
    n = s[f + L.D_BYTES]
    data.move(s, f, n)
    s[s[f + L.D_FROM] + L.DMA_READ_BYTES] += n
    s[r + L.DMA_WRITE_BYTES] += n
    s[f + L.D_SOURCE] += n
    s[f + L.D_TARGET] += n
    s[f + L.D_LEFT] -= n
    s[f + L.D_CHUNK] -= n
    s[f + L.D_NEXT] += 1
    s[f + L.D_EXPECTED] = end
    if s[f + L.D_CHUNK] == 0:
        beats.settle(s, f)
    s[k + L.K_TRANSFER], s[k + L.K_FREE], s[k + L.K_AT] = 0, end, end
    if s[f + L.D_LEFT] == 0:
        complete(s, f, end)
        next_turn(s, k)


@shared
def advance(s: State, until: int) -> None:
    """Make all half beats that are due before ``until``; ``s[NOW]`` stays."""
    now = s[L.NOW]
    while min(s[L.NEXT_BEAT], s[L.NEXT_RELEASE]) < until:
        if s[L.NEXT_RELEASE] <= s[L.NEXT_BEAT]:
            release(s)
            continue
        for k in range(L.CONTROLLERS, L.CONTROLLERS_END, L.CONTROLLER):
            if s[k + L.K_AT] == s[L.NEXT_BEAT]:
                if s[k + L.K_TRANSFER]:
                    write_half(s, k)
                else:
                    read_half(s, k)
                break
        first = L.NEVER
        for k in range(L.CONTROLLERS, L.CONTROLLERS_END, L.CONTROLLER):
            first = min(first, s[k + L.K_AT])
        s[L.NEXT_BEAT] = first
    s[L.NOW] = now


@native
def arrive(s: State, r: int) -> None:
    """The core is about to use block ``r`` at ``s[NOW]``: beats due before are made, one under way keeps it busy.

    Of a beat and an access that come at the same moment the one goes first whose master was not served last.
    """
    now = s[L.NOW]
    if min(s[L.NEXT_BEAT], s[L.NEXT_RELEASE]) < now:
        advance(s, now)
    if s[r + L.KIND] == L.TCM:  # nobody waits there, but the core sees what has arrived
        return
    if s[L.NEXT_BEAT] == now and s[r + L.TAKEN] > s[r + L.HELD]:
        advance(s, now + 1)
    if s[r + L.HELD] > now:
        s[r + L.BUSY] = max(s[r + L.BUSY], s[r + L.HELD])

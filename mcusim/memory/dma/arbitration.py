"""DMA transfers in flight: beat by beat next to the core, each waiting for what the other has of a memory.

Each of a controller's two ports makes one access (a beat, or a burst, which is not cut) at a time; at each turn the
ready stream of the highest priority goes, equal ones alternate: a more urgent transfer pre-empts between beats. Before
an access of the core to a memory that a transfer touches, all accesses that were due before it are made (``arrive``);
then the core waits while one holds the memory, and the next one waits for the core: they are served as they come, and
alternate where both always wait (round-robin, ST AN4031). Nothing is done for an access to any other memory.

Tightly coupled memory has a port of its own for the DMA here: neither waits for the other. A beat's bytes are moved
with its write (:mod:`mcusim.memory.cache.data`).

Not modelled: a stream is chosen when its access begins, not when its port's arbitration does; a beat's bytes are those
of the source when it is written, not when it was read; contention of two controllers, of the two ports of one flash, on
the bus matrix between accesses to different memories, beats between the fill and the write-back of one cache miss, and
beats while the core writes back a line, or a task the lines of its span, by cache maintenance (they come after it).
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import data
from mcusim.memory.dma import beats
from mcusim.memory.range_lookup import find
from mcusim.native.compile import State, native, shared


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
def due(s: State, f: int, p: int, writing: int) -> int:
    """When transfer ``f`` could have its next access by port ``p``: NEVER or later if it has to wait for the other."""
    if writing:
        return max(beats.next_write(s, f), s[p + L.P_FREE]) + s[f + L.D_BEFORE_WRITE]
    return max(beats.next_read(s, f), s[p + L.P_FREE]) + s[f + L.D_BEFORE_READ]


@native
def next_turn(s: State, k: int) -> None:
    """When the next accesses of controller ``k`` begin."""
    for writing in range(2):
        p = k + (L.WRITING if writing else L.READING)
        first = L.NEVER
        for i in range(s[L.SLOTS]):
            f = L.TRANSFERS + i * L.TRANSFER
            if s[f + L.D_STATE] == L.ACTIVE and s[f + L.D_CONTROLLER] == k:
                first = min(first, due(s, f, p, writing))
        s[p + L.P_AT] = first
        s[L.NEXT_BEAT] = min(s[L.NEXT_BEAT], first)


@native
def attach(s: State, f: int) -> None:
    """Transfer ``f`` is filled in: its controller takes it up."""
    s[f + L.D_STATE] = L.ACTIVE
    for i in range(62):
        if s[f + L.D_SHARES] >> i & 1:
            r = L.HEADER + i * L.REGION
            if s[r + L.SHARED] == 0:
                s[r + L.TAKEN] = s[r + L.BUSY]
            s[r + L.SHARED] += 1
            mark_shared(s, r)
    next_turn(s, s[f + L.D_CONTROLLER])


@native
def choose(s: State, k: int, p: int, writing: int) -> int:
    """The transfer that port ``p`` of controller ``k`` serves now: the highest priority, of equals the one after the
    last served."""
    best = -1
    for i in range(1, s[L.SLOTS] + 1):
        f = L.TRANSFERS + (s[p + L.P_LAST] + i) % s[L.SLOTS] * L.TRANSFER
        if s[f + L.D_STATE] != L.ACTIVE or s[f + L.D_CONTROLLER] != k or due(s, f, p, writing) > s[p + L.P_AT]:
            continue
        if best < 0 or s[f + L.D_PRIORITY] > s[best + L.D_PRIORITY]:
            best = f
    s[p + L.P_LAST] = (best - L.TRANSFERS) // L.TRANSFER
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
def read_access(s: State, k: int) -> None:
    """The reading port of controller ``k`` has its turn."""
    p = k + L.READING
    f = choose(s, k, p, 0)
    start = s[p + L.P_AT]
    r = beats.source_of(s, f)
    if r < 0:
        complete(s, f, start)
        return
    if s[r + L.KIND] != L.TCM:
        start = max(start, s[r + L.TAKEN])
    s[L.NOW] = start
    s[r + L.DMA_READ_BYTES] += beats.read(s, f, r)
    s[p + L.P_FREE] = s[f + L.D_READ_END]


@native
def write_access(s: State, k: int) -> None:
    """The writing port of controller ``k`` has its turn."""
    p = k + L.WRITING
    f = choose(s, k, p, 1)
    start = s[p + L.P_AT]
    fresh = s[f + L.D_CHUNK] == 0
    r = beats.target_of(s, f)
    if r < 0:
        complete(s, f, start)
        return
    if fresh:
        data.begin(s, f, find(s, s[f + L.D_SOURCE]), find(s, s[f + L.D_TARGET]))
    if s[r + L.KIND] != L.TCM and s[r + L.KIND] != L.SDRAM:
        start = max(start, s[r + L.TAKEN])
    s[L.NOW] = start
    size = beats.write(s, f, r)
    data.move(s, f, size)
    s[r + L.DMA_WRITE_BYTES] += size
    beats.moved(s, f, size)
    end = s[p + L.P_FREE] = s[f + L.D_WRITE_END]
    if s[f + L.D_LEFT] == 0:
        complete(s, f, end)


@shared
def advance(s: State, until: int) -> None:
    """Make all accesses that are due before ``until``; ``s[NOW]`` stays."""
    now = s[L.NOW]
    while min(s[L.NEXT_BEAT], s[L.NEXT_RELEASE]) < until:
        if s[L.NEXT_RELEASE] <= s[L.NEXT_BEAT]:
            release(s)
            continue
        k = L.CONTROLLERS
        while s[L.NEXT_BEAT] not in (s[k + L.READING + L.P_AT], s[k + L.WRITING + L.P_AT]):
            k += L.CONTROLLER
        if s[k + L.READING + L.P_AT] == s[L.NEXT_BEAT]:
            read_access(s, k)
        else:
            write_access(s, k)
        s[L.NEXT_BEAT] = L.NEVER
        next_turn(s, k)
        for other in range(L.CONTROLLERS, L.CONTROLLERS_END, L.CONTROLLER):
            s[L.NEXT_BEAT] = min(s[L.NEXT_BEAT], s[other + L.READING + L.P_AT], s[other + L.WRITING + L.P_AT])
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

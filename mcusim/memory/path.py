"""The one access path: every load, store, fetch and DMA beat of a simulated machine goes through these functions.

They are numba functions over the state array of :mod:`mcusim.memory.layout`; kernels' streams call ``walk`` natively.
Each access is counted at the region that answers it (behind the cache), and a stall is charged to that region.

Left out: the core's write buffer beyond one memory, exclusive accesses, MPU regions set at run time.
"""

from __future__ import annotations

from typing import Any

from mcusim.memory import cache, devices
from mcusim.memory import layout as L
from mcusim.memory.native import native

State = Any


@native
def visit(s: State, address: int, n: int, size: int, write: int, gap: int, inter: int) -> int:
    """``n`` accesses of ``size`` bytes ascending from ``address`` in one 32-byte line, ``gap`` ticks of work each.

    Advances the clock by the work and the stall and returns the stall in ticks. An address outside every region
    counts as free: the engine has checked all operands before.
    """
    q = cache.region_of(s, address)
    if q < 0:
        s[L.NOW] += n * gap
        return 0
    r = s[q + L.BLOCK]
    if s[q + L.ATTRIBUTE] > 0 and s[L.DCACHE] > 0:
        stall = cache.access(s, q, address, n, size, write, gap)
    else:
        if write:
            s[r + L.WRITES] += n
            s[r + L.WRITE_BYTES] += n * size
        else:
            s[r + L.READS] += n
            s[r + L.READ_BYTES] += n * size
        stall = devices.run(s, r, address, n, size, write, gap, inter)
    s[r + L.STALL] += stall
    s[L.NOW] += n * gap + stall
    return stall


@native
def walk(s: State, address: int, bytes_: int, size: int, write: int, gap: int, inter: int) -> None:
    """Accesses of ``size`` bytes over a contiguous range, split into visits."""
    q = cache.region_of(s, address)
    plain = q >= 0 and (s[q + L.ATTRIBUTE] == 0 or s[L.DCACHE] == 0)
    if plain and s[s[q + L.BLOCK] + L.KIND] <= L.SRAM and address + bytes_ <= s[q + L.HIGH]:
        visit(s, address, (bytes_ + size - 1) // size, size, write, gap, inter)  # no state: one step
        return
    end = address + bytes_
    while address < end:
        stop = min(end, ((address >> L.VISIT_SHIFT) + 1) << L.VISIT_SHIFT)
        visit(s, address, (stop - address + size - 1) // size, size, write, gap, inter)
        address = stop


@native
def cached_fetch(s: State, address: int, bytes_: int, sweeps: int) -> int:
    """Instruction fetch through the I-cache; returns the stall in ticks."""
    c = s[L.ICACHE]
    line = s[c + L.C_LINE]
    lines = (bytes_ + line - 1) // line
    stall = 0
    before = s[L.NOW]
    for i in range(lines):
        ticks = cache.fetch_line(s, address + i * line)
        stall += ticks
        s[L.NOW] += ticks
    if lines > s[c + L.C_SETS] * s[c + L.C_WAYS] and sweeps > 1:
        stall += stall * (sweeps - 1)
    s[L.NOW] = before + stall
    return stall


@native
def fetch(s: State, address: int, bytes_: int, sweeps: int, cold: int, executed: int) -> int:
    """Instruction fetch of a kernel whose loops sweep ``bytes_`` of code ``sweeps`` times; returns the stall in ticks.

    With an I-cache that holds the code, the first sweep of a call fills it line by line; code that is larger than the
    I-cache, or than the flash accelerator's instruction lines, misses on every line of every sweep (cyclic LRU). Of a
    miss the sequential prefetch hides ``prefetch_hides``. Without either, all ``executed`` bytes come from flash.
    ``cold`` says that the operator starts.
    """
    q = cache.region_of(s, address)
    if q < 0:
        return 0
    r = s[q + L.BLOCK]
    if s[r + L.KIND] == L.TCM:
        return 0
    if s[L.ICACHE] > 0:
        stall = cached_fetch(s, address, bytes_, sweeps)
        s[r + L.STALL] += stall
        return stall
    if s[r + L.KIND] == L.SRAM:
        return 0
    line = 1 << s[r + L.LINE]
    lines = (bytes_ + line - 1) // line
    if s[r + L.I_LINES] == 0:
        missed = executed // line
    elif lines > s[r + L.I_LINES]:
        missed = lines * sweeps
    else:
        missed = lines * cold
    stall = missed * max(0, s[r + L.WAIT] + L.TICK + s[r + L.LATENCY_R] - s[r + L.HIDES])
    s[r + L.F_MISSES] += missed
    s[r + L.READ_BYTES] += missed * line
    s[r + L.STALL] += stall
    s[L.NOW] += stall
    return stall


@native
def dma(s: State, source: int, target: int, bytes_: int, beat: int, burst: int, read: int, write: int) -> int:
    """Ticks of one undisturbed memory-to-memory transfer; ``read`` and ``write`` are the controller's ticks a beat.

    The two ports alternate (a 16-byte FIFO hides little of single beats): a beat costs the source memory's read, the
    target memory's write and the controller's own time; a burst shares the source's access.
    """
    qs = cache.region_of(s, source)
    qt = cache.region_of(s, target)
    if qs < 0 or qt < 0:
        return 0
    rs = s[qs + L.BLOCK]
    rt = s[qt + L.BLOCK]
    begin = s[L.NOW]
    at = 0
    step = beat * burst
    while at < bytes_:
        chunk = min(bytes_ - at, max(step, L.VISIT))
        n = (chunk + step - 1) // step
        own = burst * (read + write)
        stall = devices.run(s, rs, source + at, n, min(step, chunk), 0, own, 0)
        stall += devices.run(s, rt, target + at, n * burst, beat, 1, own // burst, 0)
        s[L.NOW] += stall + n * own
        s[rs + L.READS] += n
        s[rs + L.READ_BYTES] += chunk
        s[rt + L.WRITES] += n * burst
        s[rt + L.WRITE_BYTES] += chunk
        at += chunk
    return s[L.NOW] - begin


@native
def sync(s: State, now: int, first: int, count: int) -> None:
    """Set the clock to ``now``; what a task simulated ahead of others left in the future is brought back to now."""
    s[L.NOW] = now
    for i in range(count):
        r = first + i * L.REGION
        s[r + L.BUSY] = min(s[r + L.BUSY], now)
        s[r + L.LAST_WRITE] = min(s[r + L.LAST_WRITE], now)
        if s[r + L.T_REFI] > 0 and s[r + L.NEXT_REFRESH] > now + s[r + L.T_REFI]:
            s[r + L.NEXT_REFRESH] = now + s[r + L.T_REFI]
        for b in range(s[r + L.BANKS]):
            s[r + L.ACTIVATED + b] = min(s[r + L.ACTIVATED + b], now)

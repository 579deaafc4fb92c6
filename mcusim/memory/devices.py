"""Timing of one device, access by access: SRAM, flash with its accelerator, SDRAM rows and refresh, QSPI.

Every function takes the state array ``s`` and the offset ``r`` of the region's block, returns the ticks the core stalls
beyond an ideal load or store, and moves the device's own state (open rows, latched line, time until it is busy).

``run`` serves ``n`` accesses of ``size`` bytes at ascending addresses, ``gap`` ticks of core work apart, all inside one
32-byte visit. ``inter`` says that other streams run between them: then a row that had to be opened has to be opened
again for each of them. ``line`` moves one cache line.

SDRAM: a read is controller overhead + CL + one clock a beat (burst length 1, as the boards set it), the overhead alone
where the controller has read all of it ahead (:mod:`mcusim.memory.read_fifo`); an access to
another row of the bank adds tRP + tRCD, held back by tRAS, tRC and tWR; a write is posted, the core waits only when the
controller's FIFO is full; a refresh every tREFI, behind an access under way, closes all rows for tRP + tRC.

Not modelled: columns read ahead for several streams that alternate in one visit (``inter``; they find none), a line's
fill that begins at another word than its first, reordering in the controller, QSPI writes, and parts with more than 16
banks.
"""

from __future__ import annotations

from mcusim.memory import flash_accelerator, read_fifo
from mcusim.memory import state_layout as L
from mcusim.memory.film import record as film
from mcusim.native.compile import State, inlined, native


@inlined
def bank_of(s: State, r: int, address: int) -> int:
    """The SDRAM bank of ``address``."""
    return (address >> s[r + L.BANK_SHIFT]) & (s[r + L.BANKS] - 1)


@inlined
def sdram_row(s: State, r: int, address: int, start: int) -> int:
    """Ticks until the column command may go out: 0 for an open row; opens the row. Honours tRC, tRAS, tWR, refresh."""
    wait = 0
    if s[r + L.T_REFI] > 0 and start >= s[r + L.NEXT_REFRESH]:
        if s[L.FILM]:
            film.note(s, film.REFRESH, r, 0, 0)
        for b in range(s[r + L.BANKS]):
            s[r + L.OPEN + b] = -1
        read_fifo.flush(s, r)
        late = (start - s[r + L.NEXT_REFRESH]) // s[r + L.T_REFI]
        last = s[r + L.NEXT_REFRESH] + late * s[r + L.T_REFI]
        begun = max(last, s[r + L.BUSY])  # not in the middle of an access; in an idle gap it costs nothing
        wait = max(0, begun + s[r + L.T_RP] + s[r + L.T_RC] - start)
        s[r + L.NEXT_REFRESH] = last + s[r + L.T_REFI]
        s[r + L.REFRESHES] += late + 1
    bank = bank_of(s, r, address)
    row = (address >> s[r + L.ROW_SHIFT]) & s[r + L.ROW_MASK]
    if s[r + L.OPEN + bank] == row:
        return wait
    if s[L.FILM]:
        film.note(s, film.ROW, r, bank, row)
    at = start + wait
    activated = s[r + L.ACTIVATED + bank]
    if s[r + L.OPEN + bank] >= 0:
        read_fifo.flush(s, r)
        ready = activated + s[r + L.T_RAS]
        if s[r + L.LAST_ADDRESS] == bank:  # older writes, in other banks, are over for longer than tWR
            ready = max(ready, s[r + L.LAST_WRITE] + s[r + L.T_WR])
        at = max(at, ready) + s[r + L.T_RP]
    at = max(at, activated + s[r + L.T_RC])
    s[r + L.OPEN + bank] = row
    s[r + L.ACTIVATED + bank] = at
    s[r + L.ROW_MISSES] += 1
    return at + s[r + L.T_RCD] - start


@inlined
def columns(s: State, r: int, address: int, beats: int) -> int:
    """Ticks of a read of ``beats`` columns of an open row, 0 if all were read ahead."""
    if s[r + L.AHEAD] == 0:
        return s[r + L.T_CL] + beats * s[r + L.T_CLK]
    column = address >> s[r + L.WIDTH]
    missing = beats - read_fifo.given(s, r, column, beats)
    s[r + L.SPARED] += (beats - missing) * s[r + L.T_CLK]
    if missing == 0:
        s[r + L.SPARED] += s[r + L.T_CL]
        return 0
    read_fifo.read_ahead(s, r, column + beats)
    return s[r + L.T_CL] + missing * s[r + L.T_CLK]


@native
def sdram_read(s: State, r: int, address: int, size: int, overhead: int) -> int:
    """One read past the cache, at ``s[NOW]``; returns its ticks, of which ``overhead`` are not the memory's."""
    now = s[L.NOW]
    beats = max(1, (size + (1 << s[r + L.WIDTH]) - 1) >> s[r + L.WIDTH])
    start = max(now, s[r + L.BUSY])
    ticks = sdram_row(s, r, address, start) + overhead + columns(s, r, address, beats)
    s[r + L.OCCUPIED] += ticks
    s[r + L.BUSY] = start + ticks
    return start + ticks - now


@native
def sdram_reads(s: State, r: int, address: int, n: int, size: int) -> int:
    """``n`` reads of one stream, some of whose columns may have been read ahead."""
    now = s[L.NOW]
    for i in range(n):
        sdram_read(s, r, address + i * size, size, s[r + L.OVERHEAD_R])
    return s[r + L.BUSY] - now


@native
def sdram_run(s: State, r: int, address: int, n: int, size: int, write: int, gap: int, inter: int) -> int:
    """``n`` uncached accesses; see the module's text."""
    now = s[L.NOW]
    if s[r + L.AHEAD]:
        if not write and not inter:
            return sdram_reads(s, r, address, n, size)
        read_fifo.flush(s, r)
    beats = max(1, (size + (1 << s[r + L.WIDTH]) - 1) >> s[r + L.WIDTH])
    start = max(now, s[r + L.BUSY])
    row = sdram_row(s, r, address, start)
    again = s[r + L.T_RP] + s[r + L.T_RCD] if inter and row > 0 else 0
    if write:
        each = s[r + L.OVERHEAD_W] + beats * s[r + L.T_CLK]
        total = row + n * each + (n - 1) * again
        s[r + L.OCCUPIED] += total
        s[r + L.LAST_WRITE], s[r + L.LAST_ADDRESS] = start + total, bank_of(s, r, address)
        s[r + L.BUSY] = start + total
        backlog = start + total - s[r + L.FIFO] * each - (now + n * gap)
        if again:
            s[r + L.ROW_MISSES] += n - 1
        return max(0, backlog)
    each = s[r + L.OVERHEAD_R] + s[r + L.T_CL] + beats * s[r + L.T_CLK]
    if again:
        s[r + L.ROW_MISSES] += n - 1
    stall = (start - now) + row + n * each + (n - 1) * again
    s[r + L.OCCUPIED] += row + n * each + (n - 1) * again
    s[r + L.BUSY] = now + stall
    return stall


@inlined
def sdram_line(s: State, r: int, address: int, line: int, write: int, start: int) -> tuple[int, int]:
    """One cache line from ``start``: ticks until the first (critical) word, and until the last."""
    beats = max(1, line >> s[r + L.WIDTH])
    row = sdram_row(s, r, address, start)
    if write:
        read_fifo.flush(s, r)
        first = row + s[r + L.OVERHEAD_W]
        last = first + beats * s[r + L.T_CLK]
        s[r + L.LAST_WRITE], s[r + L.LAST_ADDRESS] = start + last, bank_of(s, r, address)
    else:
        head = row + s[r + L.OVERHEAD_R]
        last = head + columns(s, r, address, beats)
        first = last - (beats - max(1, 8 >> s[r + L.WIDTH])) * s[r + L.T_CLK]
    s[r + L.OCCUPIED] += last
    s[r + L.BUSY] = start + last
    return first, last


@native
def qspi_read(s: State, r: int, address: int, size: int) -> int:
    """Ticks for ``size`` bytes: a new command unless they follow the last ones."""
    data = size * s[r + L.BEAT]
    if address == s[r + L.LAST_ADDRESS]:
        ticks = data
    else:
        ticks = s[r + L.COMMAND] + data + s[r + L.CS_HIGH]
    s[r + L.LAST_ADDRESS] = address + size
    s[r + L.OCCUPIED] += ticks
    return ticks + s[r + L.OVERHEAD_R]


@native
def flash_line(s: State, r: int, address: int) -> int:
    """Ticks for a data read through the accelerator's data lines (LRU), or through the one-line read latch."""
    line = address >> s[r + L.LINE]
    lines = s[r + L.A_LINES]
    if s[r + L.UNIFIED]:
        return flash_accelerator.read(s, r, line)
    if lines == 0:
        if s[r + L.LATCH] == line:
            return 0
        s[r + L.LATCH] = line
        s[r + L.OCCUPIED] += s[r + L.WAIT] + s[r + L.BEAT]
        return s[r + L.WAIT] + s[r + L.LATENCY_R]
    ways = s[r + L.A_WAYS]
    base = s[r + L.ACCEL] + (line & (lines // ways - 1)) * ways
    place = ways - 1
    hit = False
    for i in range(ways):
        if s[base + i] == line:
            place = i
            hit = True
            break
    for i in range(place, 0, -1):
        s[base + i] = s[base + i - 1]
    s[base] = line
    if hit:
        s[r + L.A_HITS] += 1
        return 0
    s[r + L.A_MISSES] += 1
    return flash_accelerator.read_data(s, r)


@inlined
def run(s: State, r: int, address: int, n: int, size: int, write: int, gap: int, inter: int) -> int:
    """``n`` uncached accesses of any device; returns the core's stall in ticks."""
    kind = s[r + L.KIND]
    if kind == L.TCM:
        return 0
    if kind == L.SRAM:
        s[r + L.OCCUPIED] += n * s[r + L.BEAT]
        if write:
            return n * max(0, s[r + L.LATENCY_W] - gap)
        return n * s[r + L.LATENCY_R]
    if kind == L.SDRAM:
        return sdram_run(s, r, address, n, size, write, gap, inter)
    if kind == L.FLASH:
        if s[r + L.A_LINES] == 0 and inter:
            s[r + L.LATCH] = -1  # another stream used the latch in between
            return n * flash_line(s, r, address)
        stall = 0
        last = -1
        for i in range(n):
            line = (address + i * size) >> s[r + L.LINE]
            if line != last:
                stall += flash_line(s, r, address + i * size)
                last = line
        return stall
    stall = 0
    for i in range(n):
        if inter:
            s[r + L.LAST_ADDRESS] = -1
        stall += qspi_read(s, r, address + i * size, size)
    return stall


@inlined
def line(s: State, r: int, address: int, bytes_: int, write: int, start: int) -> tuple[int, int]:
    """One cache line of any device from ``start``: ticks until the first word and until the last."""
    kind = s[r + L.KIND]
    if kind == L.SDRAM:
        return sdram_line(s, r, address, bytes_, write, start)
    if kind == L.SRAM:
        latency = s[r + L.LATENCY_W] if write else s[r + L.LATENCY_R]
        beats = max(1, bytes_ >> s[r + L.WIDTH])
        s[r + L.OCCUPIED] += beats * s[r + L.BEAT]
        s[r + L.BUSY] = start + latency + (beats - 1) * s[r + L.BEAT]
        return latency, latency + (beats - 1) * s[r + L.BEAT]
    if kind == L.FLASH:
        latency = s[r + L.LATENCY_R]
        total = 0
        for _ in range(max(1, bytes_ >> s[r + L.LINE])):
            total += s[r + L.WAIT]
        beats = max(1, bytes_ >> 3)
        stream = (beats - 1) * s[r + L.BEAT]
        s[r + L.OCCUPIED] += total + beats * s[r + L.BEAT]
        s[r + L.BUSY] = start + latency + total + stream
        return latency + s[r + L.WAIT], latency + total + stream
    ticks = qspi_read(s, r, address, bytes_)
    s[r + L.BUSY] = start + ticks
    return ticks - (bytes_ - 8) * s[r + L.BEAT], ticks

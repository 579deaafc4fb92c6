"""Timing of one device, access by access: SRAM, flash with its accelerator, SDRAM rows and refresh, QSPI.

Every function takes the memory system's state and the region's, returns the ticks the core stalls beyond an ideal load
or store, and moves the device's own state (open rows, latched line, time until it is busy).

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
from mcusim.memory.film import events
from mcusim.memory.film import record as film
from mcusim.memory.state_layout import AccessStream, MemoryState, RegionState
from mcusim.native.functions import inlined, native
from mcusim.native.structs import Words, words_between


@inlined
def bank_of(region: RegionState, address: int) -> int:
    """The SDRAM bank of ``address``."""
    return (address >> region.bank_shift) & (region.banks - 1)


@inlined
def sdram_row(memory: MemoryState, region: RegionState, address: int, start: int) -> int:
    """Ticks until the column command may go out: 0 for an open row; opens the row. Honours tRC, tRAS, tWR, refresh."""
    wait = 0
    if region.t_refi > 0 and start >= region.next_refresh:
        if memory.film:
            film.note(memory, events.REFRESH, words_between(memory, region), 0, 0)
        for b in range(region.banks):
            region.open_row[b] = -1
        read_fifo.flush(region)
        late = (start - region.next_refresh) // region.t_refi
        last = region.next_refresh + late * region.t_refi
        begun = max(last, region.busy_until)  # not in the middle of an access; in an idle gap it costs nothing
        wait = max(0, begun + region.t_rp + region.t_rc - start)
        region.next_refresh = last + region.t_refi
        region.refreshes += late + 1
    bank = bank_of(region, address)
    row = (address >> region.row_shift) & region.row_mask
    if region.open_row[bank] == row:
        return wait
    if memory.film:
        film.note(memory, events.ROW, words_between(memory, region), bank, row)
    at = start + wait
    activated = region.activated[bank]
    if region.open_row[bank] >= 0:
        read_fifo.flush(region)
        ready = activated + region.t_ras
        if region.last_write_bank == bank:  # older writes, in other banks, are over for longer than tWR
            ready = max(ready, region.last_write + region.t_wr)
        at = max(at, ready) + region.t_rp
    at = max(at, activated + region.t_rc)
    region.open_row[bank] = row
    region.activated[bank] = at
    region.row_misses += 1
    return at + region.t_rcd - start


@inlined
def columns(memory: MemoryState, region: RegionState, address: int, beats: int) -> int:
    """Ticks of a read of ``beats`` columns of an open row, 0 if all were read ahead."""
    if region.columns_ahead == 0:
        return region.t_cl + beats * region.t_clk
    column = address >> region.width_shift
    missing = beats - (read_fifo.pop_hits(region, column, beats) if region.columns_held else 0)
    region.spared += (beats - missing) * region.t_clk
    if missing == 0:
        region.spared += region.t_cl
        return 0
    read_fifo.read_ahead(region, column + beats)
    return region.t_cl + missing * region.t_clk


@native
def sdram_read(memory: MemoryState, region: RegionState, address: int, size: int, overhead: int) -> int:
    """One read past the cache, at ``memory.now``; returns its ticks, of which ``overhead`` are not the memory's."""
    now = memory.now
    beats = max(1, (size + (1 << region.width_shift) - 1) >> region.width_shift)
    start = max(now, region.busy_until)
    ticks = sdram_row(memory, region, address, start) + overhead + columns(memory, region, address, beats)
    region.occupied += ticks
    region.busy_until = start + ticks
    return start + ticks - now


@native
def sdram_reads(memory: MemoryState, region: RegionState, address: int, n: int, size: int) -> int:
    """``n`` reads of one stream, some of whose columns may have been read ahead."""
    now = memory.now
    for i in range(n):
        sdram_read(memory, region, address + i * size, size, region.read_overhead)
    return region.busy_until - now


@native
def sdram_run(memory: MemoryState, region: RegionState, stream: AccessStream, address: int, n: int) -> int:
    """``n`` uncached accesses; see the module's text."""
    now, size, inter = memory.now, stream.size, stream.interleaved
    if region.columns_ahead:
        if not stream.write and not inter:
            return sdram_reads(memory, region, address, n, size)
        read_fifo.flush(region)
    beats = max(1, (size + (1 << region.width_shift) - 1) >> region.width_shift)
    start = max(now, region.busy_until)
    row = sdram_row(memory, region, address, start)
    again = region.t_rp + region.t_rcd if inter and row > 0 else 0
    if stream.write:
        each = region.write_overhead + beats * region.t_clk
        total = row + n * each + (n - 1) * again
        region.occupied += total
        region.last_write, region.last_write_bank = start + total, bank_of(region, address)
        region.busy_until = start + total
        backlog = start + total - region.write_fifo * each - (now + n * stream.gap)
        if again:
            region.row_misses += n - 1
        return max(0, backlog)
    each = region.read_overhead + region.t_cl + beats * region.t_clk
    if again:
        region.row_misses += n - 1
    stall = (start - now) + row + n * each + (n - 1) * again
    region.occupied += row + n * each + (n - 1) * again
    region.busy_until = now + stall
    return stall


@inlined
def sdram_line(memory: MemoryState, region: RegionState, address: int, line: int, write: int) -> None:
    """:func:`line` of an SDRAM; the first word is the critical one."""
    start, beats = memory.line_start, max(1, line >> region.width_shift)
    row = sdram_row(memory, region, address, start)
    if write:
        read_fifo.flush(region)
        first = row + region.write_overhead
        last = first + beats * region.t_clk
        region.last_write, region.last_write_bank = start + last, bank_of(region, address)
    else:
        head = row + region.read_overhead
        last = head + columns(memory, region, address, beats)
        first = last - (beats - max(1, 8 >> region.width_shift)) * region.t_clk
    region.occupied += last
    region.busy_until = start + last
    memory.line_first, memory.line_last = first, last


@native
def qspi_read(memory: MemoryState, region: RegionState, address: int, size: int) -> int:
    """Ticks for ``size`` bytes: a new command unless they follow the last ones."""
    data = size * region.beat
    if address == region.next_address:
        ticks = data
    else:
        ticks = region.command + data + region.cs_high
    region.next_address = address + size
    region.occupied += ticks
    return ticks + region.read_overhead


@native
def flash_line(memory: MemoryState, region: RegionState, address: int) -> int:
    """Ticks for a data read through the accelerator's data lines (LRU), or through the one-line read latch."""
    line = address >> region.line_shift
    lines = region.data_lines
    if region.unified:
        return flash_accelerator.read(memory, region, line)
    if lines == 0:
        if region.latched_line == line:
            return 0
        region.latched_line = line
        region.occupied += region.wait + region.beat
        return region.wait + region.read_latency
    ways = region.data_ways
    of_set = Words(memory, region.data_line_store + (line & (lines // ways - 1)) * ways)
    way = ways - 1
    hit = False
    for i in range(ways):
        if of_set[i] == line:
            way = i
            hit = True
            break
    for i in range(way, 0, -1):
        of_set[i] = of_set[i - 1]
    of_set[0] = line
    if hit:
        region.data_hits += 1
        return 0
    region.data_misses += 1
    if memory.film:
        film.missed(memory)
    return flash_accelerator.read_data(memory, region)


@inlined
def run(memory: MemoryState, region: RegionState, stream: AccessStream, address: int, n: int) -> int:
    """``n`` uncached accesses of any device; returns the core's stall in ticks."""
    kind, size, inter = region.kind, stream.size, stream.interleaved
    if kind == L.TCM:
        return 0
    if kind == L.SRAM:
        region.occupied += n * region.beat
        if stream.write:
            return n * max(0, region.write_latency - stream.gap)
        return n * region.read_latency
    if kind == L.SDRAM:
        return sdram_run(memory, region, stream, address, n)
    if kind == L.FLASH:
        if region.data_lines == 0 and inter:
            region.latched_line = -1  # another stream used the latch in between
            return n * flash_line(memory, region, address)
        stall = 0
        last = -1
        for i in range(n):
            line = (address + i * size) >> region.line_shift
            if line != last:
                stall += flash_line(memory, region, address + i * size)
                last = line
        return stall
    stall = 0
    for i in range(n):
        if inter:
            region.next_address = -1
        stall += qspi_read(memory, region, address + i * size, size)
    return stall


@inlined
def line(memory: MemoryState, region: RegionState, address: int, size: int, write: int) -> None:
    """A line of ``size`` bytes of any device from ``memory.line_start`` on: leaves in ``line_first`` and ``line_last``
    the ticks until the first word and until the last."""
    kind, start = region.kind, memory.line_start
    if kind == L.SDRAM:
        sdram_line(memory, region, address, size, write)
    elif kind == L.SRAM:
        latency = region.write_latency if write else region.read_latency
        beats = max(1, size >> region.width_shift)
        region.occupied += beats * region.beat
        region.busy_until = start + latency + (beats - 1) * region.beat
        memory.line_first, memory.line_last = latency, latency + (beats - 1) * region.beat
    elif kind == L.FLASH:
        latency = region.read_latency
        total = 0
        for _ in range(max(1, size >> region.line_shift)):
            total += region.wait
        beats = max(1, size >> 3)
        stream = (beats - 1) * region.beat
        region.occupied += total + beats * region.beat
        region.busy_until = start + latency + total + stream
        memory.line_first, memory.line_last = latency + region.wait, latency + total + stream
    else:
        ticks = qspi_read(memory, region, address, size)
        region.busy_until = start + ticks
        memory.line_first, memory.line_last = ticks - (size - 8) * region.beat, ticks

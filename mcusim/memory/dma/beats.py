"""The beats (or bursts) of a DMA transfer: reads of its source into the stream's FIFO, writes from it to its target.

The controller has two ports, one that reads and one that writes, which work at the same time (ST AN4031, tables 4 and
5). An access of a port is arbitration and address, arbitration in the bus matrix, and the memory's data cycles: one of
the bus for each beat, or the memory's own time where that is longer. A burst shares all but its data cycles.

A read begins when the FIFO has room for it. When the bytes in the FIFO come to the threshold, or are the transfer's
last, these bytes are written; those that come meanwhile wait for the next time. So single beats take the reading port's
time each below the full threshold; with it reading stops until the first write of a full FIFO; bursts as long as the
FIFO are read and written in turn.

A burst that crosses a 32-byte line counts as two. A memory is *held* by an access: SRAM for its clocks on the bus,
SDRAM until the data is read or the posted write through, flash and QSPI for the read.

The beats of both sides may have other sizes: bytes are packed into the FIFO and unpacked from it, and until the last
bytes are there only whole beats of the target are written. An address may stay where it is.

Not modelled: conflicts of the two ports at one on-chip memory, bursts cut at 1 KiB, a peripheral as source or target
(its beats are in series).
"""

from __future__ import annotations

from mcusim.memory import devices, flash_accelerator
from mcusim.memory import state_layout as L
from mcusim.memory.film import events
from mcusim.memory.film import record as film
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState, RegionState, TransferState
from mcusim.native.functions import native
from mcusim.native.structs import Words, words_between


@native
def hold(region: RegionState, since: int, until: int) -> None:
    """A beat has the memory of the region for that time; holds that follow each other are one."""
    if since > region.held_until:
        region.held_since = since
    region.held_until = max(region.held_until, until)


@native
def is_buffered(memory: MemoryState, region: RegionState, address: int) -> int:
    """1 when a read of data at ``address`` of a flash needs not go to its array."""
    line = address >> region.line_shift
    if region.unified:
        return int(
            region.code_lines == 0
            or line == region.current_line
            or flash_accelerator.find_line(memory, region, line) >= 0
        )
    lines = region.data_lines
    if lines == 0:
        return int(region.latched_line == line)
    held = Words(memory, region.data_line_store)
    for i in range(lines):
        if held[i] == line:
            return 1
    return 0


@native
def beats_of(transfer: TransferState, n: int) -> int:
    """Beats of ``n`` bytes."""
    return (n + transfer.beat - 1) // transfer.beat


@native
def beats_to(transfer: TransferState, n: int) -> int:
    """Beats of the port that writes for ``n`` bytes."""
    return (n + transfer.write_beat - 1) // transfer.write_beat


@native
def line_end(memory: MemoryState, address: int) -> int:
    """The end of the line that ``address`` is in."""
    return ((address >> memory.visit_shift) + 1) << memory.visit_shift


@native
def next_read(transfer: TransferState) -> int:
    """When the next read of the transfer may begin; NEVER until another write makes room for it."""
    return max(transfer.begin, transfer.room_since) if transfer.unread else L.NEVER


@native
def next_write(transfer: TransferState) -> int:
    """When the next bytes of the transfer may be written; NEVER while there are too few."""
    return transfer.drain_from if transfer.to_drain else L.NEVER


@native
def whole(transfer: TransferState, n: int) -> int:
    """What of ``n`` bytes in the FIFO can be written: whole beats of the target until the last bytes are there."""
    if transfer.write_beat <= transfer.beat or transfer.unread == 0:
        return n
    return n - n % transfer.write_beat


@native
def drain(transfer: TransferState, now: int) -> None:
    """What was to be written is, at ``now``: is there enough for the next time, or will the read under way bring it?"""
    level, end = transfer.fifo_level, transfer.read_end
    if end > now:
        there = level - transfer.last_read
        if there >= transfer.threshold:
            transfer.to_drain, transfer.drain_from = whole(transfer, there), now
            return
    if level >= transfer.threshold or transfer.unread == 0:
        transfer.to_drain, transfer.drain_from = whole(transfer, level), max(now, end)


@native
def make_room(transfer: TransferState, now: int) -> None:
    """At ``now`` an access has ended: is there room for the next read, or will the write under way make it?"""
    room = transfer.fifo_size - transfer.fifo_level
    need = min(transfer.burst, transfer.unread)
    if transfer.to_drain == 0 and transfer.fifo_level < transfer.threshold:
        need = min(need, room)  # the rest of a burst, or beat, that a line's end cut: nothing is written before it
    transfer.room_since = now if room >= need else L.NEVER
    if room >= need > room - transfer.last_write:
        transfer.room_since = max(now, transfer.write_end)


@native
def read_flash(memory: MemoryState, transfer: TransferState, region: RegionState, address: int) -> int:
    """Ticks of a read of flash: its line is read when the transfer comes to it, and again if it was displaced since."""
    line = address >> region.line_shift
    if transfer.last_line == line and is_buffered(memory, region, address):
        return 0
    transfer.last_line = line
    return devices.flash_line(memory, region, address)


@native
def data_read(memory: MemoryState, transfer: TransferState, region: RegionState, size: int) -> int:
    """The data cycles of a read of ``size`` bytes at ``memory.now``; returns their ticks."""
    now, kind, address = memory.now, region.kind, transfer.read_address
    b = beats_of(transfer, size)
    cycles = b * transfer.bus_clock
    if kind == L.TCM:
        return cycles
    if kind == L.SRAM:
        region.occupied += b * region.beat
        hold(region, now, now + b * region.beat)
        return region.dma_latency + max(cycles, b * region.beat)
    if kind == L.FLASH:
        ticks = read_flash(memory, transfer, region, address)
        if ticks:
            hold(region, now, now + ticks)
        return ticks + cycles
    if kind == L.SDRAM:
        ticks = max(
            region.dma_latency + cycles,
            devices.sdram_read(memory, region, address, size, region.dma_latency),
        )
    else:
        ticks = max(cycles, devices.qspi_read(memory, region, address, size))
    hold(region, now, now + ticks)
    return ticks


@native
def data_write(memory: MemoryState, transfer: TransferState, region: RegionState, size: int) -> int:
    """The data cycles of a write of ``size`` bytes at ``memory.now``; returns their ticks."""
    now, kind = memory.now, region.kind
    b = beats_to(transfer, size)
    cycles = b * transfer.bus_clock
    if kind == L.SRAM:
        taken = b * max(region.beat, region.write_latency)
        region.occupied += b * region.beat
        hold(region, now, now + taken)
        return max(cycles, taken)
    if kind != L.SDRAM:
        return cycles
    stream = memory.other_stream
    stream.size, stream.write, stream.gap, stream.interleaved = transfer.write_beat, 1, transfer.bus_clock, 0
    stall = devices.sdram_run(memory, region, stream, transfer.write_address, b)
    hold(region, now, region.busy_until)
    return cycles + stall


@native
def source_of(memory: MemoryState, transfer: TransferState) -> int:
    """The block that the next read of the transfer goes to, or -1 where there is no memory."""
    if transfer.unread_in_line == 0:
        address = transfer.read_address
        offset = find(memory, address)
        if offset < 0:
            return -1
        addresses = AddressRange(memory, offset)
        transfer.source = addresses.region
        transfer.unread_in_line = transfer.unread
        if transfer.source_moves:
            transfer.unread_in_line = min(transfer.unread, line_end(memory, address) - address)
    return transfer.source


@native
def target_of(memory: MemoryState, transfer: TransferState) -> int:
    """The block that the next write of the transfer goes to, or -1 where there is no memory."""
    if transfer.unwritten_in_line == 0:
        source, target = transfer.write_source, transfer.write_address
        offset = find(memory, target)
        if offset < 0:
            return -1
        addresses = AddressRange(memory, offset)
        transfer.target = addresses.region
        chunk = transfer.unwritten
        if transfer.source_moves and transfer.write_beat <= transfer.beat:
            chunk = min(chunk, line_end(memory, source) - source)
        elif transfer.source_moves:  # a packed beat may come from two lines
            chunk = min(chunk, AddressRange(memory, find(memory, source)).high - source)
        if transfer.target_moves:
            chunk = min(chunk, line_end(memory, target) - target)
        transfer.unwritten_in_line = chunk
    return transfer.target


@native
def read(memory: MemoryState, transfer: TransferState, region: RegionState) -> int:
    """The read at ``memory.now`` from the region; returns how many bytes."""
    size = min(transfer.burst, transfer.unread_in_line, transfer.fifo_size - transfer.fifo_level)
    if memory.film:
        film.note(memory, events.BEAT_READ, words_between(memory, transfer), transfer.read_address, size)
    end = memory.now + data_read(memory, transfer, region, size)
    transfer.read_address += size * transfer.source_moves
    transfer.unread -= size
    transfer.unread_in_line -= size
    transfer.fifo_level += size
    transfer.last_read, transfer.read_end = size, end
    make_room(transfer, end)
    if transfer.to_drain == 0:
        drain(transfer, end)
    return size


@native
def write(memory: MemoryState, transfer: TransferState, region: RegionState) -> int:
    """The write at ``memory.now`` to the region; returns how many bytes."""
    size = min(transfer.write_burst, transfer.unwritten_in_line, transfer.to_drain)
    if memory.film:
        film.note(memory, events.BEAT_WRITE, words_between(memory, transfer), transfer.write_address, size)
    end = memory.now + data_write(memory, transfer, region, size)
    transfer.fifo_level -= size
    transfer.to_drain -= size
    transfer.last_write, transfer.write_end, transfer.drain_from = size, end, end
    if transfer.room_since == L.NEVER:
        make_room(transfer, end)
    if transfer.to_drain == 0 and transfer.fifo_level:
        drain(transfer, end)
    return size


@native
def moved(transfer: TransferState, size: int) -> None:
    """``size`` bytes have been written."""
    transfer.write_source += size * transfer.source_moves
    transfer.write_address += size * transfer.target_moves
    transfer.unwritten -= size
    transfer.unwritten_in_line -= size

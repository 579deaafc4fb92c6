"""Rounds of a transfer that nobody disturbs: when a line takes as the one before did, the next ones do too.

A round is one or more lines of 32 bytes written. What its accesses depend on is how far transfer, ports and memories
are, seen from its begin: where that is as it was a round before, every further round takes as long and changes the
same, up to what comes from elsewhere: a refresh, another row or bank, the end of the memory, the last bytes. So many
rounds are made at once: each slot changes by so many times what it changed by in one. Behind a refresh or a row the
transfer soon is as it was in that round, and goes on so.

Not modelled: rounds from a flash whose accelerator has lines for data, which are elsewhere; they are made one by one.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.devices import bank_of
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState, RegionState, RoundState, TransferState
from mcusim.native.functions import native
from mcusim.native.structs import Words

BYTES = 32
TRANSFER, REGION = TransferState.WORDS, RegionState.WORDS
UNKNOWN, BEGUN, KNOWN = range(3)  # of a round: nothing, its begin, all of it


@native
def begin(memory: MemoryState) -> None:
    """A transfer begins."""
    memory.round_known = UNKNOWN


@native
def moment_is_alike(before: int, now: int, then: int, start: int) -> int:
    """Whether a moment is as far from ``start`` as it was from ``then``, or over both times, or has not come."""
    over = now <= start and before <= then
    return int(now - start == before - then or over or (now == before and now == L.NEVER))


@native
def time_is_alike(before: int, now: int, then: int, start: int) -> int:
    """Whether a moment is as far from ``start`` as it was from ``then``, or has not come either time."""
    return int(now - start == before - then or (now == before and now == L.NEVER))


@native
def transfer_is_alike(memory: MemoryState, transfer: TransferState, kept: TransferState, then: int, start: int) -> int:
    """Whether the transfer is as it is kept, some bytes ago."""
    moved = kept.unwritten - transfer.unwritten
    if transfer.source != kept.source or transfer.target != kept.target:
        return 0
    if transfer.fifo_level != kept.fifo_level or transfer.to_drain != kept.to_drain:
        return 0
    if transfer.last_read != kept.last_read or transfer.last_write != kept.last_write:
        return 0
    if transfer.unread_in_line != kept.unread_in_line or transfer.unwritten_in_line != kept.unwritten_in_line:
        return 0
    alike = time_is_alike(kept.drain_from, transfer.drain_from, then, start)
    alike &= time_is_alike(kept.room_since, transfer.room_since, then, start)
    alike &= time_is_alike(kept.read_end, transfer.read_end, then, start)
    alike &= time_is_alike(kept.write_end, transfer.write_end, then, start)
    if not alike or transfer.unread != kept.unread - moved:
        return 0
    source = RegionState(memory, transfer.source)
    lines = moved >> source.line_shift if source.kind == L.FLASH and transfer.source_moves else 0
    return int(transfer.last_line - kept.last_line == lines)


@native
def row_is_open(region: RegionState, address: int) -> int:
    """Whether an access to the region at ``address`` opens no row."""
    if region.kind != L.SDRAM:
        return 1
    return int(region.open_row[bank_of(region, address)] == (address >> region.row_shift) & region.row_mask)


@native
def region_is_alike(region: RegionState, kept: RegionState, then: int, start: int, moved: int) -> int:
    """Whether the region is as it is kept, ``moved`` bytes ago."""
    if not moment_is_alike(kept.busy_until, region.busy_until, then, start):
        return 0
    if not moment_is_alike(kept.held_until, region.held_until, then, start):
        return 0
    kind = region.kind
    if kind == L.FLASH and region.latched_line - kept.latched_line != moved >> region.line_shift:
        return 0
    if kind == L.QSPI and region.next_address - kept.next_address != moved:
        return 0
    if region.columns_held != kept.columns_held:
        return 0
    for i in range(region.columns_held):
        if region.columns[i] - kept.columns[i] != moved >> region.width_shift:
            return 0
    return 1


@native
def is_alike(memory: MemoryState, transfer: TransferState, kept: RoundState, start: int, reading: int) -> int:
    """Whether the transfer, its ports and its memories are as they are in the round that is kept."""
    then = kept.now
    moved = kept.transfer.unwritten - transfer.unwritten
    if reading - start != kept.reading_free - then:
        return 0
    if not transfer_is_alike(memory, transfer, kept.transfer, then, start):
        return 0
    source, target = RegionState(memory, transfer.source), RegionState(memory, transfer.target)
    first = min(start, reading)  # no access begins before
    earliest = min(then, kept.reading_free)
    by = moved * transfer.source_moves
    if not region_is_alike(source, kept.source, earliest, first, by):
        return 0
    by = moved * transfer.target_moves if transfer.source != transfer.target else by
    if not region_is_alike(target, kept.target, earliest, first, by):
        return 0
    return row_is_open(source, transfer.read_address) & row_is_open(target, transfer.write_address)


@native
def opened_nothing(region: RegionState, kept: RegionState) -> int:
    """Whether the region has had no refresh, and opened no row, since it was kept."""
    return int(region.refreshes == kept.refreshes and region.row_misses == kept.row_misses)


@native
def is_a_round(memory: MemoryState, transfer: TransferState, start: int, reading: int) -> int:
    """Whether all is as at the begin that is kept, and nothing came from elsewhere in between."""
    kept = memory.round_begin
    if not is_alike(memory, transfer, kept, start, reading):
        return 0
    source = opened_nothing(RegionState(memory, transfer.source), kept.source)
    return source & opened_nothing(RegionState(memory, transfer.target), kept.target)


@native
def copy_words(to: Words, words: Words, count: int) -> None:
    """Copy ``count`` words."""
    for i in range(count):
        to[i] = words[i]


@native
def keep(memory: MemoryState, transfer: TransferState, kept: RoundState, start: int, reading: int) -> None:
    """Keep how all is now."""
    kept.now, kept.reading_free = start, reading
    copy_words(Words(kept.transfer), Words(transfer), TRANSFER)
    copy_words(Words(kept.source), Words(memory, transfer.source), REGION)
    copy_words(Words(kept.target), Words(memory, transfer.target), REGION)


@native
def rounds_in(memory: MemoryState, region: RegionState, address: int, moves: int, size: int) -> int:
    """Rounds of ``size`` bytes until ``address`` comes to the end of its range, of its row or of its bank."""
    if not moves:
        return 1 << 40
    offset = find(memory, address)
    if offset < 0:
        return 0
    end = AddressRange(memory, offset).high
    if region.kind == L.SDRAM:
        shift = min(region.row_shift, region.bank_shift)
        end = min(end, ((address >> shift) + 1) << shift)
    return (end - address) // size


@native
def until_refresh(region: RegionState, start: int, ticks: int) -> int:
    """Rounds that begin no access of the region after its next refresh."""
    if region.kind != L.SDRAM or region.t_refi == 0:
        return 1 << 40
    return (region.next_refresh - max(start, region.busy_until)) // ticks


@native
def more_rounds(memory: MemoryState, transfer: TransferState, start: int, ticks: int, size: int) -> int:
    """How many further rounds of ``size`` bytes are as the one that is known; all ends by ``start``."""
    source, target = RegionState(memory, transfer.source), RegionState(memory, transfer.target)
    count = (transfer.unread - max(BYTES, transfer.burst, transfer.write_burst)) // size
    count = min(count, rounds_in(memory, source, transfer.read_address, transfer.source_moves, size))
    count = min(count, rounds_in(memory, target, transfer.write_address, transfer.target_moves, size))
    return min(count, until_refresh(source, start, ticks), until_refresh(target, start, ticks))


@native
def repeat(words: Words, begin: Words, end: Words, size: int, count: int) -> None:
    """The words change by ``count`` times what they change by in the round."""
    for i in range(size):
        words[i] += count * (end[i] - begin[i])


@native
def made_at_once(memory: MemoryState, transfer: TransferState, start: int, reading: int) -> int:
    """A round of the transfer ends at ``start``, and the port that reads is free from ``reading`` on: make all further
    ones that are the same; returns how many ticks these take."""
    source, begun, ended = RegionState(memory, transfer.source), memory.round_begin, memory.round_end
    if source.kind == L.FLASH and (source.data_lines > 0 or source.unified > 0):
        return 0
    if memory.round_known == BEGUN and is_a_round(memory, transfer, start, reading):
        keep(memory, transfer, ended, start, reading)
        memory.round_known = KNOWN
    elif memory.round_known != KNOWN:
        keep(memory, transfer, begun, start, reading)
        memory.round_known = BEGUN
    elif not is_alike(memory, transfer, ended, start, reading):
        return 0
    if memory.round_known != KNOWN:
        return 0
    ticks = ended.now - begun.now
    size = begun.transfer.unwritten - ended.transfer.unwritten
    count = more_rounds(memory, transfer, max(start, reading), max(1, ticks), size)
    if count <= 0:
        return 0
    repeat(Words(transfer), Words(begun.transfer), Words(ended.transfer), TRANSFER, count)
    repeat(Words(source), Words(begun.source), Words(ended.source), REGION, count)
    if transfer.source != transfer.target:
        target = Words(memory, transfer.target)
        repeat(target, Words(begun.target), Words(ended.target), REGION, count)
    return count * ticks

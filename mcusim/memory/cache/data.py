"""The bytes of the data cache: the core sees its lines, the DMA sees memory.

The emulated core reads and writes a *view* of each region; *memory*, apart from it, is what all others see. While a
line is not in the cache both are the same. A line that is written back is copied from the view to memory, one that is
given up without that is copied back from memory: its contents are lost, and what the DMA wrote meanwhile shows. Stores
past the cache go to both. Nothing is done where a line is hit.

Where a region has no cache in front of it view and memory are the same bytes.

While the cache is off the core sees memory (:mod:`mcusim.memory.cache.apart`).

Not modelled: aliases of a cached region see its cache's lines; the instruction cache holds no data, and code that has
run is run again as it was after the DMA has written over it; a line is filled, and a beat's bytes are moved, at one
moment.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.cache import apart, shadow, tags
from mcusim.memory.race_detector.dma_races import beat
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, CacheState, MemoryState, TransferState
from mcusim.native import host_memory as host
from mcusim.native.functions import native


@native
def write_back(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """The line at ``address`` goes to memory."""
    if addresses.core_view == addresses.memory:
        return
    if memory.aside:
        cache = CacheState(memory, memory.data_cache_block)
        kept = apart.bytes_of(memory, tags.find(cache, address >> cache.line_shift))
        host.copy(addresses.core_view + address, kept, size)
    host.copy(addresses.memory + address, addresses.core_view + address, size)
    if addresses.seen:
        host.copy(addresses.stored + 2 * address, addresses.seen + 2 * address, 2 * size)


@native
def drop(memory: MemoryState, addresses: AddressRange, address: int, size: int) -> None:
    """The line at ``address`` is given up: memory is what counts."""
    if addresses.core_view == addresses.memory or memory.aside:
        return
    host.copy(addresses.core_view + address, addresses.memory + address, size)
    if addresses.seen:
        host.copy(addresses.seen + 2 * address, addresses.stored + 2 * address, 2 * size)


@native
def put_bytes(memory: MemoryState, addresses: AddressRange, address: int, size: int, value: int) -> None:
    """``value``, whose first byte is for ``address``, goes to memory."""
    watched = addresses.seen and not memory.stack_low <= address < memory.stack_high
    for i in range(size):
        host.put8(addresses.memory + address + i, value >> (8 * i))
        if watched:
            host.put16(addresses.stored + 2 * (address + i), memory.task)


@native
def put(memory: MemoryState, addresses: AddressRange, address: int, size: int, value: int) -> None:
    """A store of the core, already accounted for as one of ``addresses``: what goes past the cache reaches memory.

    Of a store across lines the second may have displaced the first; one may go on into another region.
    """
    cache = CacheState(memory, memory.data_cache)
    back = memory.data_cache != 0 and addresses.attribute == 2 and cache.write_back == 1
    if back and addresses.flags & L.ALLOCATE and (address ^ (address + size - 1)) >> cache.line_shift == 0:
        return
    offset = 0
    while size > 0 and offset >= 0:
        part = min(size, addresses.high - address)
        if back:
            part = min(part, (((address >> cache.line_shift) + 1) << cache.line_shift) - address)
        held = back and tags.held(memory, address)
        if not held and addresses.core_view != addresses.memory:
            put_bytes(memory, addresses, address, part, value)
        address, size, value = address + part, size - part, value >> (8 * part)
        if size > 0:
            offset = find(memory, address)
            addresses = AddressRange(memory, offset)


@native
def begin(transfer: TransferState, source: AddressRange, target: AddressRange) -> None:
    """The transfer starts a chunk from ``source`` to ``target``: where its bytes are."""
    first, to = transfer.write_source, transfer.write_address
    if source.core_view == 0:
        return
    transfer.source_memory, transfer.target_memory = source.memory + first, target.memory + to
    transfer.target_view = target.core_view + to
    if transfer.source_meant:
        transfer.source_stored = transfer.source_seen = 0  # memory that nobody writes
        if source.seen:
            transfer.source_stored, transfer.source_seen = source.stored + 2 * first, source.seen + 2 * first
        transfer.target_stored, transfer.target_seen = target.stored + 2 * to, target.seen + 2 * to


@native
def in_place(transfer: TransferState, n: int, seen: int) -> None:
    """``n`` bytes of a transfer whose source or target stays where it is arrive; ``seen``: the core sees them."""
    moved = -transfer.unwritten
    target, view = transfer.target_memory, transfer.target_view
    for i in range(n):
        source = transfer.source_memory + (i if transfer.source_moves else (moved + i) % transfer.beat)
        to = i if transfer.target_moves else (moved + i) % transfer.write_beat
        host.copy(target + to, source, 1)
        if target != view and seen:
            host.copy(view + to, source, 1)
    transfer.source_memory += n * transfer.source_moves
    transfer.target_memory += n * transfer.target_moves
    transfer.target_view += n * transfer.target_moves


@native
def move(memory: MemoryState, transfer: TransferState, n: int) -> None:
    """``n`` bytes of the transfer arrive."""
    source, target, view = transfer.source_memory, transfer.target_memory, transfer.target_view
    if source == 0:
        return
    held = tags.held(memory, transfer.write_address) if target != view else 0
    if transfer.source_meant:
        shadow.beat(memory, transfer, n, held)
    elif memory.watch:
        beat(memory, transfer, n, held)
    if transfer.source_moves == 0 or transfer.target_moves == 0:
        in_place(transfer, n, held == 0 or memory.aside)
        return
    host.copy(target, source, n)
    if target != view and (held == 0 or memory.aside):
        host.copy(view, source, n)
    transfer.source_memory, transfer.target_memory, transfer.target_view = source + n, target + n, view + n

"""Beats of a watched program's transfers: are the bytes that they read the newest, do they write behind dirty lines.

Where the cache happens to have written a line back by itself, that it needed cleaning shows all the same; only for
lines that lie in the transfer's bytes as a whole.
"""

from __future__ import annotations

from mcusim.memory.cache.tags import held
from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.lines import line_at
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState, TransferState
from mcusim.native import host_memory as host
from mcusim.native.compile import native, shared


@native
def inside(address: int, low: int, end: int) -> int:
    """Whether the whole line of ``address`` is from ``low`` to below ``end``."""
    line = address >> W.CACHE_LINE << W.CACHE_LINE
    return 1 if low <= line and line + (1 << W.CACHE_LINE) <= end else 0


@native
def last_store(memory: MemoryState, addresses: AddressRange, address: int) -> int:
    """The instruction that last stored to the word of ``address``, 0 for none."""
    return host.get32(addresses.stores + (address & ~3)) & ~1


@native
def read(memory: MemoryState, code: int, addresses: AddressRange, address: int, n: int) -> None:
    """``n`` bytes are read."""
    for at in range(address, address + n):
        wanted, stored = host.get16(addresses.meant + 2 * at), host.get16(addresses.stored + 2 * at)
        seen = host.get16(addresses.seen + 2 * at)
        if stored != wanted:
            other = last_store(memory, addresses, at)
            W.note(memory, W.UNCLEANED, 0, code, at, at + 1, wanted, seen, stored, held(memory, at), other)
        elif wanted & W.BY_CORE and addresses.lines:
            flags = host.get64(line_at(memory, addresses, at))
            if flags & W.UNCLEAN and inside(at, W.word(memory, W.SOURCES + code), W.word(memory, W.SOURCE_ENDS + code)):
                other = last_store(memory, addresses, at)
                W.note(memory, W.MAYBE_UNCLEANED, 0, code, at, at + 1, wanted, seen, stored, held(memory, at), other)


@native
def dirty(memory: MemoryState, code: int, addresses: AddressRange, address: int) -> int:
    """A byte of the dirty line of ``address`` that the core has written, of the transfer's or else another; or -1."""
    line = address >> W.CACHE_LINE << W.CACHE_LINE
    low, end = W.word(memory, W.TARGET_LOWS + code), W.word(memory, W.TARGET_ENDS + code)
    other = -1
    for at in range(line, line + (1 << W.CACHE_LINE)):
        seen, stored = host.get16(addresses.seen + 2 * at), host.get16(addresses.stored + 2 * at)
        if seen == stored or stored == code or seen & W.BY_CORE == 0:
            continue
        if low <= at < end:
            return at
        other = at
    return other


@native
def write(memory: MemoryState, code: int, addresses: AddressRange, address: int, n: int, target_held: int) -> None:
    """``n`` bytes at ``address`` are written; ``target_held``: :func:`~mcusim.memory.cache.tags.held` of them."""
    flags = host.get64(line_at(memory, addresses, address))
    low, end = W.word(memory, W.TARGET_LOWS + code), W.word(memory, W.TARGET_ENDS + code)
    if target_held == 2:
        other = dirty(memory, code, addresses, address)
        if other >= 0:
            seen, stored = host.get16(addresses.seen + 2 * other), host.get16(addresses.stored + 2 * other)
            W.note(memory, W.DIRTY, 0, code, other, other + 1, 0, seen, stored, 2, last_store(memory, addresses, other))
    elif flags & W.UNCLEAN and inside(address, low, end):
        W.note(memory, W.MAYBE_DIRTY, 0, code, address, address + 1, 0, 0, 0, 0, last_store(memory, addresses, address))
        flags &= ~W.UNCLEAN  # reported once
    host.put64(line_at(memory, addresses, address), flags)
    for at in range(address, address + n):
        line = line_at(memory, addresses, at)
        host.put64(line, host.get64(line) | 1 << (at & (1 << W.CACHE_LINE) - 1))


@native
def arrive(memory: MemoryState, code: int, addresses: AddressRange, address: int, n: int, target_held: int) -> None:
    """``n`` bytes are written at ``address``; ``target_held``: :func:`~mcusim.memory.cache.tags.held` of them."""
    if addresses.lines:
        write(memory, code, addresses, address, n, target_held)
    for at in range(address, address + n):
        host.put16(addresses.stored + 2 * at, code)
        host.put16(addresses.meant + 2 * at, code)
        if target_held == 0:
            host.put16(addresses.seen + 2 * at, code)
        host.put8(addresses.handled + at, 0)


@shared
def beat(memory: MemoryState, transfer: TransferState, n: int, target_held: int) -> None:
    """``n`` bytes of the transfer arrive; ``target_held``: :func:`~mcusim.memory.cache.tags.held` of their target."""
    code, source, target = transfer.code, transfer.write_source, transfer.write_address
    offset = find(memory, source)
    if offset >= 0 and AddressRange(memory, offset).seen:
        read(memory, code, AddressRange(memory, offset), source, n if transfer.source_moves else min(n, transfer.beat))
    offset = find(memory, target)
    if offset >= 0 and AddressRange(memory, offset).seen:
        size = n if transfer.target_moves else min(n, transfer.write_beat)
        arrive(memory, code, AddressRange(memory, offset), target, size, target_held)


@native
def unit_read(memory: MemoryState, code: int, address: int, n: int) -> None:
    """A unit of ``n`` bytes is read for a peripheral."""
    offset = find(memory, address)
    if offset >= 0 and AddressRange(memory, offset).seen:
        read(memory, code, AddressRange(memory, offset), address, n)


@native
def unit_written(memory: MemoryState, code: int, address: int, n: int) -> None:
    """A unit of ``n`` bytes has come from a peripheral."""
    offset = find(memory, address)
    addresses = AddressRange(memory, offset)
    if offset >= 0 and addresses.seen:
        target_held = held(memory, address) if addresses.core_view != addresses.memory else 0
        arrive(memory, code, addresses, address, n, target_held)

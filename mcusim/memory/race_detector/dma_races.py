"""Beats of a watched program's transfers: are the bytes that they read the newest, do they write behind dirty lines.

Where the cache happens to have written a line back by itself, that it needed cleaning shows all the same; only for
lines that lie in the transfer's bytes as a whole.
"""

from __future__ import annotations

from mcusim.memory.cache.tags import held
from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.lines import line_flags
from mcusim.memory.race_detector.reports import begin, enter
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState, TransferState
from mcusim.native import host_memory as host
from mcusim.native.functions import native, shared


@native
def inside(address: int, low: int, end: int) -> int:
    """Whether the whole line of ``address`` is from ``low`` to below ``end``."""
    line = address >> W.CACHE_LINE << W.CACHE_LINE
    return 1 if low <= line and line + (1 << W.CACHE_LINE) <= end else 0


@native
def last_store(addresses: AddressRange, address: int) -> int:
    """The instruction that last stored to the word of ``address``, 0 for none."""
    return host.get32(addresses.stores + (address & ~3)) & ~1


@native
def unclean(memory: MemoryState, kind: int, code: int, addresses: AddressRange, address: int) -> None:
    """Report that the byte which is read is, or may be, older than what the core has stored."""
    report = begin(memory.watch, kind, code, address, address + 1)
    report.wanted = host.get16(addresses.meant + 2 * address)
    report.seen = host.get16(addresses.seen + 2 * address)
    report.stored = host.get16(addresses.stored + 2 * address)
    report.held, report.other = held(memory, address), last_store(addresses, address)
    enter(memory)


@native
def read(memory: MemoryState, code: int, addresses: AddressRange, address: int, n: int) -> None:
    """``n`` bytes are read."""
    watch = memory.watch
    for byte in range(address, address + n):
        wanted = host.get16(addresses.meant + 2 * byte)
        if host.get16(addresses.stored + 2 * byte) != wanted:
            unclean(memory, W.UNCLEANED, code, addresses, byte)
        elif wanted & W.BY_CORE and addresses.lines:
            flags = host.get64(line_flags(addresses, byte))
            if flags & W.UNCLEAN and inside(byte, watch.sources[code], watch.source_ends[code]):
                unclean(memory, W.MAYBE_UNCLEANED, code, addresses, byte)


@native
def dirty(memory: MemoryState, code: int, addresses: AddressRange, address: int) -> int:
    """A byte of the dirty line of ``address`` that the core has written, of the transfer's or else another; or -1."""
    line = address >> W.CACHE_LINE << W.CACHE_LINE
    low, end = memory.watch.target_lows[code], memory.watch.target_ends[code]
    other = -1
    for byte in range(line, line + (1 << W.CACHE_LINE)):
        seen, stored = host.get16(addresses.seen + 2 * byte), host.get16(addresses.stored + 2 * byte)
        if seen == stored or stored == code or seen & W.BY_CORE == 0:
            continue
        if low <= byte < end:
            return byte
        other = byte
    return other


@native
def report_dirty(memory: MemoryState, code: int, addresses: AddressRange, address: int) -> None:
    """The transfer writes to a dirty line, where the core has written the byte at ``address``."""
    report = begin(memory.watch, W.DIRTY, code, address, address + 1)
    report.seen, report.stored = host.get16(addresses.seen + 2 * address), host.get16(addresses.stored + 2 * address)
    report.held, report.other = 2, last_store(addresses, address)
    enter(memory)


@native
def write(memory: MemoryState, code: int, addresses: AddressRange, address: int, n: int) -> None:
    """``n`` bytes at ``address`` are written, not to a line that is dirty."""
    watch, flags = memory.watch, line_flags(addresses, address)
    if host.get64(flags) & W.UNCLEAN and inside(address, watch.target_lows[code], watch.target_ends[code]):
        report = begin(watch, W.MAYBE_DIRTY, code, address, address + 1)
        report.other = last_store(addresses, address)
        enter(memory)
        host.put64(flags, host.get64(flags) & ~W.UNCLEAN)  # reported once
    freshen(addresses, address, n)


@native
def freshen(addresses: AddressRange, address: int, n: int) -> None:
    """The DMA has written the bytes."""
    for byte in range(address, address + n):
        line = line_flags(addresses, byte)
        host.put64(line, host.get64(line) | 1 << (byte & (1 << W.CACHE_LINE) - 1))


@native
def arrive(memory: MemoryState, code: int, address: int, n: int, target_held: int) -> None:
    """``n`` bytes are written at ``address``; ``target_held``: :func:`~mcusim.memory.cache.tags.held` of them."""
    addresses = AddressRange(memory, find(memory, address))
    if addresses.lines and target_held == 2:
        other = dirty(memory, code, addresses, address)
        if other >= 0:
            report_dirty(memory, code, addresses, other)
        freshen(addresses, address, n)
    elif addresses.lines:
        write(memory, code, addresses, address, n)
    for byte in range(address, address + n):
        host.put16(addresses.stored + 2 * byte, code)
        host.put16(addresses.meant + 2 * byte, code)
        if target_held == 0:
            host.put16(addresses.seen + 2 * byte, code)
        host.put8(addresses.handled + byte, 0)


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
        arrive(memory, code, target, size, target_held)


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
        arrive(memory, code, address, n, held(memory, address) if addresses.core_view != addresses.memory else 0)

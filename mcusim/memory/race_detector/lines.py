"""Lines of the data cache that a watched program has to invalidate or to clean, whether the cache holds them or not.

An operation by set and way on set 0 and way 0 is taken for one on the whole cache, as loops over all sets and ways end.
Not modelled: a loop over a part of the sets.
"""

from __future__ import annotations

from mcusim.memory.race_detector import layout as W
from mcusim.memory.race_detector.reports import next_turn
from mcusim.memory.range_lookup import find, range_at
from mcusim.memory.state_layout import AddressRange, MemoryState
from mcusim.native import host_memory as host
from mcusim.native.functions import native


@native
def line_flags(addresses: AddressRange, address: int) -> int:
    """Where the flags of the line of ``address`` are, of addresses that have some."""
    return addresses.lines + 8 * (address >> W.CACHE_LINE)


@native
def fresh(addresses: AddressRange, address: int) -> int:
    """Whether the DMA has written the byte since its line was last invalidated."""
    return host.get64(line_flags(addresses, address)) >> (address & (1 << W.CACHE_LINE) - 1) & 1


@native
def left(flags: int, clean: int, invalidate: int) -> int:
    """Flags of a line after an operation."""
    return 0 if invalidate else flags & ~W.UNCLEAN if clean else flags


@native
def maintained(memory: MemoryState, address: int, clean: int, invalidate: int) -> None:
    """The program cleans or invalidates the line of ``address``; a new turn begins."""
    offset = find(memory, address)
    addresses = AddressRange(memory, offset)
    if offset < 0 or addresses.lines == 0:
        return
    flags = line_flags(addresses, address)
    host.put64(flags, left(host.get64(flags), clean, invalidate))
    next_turn(memory, memory.watch.exception)


@native
def everything(memory: MemoryState, clean: int, invalidate: int) -> None:
    """The program cleans or invalidates all lines."""
    for i in range(memory.ranges):
        addresses = range_at(memory, i)
        if addresses.lines:
            for line in range(addresses.low >> W.CACHE_LINE, addresses.high >> W.CACHE_LINE):
                flags = addresses.lines + 8 * line
                if host.get64(flags):
                    host.put64(flags, left(host.get64(flags), clean, invalidate))
    next_turn(memory, memory.watch.exception)

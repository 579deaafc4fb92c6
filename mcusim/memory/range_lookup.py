"""Which range of addresses an access of the emulated core falls in."""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import AddressRange, AddressRanges, MemoryState
from mcusim.native.functions import inlined, native
from mcusim.native.structs import words_between


@inlined
def range_at(memory: MemoryState, index: int) -> AddressRange:
    """One of the sorted ranges."""
    return AddressRanges(memory, memory.first_range).records[index]


@inlined
def slot_of(address: int) -> int:
    """Where a range of that address is remembered."""
    return ((address >> 12) ^ (address >> 25)) & (L.RECENT_RANGES - 1)


@native
def search(memory: MemoryState, address: int) -> int:
    """Offset of the range that contains ``address`` by bisection of the sorted ranges, or -1; remembers it."""
    low, high = 0, memory.ranges
    while low < high:
        middle = (low + high) >> 1
        if address < range_at(memory, middle).high:
            high = middle
        else:
            low = middle + 1
    if low == memory.ranges or address < range_at(memory, low).low:
        return -1
    offset = words_between(memory, range_at(memory, low))
    memory.recent_ranges[slot_of(address)] = offset
    return offset


@inlined
def find(memory: MemoryState, address: int) -> int:
    """Offset of the range that contains ``address``, or -1 where there is none. Unsigned 32-bit addresses."""
    offset = memory.recent_ranges[slot_of(address)]
    addresses = AddressRange(memory, offset)
    if addresses.low <= address < addresses.high:
        return offset
    return search(memory, address)


def addresses_at(memory: MemoryState, address: int) -> AddressRange | None:
    """The range that has ``address``, None: no memory is there; for Python."""
    offset = find(memory, address)
    return AddressRange(memory, offset) if offset >= 0 else None

"""Single units that a DMA moves between memory and a peripheral's register: their bytes, behind the data cache.

Not modelled: the time that such a unit has its memory, for which nobody waits.
"""

from __future__ import annotations

import ctypes

from mcusim.memory.cache import tags
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState, RegionState


def read_unit(memory: MemoryState, address: int, size: int) -> bytes:
    """The ``size`` bytes that memory has at ``address``, which does not leave its region."""
    addresses = AddressRange(memory, find(memory, address))
    RegionState(memory, addresses.region).dma_read_bytes += size
    return ctypes.string_at(addresses.memory + address, size)


def write_unit(memory: MemoryState, address: int, unit: bytes) -> None:
    """Put ``unit`` into memory; the core sees it where no line of its cache has these bytes."""
    addresses = AddressRange(memory, find(memory, address))
    stored, view = addresses.memory + address, addresses.core_view + address
    RegionState(memory, addresses.region).dma_write_bytes += len(unit)
    ctypes.memmove(stored, unit, len(unit))
    if stored != view and (memory.aside or not tags.held(memory, address)):
        ctypes.memmove(view, unit, len(unit))

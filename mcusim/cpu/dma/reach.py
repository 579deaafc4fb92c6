"""What of the machine's memory a DMA controller reaches.

Not modelled: controllers of one part that reach different memories (the machine file says it for all of them), and
peripherals as a side of a copy between memories.
"""

from __future__ import annotations

from mcusim.machine.description import Machine

__all__ = ["reached"]


def reached(machine: Machine, address: int, size: int, write: bool) -> int:
    """How many of the ``size`` bytes at ``address``, from the first on, the DMA can read, or ``write``."""
    at, end = address, address + size
    while at < end:
        found = _end(machine, at, write)
        if found is None:
            break
        at = min(found, end)
    return at - address


def _end(machine: Machine, address: int, write: bool) -> int | None:
    """The end of the region at ``address``; None where the DMA gets an error."""
    for region in machine.memory.values():
        for base in (region.base, *region.aliases):
            if base <= address < base + region.size:
                return base + region.size if region.dma and (region.writable or not write) else None
    return None

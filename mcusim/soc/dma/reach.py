"""What of the machine's memory a DMA controller reaches."""

from __future__ import annotations

from collections.abc import Callable

from mcusim.machine.description import Machine, Region


def _by_dma(region: Region) -> bool:
    return region.dma


def reached(machine: Machine, address: int, size: int, write: bool, allowed: Callable[[Region], bool] = _by_dma) -> int:
    """How many of the ``size`` bytes at ``address``, from the first on, can be read, or ``write``: those in regions
    that are ``allowed``."""
    at, end = address, address + size
    while at < end:
        region_end = _end(machine, at, write, allowed)
        if region_end is None:
            break
        at = min(region_end, end)
    return at - address


def _end(machine: Machine, address: int, write: bool, allowed: Callable[[Region], bool]) -> int | None:
    """The end of the region at ``address``; None where the DMA gets an error."""
    for region in machine.memory.values():
        for base in (region.base, *region.aliases):
            if base <= address < base + region.size:
                return base + region.size if allowed(region) and (region.writable or not write) else None
    return None

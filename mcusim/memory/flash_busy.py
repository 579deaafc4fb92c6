"""A flash that is being programmed or erased: whoever reads the same bank waits until that is over.

Lines that the accelerator, the cache or the read latch have are read meanwhile; what is prefetched then comes after it.
Not modelled: DMA beats, which read the flash at once.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.memory.state_layout import MemoryState, RegionState
from mcusim.native.functions import native


@native
def busy_until(memory: MemoryState, region: RegionState, address: int) -> int:
    """The end of the operation that keeps ``address`` of the region from being read, in ticks; 0: there is none."""
    offset = address & region.program_mask
    if region.kind != L.FLASH or offset < region.program_low or offset >= region.program_high:
        return 0
    if region.program_until > memory.now and region.code_lines >= 0:
        region.prefetched_line = -1
    return region.program_until

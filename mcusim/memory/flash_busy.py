"""A flash that is being programmed or erased: whoever reads the same bank waits until that is over.

Lines that the accelerator, the cache or the read latch have are read meanwhile; what is prefetched then comes after it.
Not modelled: DMA beats, which read the flash at once.
"""

from __future__ import annotations

from mcusim.memory import state_layout as L
from mcusim.native.compile import State, native


@native
def until(s: State, r: int, address: int) -> int:
    """The end of the operation that keeps ``address`` of block ``r`` from being read, in ticks; 0: there is none."""
    place = address & s[r + L.P_MASK]
    if s[r + L.KIND] != L.FLASH or place < s[r + L.P_LOW] or place >= s[r + L.P_HIGH]:
        return 0
    if s[r + L.P_UNTIL] > s[L.NOW] and s[r + L.I_LINES] >= 0:
        s[r + L.PREFETCH] = -1
    return s[r + L.P_UNTIL]

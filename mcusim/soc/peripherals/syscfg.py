"""SYSCFG of the STM32F4 and F7: which memory is at 0, and at which addresses the FMC has its SDRAM.

ST RM0090 9.2.1, RM0385 7.2.1: MEMRMP. Not modelled: another memory than the flash at 0 (MEM_MODE of an F4 that asks
for one is a finding; an F7's boot address is in its option bytes), banks of the flash in exchanged order (FB_MODE).
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

MEM_MODE, SWP_FMC = 7, 3 << 10
SWAPPED = 1 << 10


class Syscfg(RegisterBlock):
    """Tells the core what MEMRMP asks for."""

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "MEMRMP":
            self._tell()

    def reset(self) -> None:
        super().reset()
        self._tell()

    def _tell(self) -> None:
        word = self["MEMRMP"]
        self.host.remapped(word & MEM_MODE, word & SWP_FMC == SWAPPED)

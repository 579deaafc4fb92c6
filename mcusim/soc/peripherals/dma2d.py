"""DMA2D: a started transfer ends after a time; no pixel is written.

ST RM0386, RM0385: registers of DMA2D. A transfer takes one cycle of the core for each pixel (assumed). Not modelled:
reading and writing of memory, the bus traffic of both, line watermarks, CLUT loading, suspending.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

START, ABORT, TCIE, TCIF = 1, 4, 1 << 9, 1 << 1


class Dma2d(RegisterBlock):
    """CR.START until ISR.TCIF."""

    by_events = True
    _ends = -1  # cycle, or none

    @property
    def waiting(self) -> bool:
        return self._ends >= 0

    def _catch_up(self) -> None:
        if 0 <= self._ends <= self.host.cycles:
            self._ends = -1
            self["CR"] &= ~START
            self["ISR"] |= TCIF
        self.request(bool(self["ISR"] & TCIF and self["CR"] & TCIE))

    def line_enabled(self, irq: int) -> bool:
        return bool(self["CR"] & TCIE)

    def on_read(self, register: str, word: int) -> int:
        self._catch_up()
        return self[register]

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "CR" and value & START and self._ends < 0:
            lines, pixels = self["NLR"] & 0xFFFF, self["NLR"] >> 16 & 0x3FFF
            self._ends = self.host.cycles + max(1, lines * pixels)
            self.at(self._ends, self._catch_up)
        if register == "CR" and value & ABORT:
            self._ends = -1
            self["CR"] &= ~(START | ABORT)
        if register == "IFCR":
            self["ISR"] &= ~value
        self._catch_up()

"""LTDC as far as drivers wait for it: reload of the shadow registers, line interrupt, vertical synchronisation.

ST RM0386 chapter 19, RM0385 chapter 18. A frame takes a sixtieth of a second from GCR.LTDCEN on, whatever the pixel
clock (assumed), a fiftieth of it vertical synchronisation. SRCR.IMR reloads at once, SRCR.VBR at the frame's end, at
once while it is off.

Not modelled: pixels and the bus traffic of reading them, the timings in its registers, FIFO underrun and transfer
errors, the line at which the line interrupt comes (it is the frame's end).
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

ENABLE, IMR, VBR = 1, 1, 2
LINE, RELOADED = 1, 8  # in IER, ISR and ICR
VDES, VSYNCS = 1, 4  # in CDSR
RATE, SYNCHRONISATION = 60, 50


class Ltdc(RegisterBlock):
    """``_since``: the cycle at which it was enabled."""

    _since, _entered = 0, -1

    @property
    def _frame(self) -> int:
        return max(1, self.host.core_clock // RATE)

    @property
    def waiting(self) -> bool:
        return bool(self["GCR"] & ENABLE)

    def _frame_ends(self) -> None:
        """The display has been written; what waited for the blanking is done."""
        self._entered = -1
        if not self["GCR"] & ENABLE:
            return
        self["ISR"] |= LINE * bool(self["LIPCR"])
        self._reload(self["SRCR"] & VBR)
        self._enter()

    def _enter(self) -> None:
        """An event at the frame's end, where something waits for it."""
        if self["GCR"] & ENABLE and (self["SRCR"] & VBR or self["IER"] & LINE) and self._entered < 0:
            passed = (self.host.cycles - self._since) // self._frame
            self._entered = self._since + (passed + 1) * self._frame
            self.at(self._entered, self._frame_ends)

    def _reload(self, asked: int) -> None:
        if asked:
            self["SRCR"] = 0
            self["ISR"] |= RELOADED
        self.request(bool(self["ISR"] & self["IER"]))

    def line_enabled(self, irq: int) -> bool:
        return bool(self["IER"])

    def on_read(self, register: str, word: int) -> int:
        if 0 <= self._entered <= self.host.cycles:
            self._frame_ends()
        if register == "CDSR" and self["GCR"] & ENABLE:
            blank = (self.host.cycles - self._since) % self._frame < self._frame // SYNCHRONISATION
            return word & ~(VDES | VSYNCS) | (VSYNCS if blank else VDES)
        return self[register]

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "GCR" and value & ENABLE and not old & ENABLE:
            self._since = self.host.cycles
        if register == "ICR":
            self["ISR"] &= ~value
        off = not self["GCR"] & ENABLE
        self._reload(self["SRCR"] & (IMR | VBR if off else IMR) if register == "SRCR" else 0)
        self._enter()

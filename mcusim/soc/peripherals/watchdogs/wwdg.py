"""WWDG: the window watchdog; a refresh too early or too late resets the part.

ST RM0090 chapter 22, RM0385 chapter 27: the counter CR.T falls every 4,096 x 2^CFR.WDGTB cycles of its bus; at 0x40
comes the early wakeup interrupt, below it the reset; a store to CR while the counter is above CFR.W resets too.

Not modelled: a counter that runs before WDGA is set, what the debugger stops.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

WDGA, COUNT, LAST = 0x80, 0x7F, 0x40
EWI, EWIF = 1 << 9, 1
PRESCALE = 4096


class Wwdg(RegisterBlock):
    """``_since``: the cycle at which CR.T was stored."""

    _since = 0

    @property
    def _step(self) -> int:
        return (PRESCALE << (self["CFR"] >> 7 & 3)) * self.host.dividers(self.bus)[0]

    @property
    def _now(self) -> int:
        """The counter."""
        return (self["CR"] & COUNT) - (self.host.cycles - self._since) // self._step

    @property
    def waiting(self) -> bool:
        return bool(self["CR"] & WDGA)

    def on_read(self, register: str, word: int) -> int:
        if register == "CR" and word & WDGA:
            return WDGA | max(0, self._now)
        return word

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "CR":
            written = self["CR"] | old & WDGA  # only a reset clears it
            self["CR"] = old
            if old & WDGA and self._now > self["CFR"] & COUNT:
                self.host.resets("WWDG", "WWDG was refreshed before its window")
            self["CR"], self._since = written, self.host.cycles
            if written & WDGA:
                for count in (LAST, LAST - 1):
                    self.at(self._since + max(0, (written & COUNT) - count) * self._step, self._look)
        self.request(bool(self["SR"] & EWIF and self["CFR"] & EWI))

    def line_enabled(self, irq: int) -> bool:
        return bool(self["CFR"] & EWI)

    def _look(self) -> None:
        if not self["CR"] & WDGA or self._now > LAST:
            return
        if self._now < LAST:
            self.host.resets("WWDG", "WWDG has counted below 0x40")
        self["SR"] |= EWIF
        self.request(bool(self["CFR"] & EWI))

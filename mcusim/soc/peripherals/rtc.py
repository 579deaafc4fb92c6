"""RTC as far as drivers wait for it: initialisation mode, synchronisation of the shadow registers, backup registers.

ST RM0090 chapter 26, RM0385 chapter 29. ISR.INITF follows INIT, and RSF comes back, after two cycles of 32,768 Hz.

Not modelled: the calendar does not count, alarms, wakeup timer, tamper; write protection and the backup domain's.
"""

from __future__ import annotations

from math import ceil

from mcusim.soc.register_block import RegisterBlock

RSF = 1 << 5  # in ISR
CYCLES, RATE = 2, 32_768


class Rtc(RegisterBlock):
    """``_synchronised``: the cycle from which RSF is set again."""

    _synchronised = 0

    @property
    def waiting(self) -> bool:
        return super().waiting or self.host.cycles < self._synchronised

    def reset(self) -> None:
        """It is in the backup domain, which a reset of the part leaves alone."""

    def kept(self) -> object:
        return sorted(self._words.items())

    def on_read(self, register: str, word: int) -> int:
        if register == "ISR" and self.host.cycles >= self._synchronised:
            self["ISR"] |= RSF
        return self[register]

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "ISR" and not value & RSF:
            self._synchronised = self.host.cycles + ceil(CYCLES * self.host.core_clock / RATE)

"""Random number generator: the same numbers in every run, so that a program's cycles are the same.

ST RM0090 chapter 24. A number is ready 40 cycles (of the core here, of its own clock in hardware) after the last was
read. Numbers are those of Marsaglia's xorshift32. Not modelled: seed and clock errors, its interrupt.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

ENABLE, READY = 1 << 2, 1
TIME = 40


class Rng(RegisterBlock):
    """SR.DRDY says that DR has a number; reading it takes it."""

    _state, _ready_at = 0x2545_F491, 0

    @property
    def waiting(self) -> bool:
        return bool(self["CR"] & ENABLE) and self.host.cycles < self._ready_at

    def on_read(self, register: str, word: int) -> int:
        ready = bool(self["CR"] & ENABLE) and self.host.cycles >= self._ready_at
        if register == "SR":
            return word & ~READY | ready
        if register == "DR" and ready:
            x = self._state
            x ^= x << 13 & 0xFFFF_FFFF
            x ^= x >> 17
            self._state = x ^ x << 5 & 0xFFFF_FFFF
            self._ready_at = self.host.cycles + TIME
            return self._state
        return 0 if register == "DR" else word

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "CR" and value & ENABLE and not old & ENABLE:
            self._ready_at = self.host.cycles + TIME

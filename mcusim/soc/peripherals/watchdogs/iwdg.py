"""IWDG: the independent watchdog; one that is not refreshed in time resets the part.

ST RM0090 chapter 21, RM0385 chapter 26: KR takes 0xCCCC (start), 0xAAAA (refresh) and 0x5555 (PR, RLR and WINR may be
written); their changes show in SR until five cycles of the LSI later. The LSI has 32 kHz (its typical frequency,
assumed).

Not modelled: start by option bytes, the LSI's tolerance, what the debugger stops.
"""

from __future__ import annotations

from math import ceil

from mcusim.soc.register_block import RegisterBlock

START, REFRESH, UNLOCK = 0xCCCC, 0xAAAA, 0x5555
LSI = 32_000
UPDATES = {"PR": 1, "RLR": 2, "WINR": 4}  # their bits in SR
UPDATE_CYCLES = 5  # of the LSI


class Iwdg(RegisterBlock):
    """``_since``: the cycle of the last refresh, -1 before the start; ``_limit``: the cycle at which it is too late."""

    _since, _limit = -1, -1
    _entered, _unlocked = False, False
    _updated = 0  # until when SR shows updates

    @property
    def _step(self) -> int:
        """Core cycles of one count."""
        return ceil((4 << min(self["PR"], 6)) * self.host.clock / LSI)

    @property
    def waiting(self) -> bool:
        return self.host.cycles < self._updated

    def on_read(self, register: str, word: int) -> int:
        return word if register != "SR" or self.waiting else 0

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "KR":
            self._key(value & 0xFFFF)
        elif register in UPDATES:
            if not self._unlocked:
                self[register] = old
                return
            self["SR"] = (self["SR"] if self.waiting else 0) | UPDATES[register]
            self._updated = self.host.cycles + ceil(UPDATE_CYCLES * self.host.clock / LSI)
            if register == "WINR":
                self._refresh()

    def _key(self, key: int) -> None:
        self._unlocked = key == UNLOCK
        if key == REFRESH and self._since >= 0:
            counted = (self.host.cycles - self._since) // self._step
            if self["RLR"] - counted > (self["WINR"] if "WINR" in self._at else 0xFFF):
                self.host.resets("IWDG", "IWDG was refreshed before its window")
        if key in (START, REFRESH) and (key == START or self._since >= 0):
            self._refresh(started=True)

    def _refresh(self, started: bool = False) -> None:
        if started or self._since >= 0:
            self._since = self.host.cycles
            self._limit = self._since + (self["RLR"] + 1) * self._step
            self._enter()

    def _enter(self) -> None:
        """One event at a time, however often it is refreshed."""
        if not self._entered:
            self._entered = True
            self.at(self._limit, self._look)

    def _look(self) -> None:
        self._entered = False
        if self._since < 0:
            return
        if self.host.cycles < self._limit:
            self._enter()
            return
        time = (self._limit - self._since) / self.host.clock
        self.host.resets("IWDG", f"IWDG was not refreshed for {1e3 * time:.3g} ms")

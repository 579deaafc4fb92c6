"""FMC: the commands that start an SDRAM, in their order.

ST RM0385 section 13.7: clock enable (1), precharge all (2), auto-refresh (3), load mode register (4), each for the
banks that SDCMR names, then a refresh rate in SDRTR. A command keeps SDSR.BUSY set for 16 core cycles (assumed).

Not modelled: what the registers say of timing (the machine file's counts), self-refresh and power-down, write
protection, refresh errors, NOR, PSRAM and NAND.
"""

from __future__ import annotations

from mcusim.cpu.peripherals.register_block import RegisterBlock

__all__ = ["Fmc"]

BUSY, TIME = 1 << 5, 16
ORDER = {1: "clock enable", 2: "precharge all", 3: "auto-refresh", 4: "load mode register"}
BANKS = {1: 1 << 4, 2: 1 << 3}  # in SDCMR


class Fmc(RegisterBlock):
    """``done``: the commands that each bank has had in their order; SDRAM answers after all four and a refresh rate."""

    _busy_until = 0

    @property
    def waiting(self) -> bool:
        return self.host.cycles < self._busy_until

    def missing(self, bank: int) -> str:
        """The first step of the sequence that ``bank`` (1 or 2) lacks; empty when it is ready."""
        left = [ORDER[command] for command in ORDER if command not in self._done(bank)]
        return left[0] if left else "" if self["SDRTR"] & 0x3FFE else "refresh rate (SDRTR)"

    def _done(self, bank: int) -> set[int]:
        if not hasattr(self, "_commands"):
            self._commands: dict[int, set[int]] = {number: set() for number in BANKS}
        return self._commands[bank]

    def loaded(self, register: str, word: int) -> int:
        return word | BUSY * self.waiting if register == "SDSR" else word

    def stored(self, register: str, value: int, old: int) -> None:
        if register in ("SDCMR", "SDRTR"):
            self.host.sdram_commanded(min((self.missing(bank) for bank in BANKS), key=bool))
        if register != "SDCMR":
            return
        command = value & 7
        for bank, bit in BANKS.items():
            if value & bit and all(earlier in self._done(bank) for earlier in ORDER if earlier < command):
                self._done(bank).add(command)
        self._busy_until = self.host.cycles + TIME

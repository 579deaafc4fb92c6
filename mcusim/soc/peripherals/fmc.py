"""FMC: the commands that start an SDRAM, in their order.

ST RM0385 section 13.7: clock enable (1), precharge all (2), auto-refresh (3), load mode register (4), each for the
banks that SDCMR names, then a refresh rate in SDRTR. A command keeps SDSR.BUSY set for 16 core cycles (assumed).

Not modelled: what the registers say of timing (the machine file's counts), self-refresh and power-down, write
protection, refresh errors, NOR, PSRAM and NAND.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

BUSY, TIME = 1 << 5, 16
ORDER = {
    1: "clock enable",
    2: "precharge all",
    3: "auto-refresh",
    4: "load mode register",
}
BANKS = {1: 1 << 4, 2: 1 << 3}  # in SDCMR


class Fmc(RegisterBlock):
    """``_had``: how many commands each bank has had in their order; SDRAM answers after all and a refresh rate."""

    _busy_until = 0
    _had: tuple[int, ...] = (0, 0)

    @property
    def waiting(self) -> bool:
        return self.host.cycles < self._busy_until

    def missing(self, bank: int) -> str:
        """The first step of the sequence that ``bank`` (1 or 2) lacks; empty when it is ready."""
        had = self._had[bank - 1]
        return ORDER[had + 1] if had + 1 in ORDER else "" if self["SDRTR"] & 0x3FFE else "refresh rate (FMC_SDRTR)"

    def on_read(self, register: str, word: int) -> int:
        return word | BUSY * self.waiting if register == "SDSR" else word

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "SDCMR":
            command, had = value & 7, list(self._had)
            for bank, bit in BANKS.items():
                if value & bit and command == had[bank - 1] + 1 and command in ORDER:
                    had[bank - 1] = command
            self._had = tuple(had)
            self._busy_until = self.host.cycles + TIME
        if register in ("SDCMR", "SDRTR"):
            self._tell()

    def reset(self) -> None:
        super().reset()
        self._tell()

    def _tell(self) -> None:
        self.host.sdram_commanded({bank: self.missing(bank) for bank in BANKS})

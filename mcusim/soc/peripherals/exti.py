"""EXTI: interrupts that the program itself sets off, and its pending bits.

ST RM0090 chapter 12: SWIER sets a pending bit where IMR has the line, a 1 stored to PR clears it and SWIER's bit.
Lines 0 to 4 have an interrupt each, 5 to 9 and 10 to 15 one together. Not modelled: edges of pins, lines above 15,
events, and the second bank of registers that some families have.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

REQUESTS = {0x1: 6, 0x2: 7, 0x4: 8, 0x8: 9, 0x10: 10, 0x3E0: 23, 0xFC00: 40}  # the same in all families here


class Exti(RegisterBlock):
    """Several interrupts, each for a group of lines."""

    @property
    def lines(self) -> tuple[int, ...]:
        return tuple(REQUESTS.values())

    def line_enabled(self, irq: int) -> bool:
        return any(self["IMR"] & mask for mask, line in REQUESTS.items() if line == irq)

    def on_write(self, register: str, value: int, old: int) -> None:
        if register == "SWIER":
            self["PR"] |= value & ~old & self["IMR"]
        if register == "PR":
            self["SWIER"] &= ~value
        for mask, irq in REQUESTS.items():
            self.request(bool(self["PR"] & self["IMR"] & mask), irq)

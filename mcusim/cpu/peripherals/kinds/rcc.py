"""RCC of the STM32F4 and F7: its registers, and the resets of other blocks.

ST RM0090 chapter 7, RM0385 chapter 5: a bit of a register ...RSTR holds a block in reset; RCC_CSR.RMVF clears the flags
that say why the part was reset. Not modelled: a block answers while it is held in reset, and without its clock.
"""

from __future__ import annotations

from mcusim.cpu.peripherals.register_block import RegisterBlock

__all__ = ["Rcc"]

RMVF, FLAGS = 1 << 24, 0xFE00_0000  # in CSR
BDRST = 1 << 16  # in BDCR


class Rcc(RegisterBlock):
    """A bit that rises in a reset register resets its block."""

    def stored(self, register: str, value: int, old: int) -> None:
        if register.endswith("RSTR"):
            self.host.reset_blocks(register, self[register] & ~old)
        elif register == "CSR" and value & RMVF:
            self["CSR"] &= ~FLAGS
        elif register == "BDCR" and self["BDCR"] & BDRST:
            self["BDCR"] = BDRST

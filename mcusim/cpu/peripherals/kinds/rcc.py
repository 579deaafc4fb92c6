"""RCC: its registers, and the resets of other blocks.

ST RM0090 chapter 7, RM0385 chapter 5, RM0432 chapter 6, RM0433 chapter 8: a bit of a register ...RSTR holds a block in
reset; RMVF (in CSR, of the H7 in RSR) clears the flags that say why the part was reset. Not modelled: a block answers
while it is held in reset, and without its clock.
"""

from __future__ import annotations

from mcusim.cpu.peripherals.register_block import RegisterBlock

__all__ = ["Rcc"]

RMVF = {  # what clears the reset flags, and where they are; the F4's and F7's, the L4+'s, the H7's
    ("CSR", 1 << 24): 0xFE00_0000,
    ("CSR", 1 << 23): 0xFF00_0000,
    ("RSR", 1 << 16): 0xFFFE_0000,
}
BDRST = 1 << 16  # in BDCR


class Rcc(RegisterBlock):
    """A bit that rises in a reset register resets its block."""

    def stored(self, register: str, value: int, old: int) -> None:
        if "RSTR" in register:
            self.host.reset_blocks(register, self[register] & ~old)
        elif register in ("CSR", "RSR"):
            for (where, bit), flags in RMVF.items():
                if register == where and value & bit:
                    self[register] &= ~flags
        elif register == "BDCR" and self["BDCR"] & BDRST:
            self["BDCR"] = BDRST

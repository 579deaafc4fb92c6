"""RCC: its registers, and the resets of other blocks.

ST RM0090 chapter 7, RM0385 chapter 5, RM0432 chapter 6, RM0433 chapter 8: a bit of a register ...RSTR holds a block in
reset; RMVF (in CSR, of the H7 in RSR) clears the flags that say why the part was reset. A reset pulls the reset pin
and leaves BDCR alone. Places of the flags: ST's CMSIS headers. Not modelled: a block answers
while it is held in reset, and without its clock.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

RMVF = {  # what clears the reset flags, and where they are; the F4's and F7's, the L4+'s, the H7's
    ("CSR", 1 << 24): 0xFE00_0000,
    ("CSR", 1 << 23): 0xFF00_0000,
    ("RSR", 1 << 16): 0xFFFE_0000,
}
# the reset flags: of a reset of the part (pin included), those of a cause
FLAGS = {
    "F": {"software": 1 << 28 | 1 << 26, "IWDG": 1 << 29 | 1 << 26, "WWDG": 1 << 30 | 1 << 26},
    "L4": {
        "software": 1 << 28 | 1 << 26,
        "IWDG": 1 << 29 | 1 << 26,
        "WWDG": 1 << 30 | 1 << 26,
        "option bytes": 1 << 25 | 1 << 26,
    },
    "H7": {"software": 1 << 24 | 1 << 22 | 1 << 17, "IWDG": 1 << 26 | 1 << 22, "WWDG": 1 << 28 | 1 << 22},
}
BDRST = 1 << 16  # in BDCR


class Rcc(RegisterBlock):
    """A bit that rises in a reset register resets its block."""

    def on_write(self, register: str, value: int, old: int) -> None:
        if "RSTR" in register:
            self.host.reset_blocks(register, self[register] & ~old)
        elif register in ("CSR", "RSR"):
            for (where, bit), flags in RMVF.items():
                if register == where and value & bit:
                    self[register] &= ~flags
        elif register == "BDCR" and self["BDCR"] & BDRST:
            self["BDCR"] = BDRST

    @property
    def _flags(self) -> tuple[str, int, str]:
        """The register that has the reset flags, which bits, and whose part it is."""
        if "RSR" in self._at:
            return "RSR", RMVF["RSR", 1 << 16], "H7"
        part = "L4" if "CRRCR" in self._at else "F"
        return "CSR", RMVF["CSR", 1 << (23 if part == "L4" else 24)], part

    def reset(self) -> None:
        if not self._at.keys() & {"CSR", "RSR"}:
            super().reset()
            return
        register, bits, _ = self._flags
        flags, backup = self[register] & bits, self["BDCR"]
        super().reset()
        self[register] = self[register] & ~bits | flags
        self["BDCR"] = backup

    def note(self, cause: str) -> None:
        """The part was reset: set the flags of the cause."""
        register, _, part = self._flags
        self[register] |= FLAGS[part].get(cause, 0)

    def kept(self) -> object:
        register, bits, _ = self._flags
        return self[register] & bits, self["BDCR"]

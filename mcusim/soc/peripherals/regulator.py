"""PWR of the STM32L4+ and H7: flags that say for a while after a change of the voltage scale that it is not reached.

L4+: VOSF of SR2 is set after a store that changes VOS of CR1. H7: ACTVOSRDY of CSR1 and VOSRDY of D3CR are clear after
one that changes VOS of D3CR. Not modelled: over-drive (SYSCFG_PWRCR) and the supplies of CR3, which take no time, and a
clock that is too fast for the scale.
"""

from __future__ import annotations

from mcusim.soc.register_block import RegisterBlock

MICROSECONDS = 20  # ST DS12023, regulator transition time, typical, as remembered (assumed; on the H7 too)
SCALES = {"CR1": 0x600, "D3CR": 0xC000}  # where VOS is, by the register that the part has it in
BUSY = {"SR2": (0x400, True), "CSR1": (0x2000, False), "D3CR": (0x2000, False)}  # and what they are meanwhile


class Regulator(RegisterBlock):
    """``_reached``: the cycle at which the voltage is what VOS asks for."""

    _reached = 0

    @property
    def waiting(self) -> bool:
        return super().waiting or self.host.cycles < self._reached

    def on_write(self, register: str, value: int, old: int) -> None:
        own = "D3CR" if "D3CR" in self._at else "CR1"
        if register == own and (old ^ self[register]) & SCALES[own]:
            self._reached = self.host.cycles + MICROSECONDS * self.host.core_clock // 1_000_000

    def on_read(self, register: str, word: int) -> int:
        bits, level = BUSY.get(register, (0, True))
        if not bits or self.host.cycles >= self._reached:
            return word
        return word | bits if level else word & ~bits

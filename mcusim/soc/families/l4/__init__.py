"""STM32L4: RCC and PWR after ST's CMSIS header of the STM32L4R5. Not modelled: LSE trimming of the MSI."""

from __future__ import annotations

from mcusim.soc.families.family_registers import MHZ, Clock, FamilyRegisters, Scale, pll, source
from mcusim.soc.register_config.derived_figure import Bits
from mcusim.soc.register_config.register_writes import Registers

MSI = (100_000, 200_000, 400_000, 800_000, *(n * MHZ for n in (1, 2, 4, 8, 16, 24, 32, 48)))  # by CR.MSIRANGE


def system(r: Registers, external: int | None) -> Clock:
    own = r.field("RCC_CR", 4, 4) if r.field("RCC_CR", 3, 1) else 6  # CR.MSIRGSEL; 4 MHz after a reset
    msi = source("MSI", MSI[min(own, len(MSI) - 1)])
    sources = [msi, source("HSI16", 16 * MHZ), source("HSE", external)]
    switch, word = r.field("RCC_CFGR", 0, 2), r["RCC_PLLCFGR"]
    if switch < 3:
        return sources[switch]
    if not word & 3:
        return Clock(None, "a PLL without a source")
    return pll(sources[(word & 3) - 1], (word >> 4 & 15) + 1, word >> 8 & 127, 2 * (word >> 25 & 3) + 2)


def voltage_range(r: Registers, names: list[str]) -> Scale:
    """PWR_CR1.VOS, PWR_CR5.R1MODE (0: boost)."""
    if not r.written("PWR_CR1", "PWR_CR5"):
        return None
    boost = not r.field("PWR_CR5", 8, 1)
    text = "range2" if r.field("PWR_CR1", 9, 2) == 2 else "range1-boost" if boost else "range1"
    return text, (Bits("PWR_CR1", 3 << 9), Bits("PWR_CR5", 1 << 8))


REGISTERS = FamilyRegisters(
    system, (Bits("RCC_CFGR", 0xF3), Bits("RCC_PLLCFGR", 0x600_7FF3), Bits("RCC_CR", 0xF8)), voltage_range
)

"""STM32G4: RCC and PWR after ST RM0440 6 and 7. Not modelled: the highest clock without the AHB divider's step."""

from __future__ import annotations

from mcusim.soc.families.family_registers import MHZ, Clock, FamilyRegisters, pll, source
from mcusim.soc.families.l4 import voltage_range
from mcusim.soc.register_config.derived_figure import Bits
from mcusim.soc.register_config.register_writes import Registers


def system(r: Registers, external: int | None) -> Clock:
    """RCC_CFGR.SW: HSI16, HSE, or the PLL by its R."""
    sources = {1: source("HSI16", 16 * MHZ), 2: source("HSE", external)}
    switch, word = r.field("RCC_CFGR", 0, 2), r["RCC_PLLCFGR"]
    if switch in sources:
        return sources[switch]
    if not switch or word & 3 < 2:
        return Clock(None, "a PLL without a source" if switch else "no clock")
    return pll(sources[(word & 3) - 1], (word >> 4 & 15) + 1, word >> 8 & 127, 2 * (word >> 25 & 3) + 2)


REGISTERS = FamilyRegisters(system, (Bits("RCC_CFGR", 0xF3), Bits("RCC_PLLCFGR", 0x600_7FF3)), voltage_range)

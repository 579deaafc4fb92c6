"""STM32H7: RCC and PWR after ST's CMSIS header of the STM32H743. Not modelled: the fraction of the PLL."""

from __future__ import annotations

from mcusim.soc.families.family_registers import MHZ, Clock, FamilyRegisters, Scale, pll, source
from mcusim.soc.register_config.derived_figure import Bits
from mcusim.soc.register_config.register_writes import Registers


def system(r: Registers, external: int | None) -> Clock:
    hsi = source("HSI", 64 * MHZ >> r.field("RCC_CR", 3, 2))
    sources = [hsi, source("CSI", 4 * MHZ), source("HSE", external)]
    switch, word = r.field("RCC_CFGR", 0, 3), r["RCC_PLL1DIVR"]
    if switch < 3:
        return sources[switch]
    chosen = r.field("RCC_PLLCKSELR", 0, 2)
    if switch > 3 or chosen > 2:
        return Clock(None, "a PLL without a source" if switch == 3 else "no clock")
    m = r.field("RCC_PLLCKSELR", 4, 6)
    return pll(sources[chosen], m, (word & 511) + 1, (word >> 9 & 127) + 1)


def scale(r: Registers, names: list[str]) -> Scale:
    """PWR_D3CR.VOS; VOS0 is SYSCFG's, which has no description."""
    if not r.written("PWR_D3CR"):
        return None
    return f"vos{(3, 3, 2, 1)[r.field('PWR_D3CR', 14, 2)]}", (Bits("PWR_D3CR", 3 << 14),)


REGISTERS = FamilyRegisters(
    system,
    (Bits("RCC_CFGR", 7), Bits("RCC_D1CFGR", 0xF00), Bits("RCC_PLLCKSELR", 0x3F3), Bits("RCC_PLL1DIVR", 0xFFFF)),
    scale,
    core=("RCC_D1CFGR", 8),
    bus=("RCC_D1CFGR", 0),
    flash_lines=None,
)

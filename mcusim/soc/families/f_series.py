"""RCC and PWR as the STM32F4 and F7 have them: ST RM0090, and ST's CMSIS headers."""

from __future__ import annotations

from mcusim.soc.families.family_registers import MHZ, Clock, Scale, pll, source
from mcusim.soc.register_config.derived_figure import Bits
from mcusim.soc.register_config.register_writes import Registers


def system_f(r: Registers, external: int | None) -> Clock:
    """F4 and F7: HSI, HSE, PLL by its P, by its R (F446, F469)."""
    hsi, hse, switch = source("HSI", 16 * MHZ), source("HSE", external), r.field("RCC_CFGR", 0, 2)
    if switch < 2:
        return hse if switch else hsi
    word = r["RCC_PLLCFGR"]
    last = 2 * (word >> 16 & 3) + 2 if switch == 2 else max(1, word >> 28 & 7)
    return pll(hse if word >> 22 & 1 else hsi, word & 63, word >> 6 & 511, last)


def scale_f(r: Registers, names: list[str]) -> Scale:
    """PWR_CR: VOS, two bits where the part has three scales, ODEN and ODSWEN."""
    if not r.written("PWR_CR1"):
        return None
    vos = r.field("PWR_CR1", 14, 2)
    if "scale3" not in names:
        scale = "scale1" if vos & 1 else "scale2"
    else:
        scale = ("scale3", "scale3", "scale2", "scale1")[vos]
    over_drive = r.field("PWR_CR1", 16, 2) == 3 and f"{scale}-over-drive" in names
    return scale + "-over-drive" * over_drive, (Bits("PWR_CR1", 0x3_C000),)

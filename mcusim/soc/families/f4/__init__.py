"""STM32F4: RCC and PWR of the F series."""

from __future__ import annotations

from mcusim.soc.families.f_series import scale_f, system_f
from mcusim.soc.families.family_registers import FamilyRegisters
from mcusim.soc.register_config.derived_figure import Bits

REGISTERS = FamilyRegisters(system_f, (Bits("RCC_CFGR", 0xF3), Bits("RCC_PLLCFGR", 0x7043_7FFF)), scale_f)

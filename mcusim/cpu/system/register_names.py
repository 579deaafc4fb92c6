"""Names of the core's own registers, those of the private peripheral bus, for error texts and findings.

Sources: Arm DDI0403 B3 (ARMv7-M) and DDI0489 (Cortex-M7). Those of a part's blocks: :mod:`mcusim.soc.families.family`.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cache

# Pairs of an offset in a part of the private peripheral bus and the register there.
_SCS = """
    004 ICTR  008 ACTLR  010 SYST_CSR  014 SYST_RVR  018 SYST_CVR  01C SYST_CALIB  D00 CPUID  D04 ICSR  D08 VTOR
    D0C AIRCR  D10 SCR  D14 CCR  D18 SHPR1  D1C SHPR2  D20 SHPR3  D24 SHCSR  D28 CFSR  D2C HFSR  D30 DFSR  D34 MMFAR
    D38 BFAR  D3C AFSR  D40 ID_PFR0  D44 ID_PFR1  D48 ID_DFR0  D4C ID_AFR0  D50 ID_MMFR0  D54 ID_MMFR1  D58 ID_MMFR2
    D5C ID_MMFR3  D60 ID_ISAR0  D64 ID_ISAR1  D68 ID_ISAR2  D6C ID_ISAR3  D70 ID_ISAR4  D78 CLIDR  D7C CTR
    D80 CCSIDR  D84 CSSELR  D88 CPACR  D90 MPU_TYPE  D94 MPU_CTRL  D98 MPU_RNR  D9C MPU_RBAR  DA0 MPU_RASR
    DA4 MPU_RBAR_A1  DA8 MPU_RASR_A1  DAC MPU_RBAR_A2  DB0 MPU_RASR_A2  DB4 MPU_RBAR_A3  DB8 MPU_RASR_A3  DF0 DHCSR
    DF4 DCRSR  DF8 DCRDR  DFC DEMCR  F00 STIR  F34 FPCCR  F38 FPCAR  F3C FPDSCR  F40 MVFR0  F44 MVFR1  F48 MVFR2
    F50 ICIALLU  F58 ICIMVAU  F5C DCIMVAC  F60 DCISW  F64 DCCMVAU  F68 DCCMVAC  F6C DCCSW  F70 DCCIMVAC  F74 DCCISW
    F78 BPIALL  F90 ITCMCR  F94 DTCMCR  F98 AHBPCR  F9C CACR  FA0 AHBSCR  FA8 ABFSR
"""
_DWT = """
    000 CTRL  004 CYCCNT  008 CPICNT  00C EXCCNT  010 SLEEPCNT  014 LSUCNT  018 FOLDCNT  01C PCSR  020 COMP0
    024 MASK0  028 FUNCTION0  030 COMP1  034 MASK1  038 FUNCTION1  040 COMP2  044 MASK2  048 FUNCTION2  050 COMP3
    054 MASK3  058 FUNCTION3  FB0 LAR
"""
_ITM = """
    E00 TER  E40 TPR  E80 TCR  FB0 LAR  FB4 LSR
"""
_FPB = """
    000 CTRL  004 REMAP
"""
REGISTERS = {
    0xE000_0000: ("ITM_", _ITM),
    0xE000_1000: ("DWT_", _DWT),
    0xE000_2000: ("FP_", _FPB),
    0xE000_E000: ("", _SCS),
}
SERIES = (  # first address, how many words, name of the n-th
    (0xE000_0000, 32, "ITM_STIM"), (0xE000_2008, 8, "FP_COMP"), (0xE000_E100, 16, "NVIC_ISER"),
    (0xE000_E180, 16, "NVIC_ICER"), (0xE000_E200, 16, "NVIC_ISPR"), (0xE000_E280, 16, "NVIC_ICPR"),
    (0xE000_E300, 16, "NVIC_IABR"), (0xE000_E400, 124, "NVIC_IPR"),
)  # fmt: skip
PARTS = (
    (0xE000_0000, "ITM"), (0xE000_1000, "DWT"), (0xE000_2000, "FPB"), (0xE000_3000, ""), (0xE000_E000, "SCS"),
    (0xE000_F000, ""), (0xE004_0000, "TPIU"), (0xE004_1000, "ETM"), (0xE004_2000, ""), (0xE00F_F000, "ROM table"),
    (0xE010_0000, ""),
)  # fmt: skip


@cache
def _registers() -> dict[int, str]:
    registers = {base + 4 * n: f"{name}{n}" for base, count, name in SERIES for n in range(count)}
    for base, (prefix, table) in REGISTERS.items():
        words = iter(table.split())
        registers |= {base + int(offset, 16): prefix + name for offset, name in zip(words, words, strict=True)}
    return registers


def register_at(address: int) -> str | None:
    """The register of the private peripheral bus whose word contains ``address``, else its part and offset, or None."""
    name = _registers().get(address & ~3)
    if name:
        return name if not address & 3 else f"{name} + {address & 3}"
    index = bisect_right(PARTS, (address, "\uffff")) - 1
    base, part = PARTS[index] if index >= 0 else (0, "")
    return f"{part} + {address - base:#05x}" if part else None

"""The cores: all that differs from one to another, in one table. A new core is one entry here and its pipeline file.

| key | sources |
|---|---|
| ``reset`` | Arm DDI0439 and DDI0489: CPUID, CTR, CLIDR; CCR is STKALIGN, on the Cortex-M7 branch prediction too |
| ``data_bus`` | 4 B of AHB-Lite (DDI0439), 8 B of AXI (DDI0489) |
| ``device_faults`` | an unaligned access to Device memory, left open by DDI0403 A3.2.1 and A3.5.7 |

A Cortex-M7 faults on an unaligned access to Device memory whatever CCR.UNALIGN_TRP says (SDRAM at 0xC000_0000 of
STM32F7 boards: Zephyr pull request 55079, nf-interpreter pull request 2820). A Cortex-M3 splits every unaligned access
into aligned ones in its bus interfaces, all but those to the private peripheral bus (Arm DDI0337I 3.4.2); that a
Cortex-M4, with the same interfaces, does so is assumed.

Not modelled: cores whose divider, branch predictor or store buffer is of a third kind; these are native code. Nothing
heavy is imported here, and nothing that needs an installation: a script that builds kernels reads this table first.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcusim.errors import MachineError


@dataclass(frozen=True, slots=True)
class CoreTraits:
    """One core. ``pipeline`` is the file that times its instructions and the class in it, ``emulator`` the name of
    Unicorn's CPU model, ``reset`` the registers of the private peripheral bus by name, as a reset leaves them, where
    they are not the same on all cores.

    ``dual_issue``: two instructions may issue in one cycle. ``branch_refill``: cycles of a taken branch beyond its
    issue, None where branches are predicted (:mod:`mcusim.cpu.pipeline.branch_predictor`). ``early_divide``: a
    divide takes as long as its operands make it. ``splits_unaligned``: an unaligned access is several on the bus.
    ``mpu_regions`` of an ARMv7-M MPU. ``fpv5``: the floating-point unit has VSEL, VMAXNM, VRINT and VCVTA;
    ``double_precision``: a part may have it (``core.fpu``). ``bit_band``: two windows show single bits as words
    (:mod:`mcusim.soc.bit_band`).
    """

    pipeline: str  # of mcusim.cpu.pipeline, "file:Class"
    emulator: str
    compiler_flags: tuple[str, ...]
    reset: Mapping[str, int]
    data_bus: int  # bytes
    dual_issue: bool = False
    branch_refill: int | None = None
    early_divide: bool = False
    splits_unaligned: bool = False
    store_buffer: bool = False
    device_faults: bool = False
    ccr_ones: int = 0  # bits of CCR that are always ones
    cache_control: bool = False  # CCR switches level-1 caches
    fpv5: bool = False
    double_precision: bool = False
    bit_band: bool = False
    dwt_lock: bool = False  # the DWT takes stores only once it is unlocked
    mpu_regions: int = 8

    @property
    def predicts_branches(self) -> bool:
        """Whether a branch may be mispredicted."""
        return self.branch_refill is None


_THUMB = ("-mfloat-abi=hard", "-mthumb")

CORES: dict[str, CoreTraits] = {
    "cortex-m4": CoreTraits(
        pipeline="cortex_m4:CortexM4",
        emulator="UC_CPU_ARM_CORTEX_M4",
        compiler_flags=("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", *_THUMB),
        reset={"CPUID": 0x410F_C241, "CCR": 0x200},
        data_bus=4,
        branch_refill=2,
        early_divide=True,
        splits_unaligned=True,
        bit_band=True,
    ),
    "cortex-m7": CoreTraits(
        pipeline="cortex_m7:CortexM7",
        emulator="UC_CPU_ARM_CORTEX_M7",
        compiler_flags=("-mcpu=cortex-m7", "-mfpu=fpv5-sp-d16", *_THUMB),
        reset={"CPUID": 0x411F_C270, "CCR": 0x4_0200, "CTR": 0x8303_C003, "CLIDR": 0x0900_0003, "MVFR2": 0x40},
        data_bus=8,
        dual_issue=True,
        store_buffer=True,
        device_faults=True,
        ccr_ones=0x4_0200,  # BP, STKALIGN
        cache_control=True,
        fpv5=True,
        double_precision=True,
        dwt_lock=True,
    ),
}


def core_named(isa: str) -> CoreTraits:
    """The core of that name. Raises MachineError, which lists those there are."""
    if isa not in CORES:
        raise MachineError(f'core.isa = "{isa}": unknown core; known are {", ".join(CORES)}')
    return CORES[isa]


def compiler_flags() -> dict[str, list[str]]:
    """GCC's flags for each core, by its name."""
    return {isa: list(core.compiler_flags) for isa, core in CORES.items()}

"""The private peripheral bus as a reset leaves it, and the MPU's registers read back.

Values: Arm DDI0439 and DDI0489 (CPUID, CTR, CLIDR, MVFR), DDI0403 (the rest). ITM port 0 is on from the start, as a
debugger would have it. Left out: everything that :mod:`mcusim.cpu.system.ppb` leaves out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.system import ppb as S
from mcusim.cpu.system.mpu import Mpu
from mcusim.machine.description import Cache, Machine

__all__ = ["BASE", "SIZE", "mpu", "prepare", "set_vectors"]

BASE, SIZE = 0xE000_0000, S.SIZE
_RESET = {
    S.ITM_TER: 1,
    S.ITM_TCR: 1,
    S.DWT_CTRL: 0x4000_0000,
    S.AIRCR: 0xFA05_0000,
    S.MPU_TYPE: 8 << 8,
    S.MVFR0: 0x1011_0021,
    S.MVFR1: 0x1100_0011,
}
_M4 = {S.CPUID: 0x410F_C241, S.CCR: 0x200}
_M7 = {S.CPUID: 0x411F_C270, S.CCR: 0x4_0200, S.CTR: 0x8303_C003, S.CLIDR: 0x0900_0003}
_CACHES_ON = 3 << 16


def prepare(machine: Machine, ppb: Any, state: Any, caches: bool) -> None:
    """Write the reset values into ``ppb`` (the mapped bytes); ``caches``: CCR says that they are on."""
    registers = np.frombuffer(ppb, np.uint32)
    m7 = machine.core.isa == "cortex-m7"
    for offset, value in (_RESET | (_M7 if m7 else _M4)).items():
        registers[offset // 4] = value
    if m7 and caches:
        registers[S.CCR // 4] |= _CACHES_ON
    state[C.CCSIDR_D] = _ccsidr(machine.data_cache)
    state[C.CCSIDR_I] = _ccsidr(machine.instruction_cache)


def set_vectors(ppb: Any, address: int) -> None:
    """VTOR as boot code leaves it: where the vector table was found."""
    np.frombuffer(ppb, np.uint32)[S.VTOR // 4] = address


def _ccsidr(cache: Cache | None) -> int:
    """CCSIDR: sets - 1, ways - 1, log2 of the words of a line - 2."""
    if cache is None or cache.size == 0:
        return 0
    sets = cache.size // cache.ways // cache.line
    return 0xF000_0000 | (sets - 1) << 13 | (cache.ways - 1) << 3 | (cache.line // 4).bit_length() - 3


def mpu(ppb: Any, state: Any) -> Mpu:
    """The MPU as the program has set it."""
    control = int(np.frombuffer(ppb, np.uint32)[S.MPU_CTRL // 4])
    regions = tuple((int(state[C.MPU_RBAR + i]), int(state[C.MPU_RASR + i])) for i in range(16))
    return Mpu(control, regions)

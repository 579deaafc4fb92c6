"""Caches and MPU regions as the program has set them up; the emulated core follows both from the store on.

Arm DDI0403: CCR.IC and DC, MPU_CTRL, MPU_RBAR and MPU_RASR. Not modelled: what the program set up and took back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.register_config.row import SetUpRow
from mcusim.cpu.system import ppb
from mcusim.cpu.system.mpu import MpuRegion
from mcusim.machine.cores import core_named
from mcusim.text import size

if TYPE_CHECKING:
    from mcusim.cpu.core_state import GuestCore

__all__ = ["core_rows"]

CACHES = (("cache.data", 16), ("cache.instruction", 17))  # bits in CCR
_POLICY = ("uncached", "write-through", "write-back")
_ACCESS = {"none": "no access", "ro": "read only", "rw": "read and write"}


def core_rows(core: GuestCore) -> Iterator[SetUpRow]:
    """A row for each cache of the machine, and each MPU region that is on."""
    yield from _caches(core)
    mpu = ppb.mpu_registers(core.ppb_words, core.state)
    if not core.state[C.MPU_CTRL_PC] and not mpu.enabled:
        return
    text = "on" if mpu.enabled else "off"
    text += ", default map behind it" if mpu.enabled and mpu.default_map else ""
    pc = int(core.state[C.MPU_CTRL_PC]) or None
    yield SetUpRow("MPU", text, None, False, "MPU_CTRL", mpu.control, pc, None, "", "followed")
    for number, pair in enumerate(mpu.regions):
        region = MpuRegion(*pair)
        if region.enabled:
            pc = int(core.state[C.MPU_PC + number]) or None
            yield SetUpRow(
                f"MPU region {number}", _region(region), None, False, "MPU_RASR", region.rasr, pc, None, "", "followed"
            )


def _caches(core: GuestCore) -> Iterator[SetUpRow]:
    if not core_named(core.machine.core.isa).cache_control:
        return
    word = int(core.ppb_words.view(np.uint32)[ppb.CCR // 4])
    pc = int(core.state[C.CACHES_PC]) or None
    for (key, bit), cache in zip(CACHES, (core.machine.data_cache, core.machine.instruction_cache), strict=True):
        if cache is not None and cache.size:
            on = bool(word >> bit & 1)
            note = "" if on or pc else "never switched on"
            yield SetUpRow(
                key, "on" if on else "off", size(cache.size), not on, "SCB_CCR", word, pc, None, note, "followed"
            )


def _region(region: MpuRegion) -> str:
    """Place, size, kind and rights."""
    about = region.attributes()
    kind = "device" if about.device else _POLICY[about.cache]
    code = "" if about.executable else ", no code"
    off = f", subregions {region.rasr >> 8 & 0xFF:08b} off" if region.rasr & 0xFF00 and region.size >= 256 else ""
    return f"{region.base:#010x} {size(region.size)} {kind}, {_ACCESS[about.privileged]}{code}{off}"

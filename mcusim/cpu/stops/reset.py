"""A system reset that the program asks for (AIRCR.SYSRESETREQ): it runs on from its vector table.

Core, private peripheral bus, NVIC, caches (off, their lines lost), peripherals and MPU are as after a reset; memories
keep what they hold, the clock and all counters run on. Two resets that find all memories the same are followed by a
third, and so on: that is the end, as is :attr:`mcusim.cpu.emulator.Emulator.most_resets`. Not modelled: transfers of a
DMA controller that are under way (they go on), reset flags (RCC_CSR), what only a power-on reset clears.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from zlib import crc32

from unicorn import arm_const as arm

from mcusim.cpu import state_layout as C
from mcusim.cpu.stops.stop_reason import Stop
from mcusim.cpu.system import ppb
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data

if TYPE_CHECKING:
    from mcusim.cpu.emulator import Emulator

__all__ = ["restart"]

THREAD, HANDLER = 0x0100_0000, 0x0100_0003
_CLEARED = (C.FPU, C.TRAP_UNALIGNED, C.TRAP_DIVIDE, C.TICK_LEFT, C.COUNT_READ, C.RESET_ASKED, C.CALL_DEPTH, C.CALL_BASE,
            C.NESTED, C.MPU_CHANGED, C.MPU_REGION, C.STOP)  # fmt: skip


def restart(emulator: Emulator) -> Stop | None:
    """Go on from the reset vector (None), or say that the run ends: where there is none, or resets have no end."""
    start = emulator.started
    contents = _contents(emulator)
    endless = emulator.resets > 0 and contents == emulator.contents_at_reset
    if start is None or start.vectors is None or endless or emulator.resets >= emulator.most_resets:
        return Stop("reset")
    emulator.contents_at_reset = contents
    emulator.resets += 1
    _clear(emulator)
    table = emulator.read(start.vectors, 8)
    emulator.core["sp"] = int.from_bytes(table[:4], "little") & ~3
    emulator.core["lr"] = 0xFFFF_FFFF
    emulator.core["pc"] = int.from_bytes(table[4:], "little") | 1
    ppb.set_vectors(emulator.ppb_words, start.vectors)
    return None


def _contents(emulator: Emulator) -> int:
    """A number of what all writable memories hold, as the core sees them."""
    found = 0
    for region in emulator.machine.memory.values():
        if region.writable:
            found = crc32(emulator.read(region.base, region.size), found)
    return found


def _clear(emulator: Emulator) -> None:
    c, s, uc = emulator.state, emulator.memory.state, emulator.core.uc
    for slot in _CLEARED:
        c[slot] = 0
    c[C.PREVIOUS] = c[C.ENTERED] = -1
    c[C.SYSTICK_DUE], c[C.HORIZON], c[C.STACK_KNOWN] = NEVER, 0, 1
    c[C.TICK_BASE] = c[C.CYCLE_BASE] = int(s[L.NOW]) // L.TICK
    for i in range(C.MPU_REGIONS):
        c[C.MPU_RBAR + i] = c[C.MPU_RASR + i] = 0
    core_data.maintain_all(s, 0, 1)
    core_data.invalidate_instructions(s)
    emulator.ppb_words[:] = 0
    ppb.prepare(emulator.machine, emulator.ppb_words, c, False)
    s[L.DCACHE] = s[L.ICACHE] = 0
    for block in emulator.peripherals.blocks:
        block.reset()
    emulator.interrupts.reset()
    emulator.install_ranges(None)
    emulator.code.traps_divide = False
    emulator.code.forget()
    uc.reg_write(arm.UC_ARM_REG_XPSR, HANDLER)  # privileged, whatever the program was
    for register in (arm.UC_ARM_REG_CONTROL, arm.UC_ARM_REG_PRIMASK, arm.UC_ARM_REG_FAULTMASK, arm.UC_ARM_REG_BASEPRI):
        uc.reg_write(register, 0)
    uc.reg_write(arm.UC_ARM_REG_XPSR, THREAD)
    uc.reg_write(arm.UC_ARM_REG_CONTROL, 0)

"""A system reset, by the program (AIRCR.SYSRESETREQ), a watchdog or the option bytes: it runs on from its vectors.

Core, private peripheral bus, NVIC, caches (off, their lines lost), peripherals and MPU are as after a reset, but for
flags that say why it was reset, the backup domain (RTC, RCC_BDCR) and option bytes; memories keep what they hold, the
clock and all counters run on. Two resets that find all that the same are followed by a third, and so on: that is the
end, as is :attr:`mcusim.emulator.emulator.Emulator.most_resets`. Not modelled: transfers of a DMA controller that are
under way (they go on), what only a power-on reset clears.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from zlib import crc32

from unicorn import arm_const as arm

from mcusim.cpu import state_layout as C
from mcusim.cpu.system import ppb
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.emulator.stops.stop import PerformedReset, Stop
from mcusim.emulator.stops.stop_reason import explain_ending
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.soc.peripheral_findings import Ending
from mcusim.soc.peripherals.rcc import Rcc

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

THREAD, HANDLER = 0x0100_0000, 0x0100_0003
_CLEARED = (C.FPU, C.TRAP_UNALIGNED, C.TRAP_DIVIDE, C.TICK_LEFT, C.COUNT_READ, C.RESET_ASKED, C.CALL_DEPTH, C.CALL_BASE,
            C.NESTED, C.MPU_CHANGED, C.MPU_REGION, C.STOP, C.INVALIDATED_LINES, C.INVALIDATED_CODE)  # fmt: skip


def restart(emulator: GuestCore, asked: Ending | None = None) -> Stop | None:
    """Go on from the reset vector (None), or say that the run ends: where there is none, or resets have no end.

    ``asked``: which block asks for it, its kind the cause; None: the program does by AIRCR.
    """
    start = emulator.started
    cause = "software" if asked is None else asked.kind
    contents = _contents(emulator)
    endless = emulator.resets > 0 and contents == emulator.contents_at_reset
    if start is None or start.vectors is None or endless or emulator.resets >= emulator.most_resets:
        return _end(emulator, asked)
    emulator.contents_at_reset = contents
    pc = int(emulator.state[C.SYSTEM_PC]) if asked is None else asked.pc
    emulator.reset_log.append(PerformedReset(cause, emulator.cycles, pc))
    _clear(emulator)
    for block in emulator.peripherals.blocks:
        if isinstance(block, Rcc):
            block.note(cause)
    table = emulator.read(start.vectors, 8)
    emulator.core["sp"] = int.from_bytes(table[:4], "little") & ~3
    emulator.core["lr"] = 0xFFFF_FFFF
    emulator.core["pc"] = int.from_bytes(table[4:], "little") | 1
    ppb.set_vectors(emulator.ppb_words, start.vectors)
    return None


def _end(emulator: GuestCore, asked: Ending | None) -> Stop:
    """A watchdog's reset that is not performed is a fault of that name."""
    if asked is None:
        return Stop("reset")
    kind = "watchdog" if asked.kind.endswith("WDG") else asked.kind
    after = f"; resets have no end, {emulator.resets:,} were performed" if emulator.resets else ""
    return Stop("fault", fault=explain_ending(emulator, replace(asked, kind=kind, text=asked.text + after)))


def _contents(emulator: GuestCore) -> int:
    """A number of what memories, backup domain and reset flags hold, as the core sees them."""
    contents = 0
    for region in emulator.machine.memory.values():
        if region.writable or region.kind == "flash":
            contents = crc32(emulator.read(region.base, region.size), contents)
    for block in emulator.peripherals.blocks:
        contents = crc32(repr(block.kept()).encode(), contents)
    return contents


def _clear(emulator: GuestCore) -> None:
    c, s, uc = emulator.state, emulator.memory.state, emulator.core.uc
    for slot in _CLEARED:
        c[slot] = 0
    c[C.PREVIOUS] = c[C.ENTERED] = -1
    c[C.SYSTICK_DUE], c[C.HORIZON], c[C.STACK_KNOWN] = NEVER, 0, 1
    c[C.TICK_BASE] = c[C.CYCLE_BASE] = int(s[L.NOW]) // L.TICK
    for i in range(C.MPU_REGIONS):
        c[C.MPU_RBAR + i] = c[C.MPU_RASR + i] = 0
    core_data.maintain_all(emulator.memory.header, 0, 1)
    s[L.ASIDE] = s[L.APART] = 0
    core_data.invalidate_instructions(emulator.memory.header)
    emulator.ppb_words[:] = 0
    ppb.prepare(emulator.machine, emulator.part, emulator.ppb_words, c, False)
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

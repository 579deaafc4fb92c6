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

from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system import ppb
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.emulator.stops.stop import PerformedReset, Stop
from mcusim.emulator.stops.stop_reason import explain_ending
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import TICK
from mcusim.soc.peripheral_findings import Ending
from mcusim.soc.peripherals.rcc import Rcc

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

THREAD, HANDLER = 0x0100_0000, 0x0100_0003


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
    pc = emulator.state.system_pc if asked is None else asked.pc
    emulator.reset_log.append(PerformedReset(cause, emulator.cycles, pc))
    _clear(emulator)
    for block in emulator.peripherals.blocks:
        if isinstance(block, Rcc):
            block.note(cause)
    table = emulator.read(start.vectors, 8)
    emulator.core["sp"] = int.from_bytes(table[:4], "little") & ~3
    emulator.core["lr"] = 0xFFFF_FFFF
    emulator.core["pc"] = int.from_bytes(table[4:], "little") | 1
    ppb.set_vectors(emulator.ppb_words.array, start.vectors)
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
    state, memory, uc = emulator.state, emulator.memory.state, emulator.core.uc
    _clear_core(state, memory.now)
    core_data.maintain_all(memory, 0, 1)
    memory.aside = memory.apart = 0
    core_data.invalidate_instructions(memory)
    emulator.ppb_words.array[:] = 0
    ppb.prepare(emulator.machine, emulator.part, emulator.ppb_words.array, state, False)
    memory.data_cache = memory.code_cache = 0
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


def _clear_core(state: CoreState, now: int) -> None:
    state.fpu = state.trap_unaligned = state.trap_divide = state.systick_left = state.systick_flag_read = 0
    state.reset_requested = state.call_depth = state.call_base = state.nested = state.stop = 0
    state.invalidated_lines = state.invalidated_code = 0
    state.open_block = state.last_block = -1
    state.systick_due, state.horizon, state.stack_known = NEVER, 0, 1
    state.systick_base = state.cycle_base = now // TICK
    state.mpu_changed = state.mpu_selected = 0
    state.zero(CoreState.mpu_rbar, CoreState.mpu_rasr)

"""The private peripheral bus: cycle counter, ITM, CPACR, CCR, cache maintenance, MPU; its reset values.

SysTick and the NVIC, with the registers of system control that pend exceptions and give them priorities, are in
:mod:`mcusim.cpu.system.systick` and :mod:`mcusim.cpu.system.nvic`; those of faults in
:mod:`mcusim.cpu.system.fault_status`.

The registers are words of one array that the emulated core maps at 0xE000_0000, so what is not listed here reads back
what was written. A read hook runs before the load and fills in what changes by itself. Register addresses and bits:
Arm DDI0403 (ARMv7-M), appendix of system control space.

Unprivileged accesses are bus faults, but for STIR with CCR.USERSETMPEND set and the ITM's ports (ITM_TPR is not
modelled). A Cortex-M7's DWT takes no store before 0xC5ACCE55 is stored to DWT_LAR (DDI0489), as without a debugger.
Not modelled: debug, FPB, ETM, of the DWT all but CYCCNT and the lock, what a locked store to CYCCNT reads as,
AIRCR.VECTRESET; registers that only name what the core has take what is stored.

Reset values: Arm DDI0439 and DDI0489 (MVFR), DDI0403 (the rest); those of one core are in
:mod:`mcusim.machine.cores`. ITM port 0 is on from the start, as a debugger would set it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mcusim.cpu import state_layout as C
from mcusim.cpu.hook_state import HookState
from mcusim.cpu.notes import note
from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system import fault_status, nvic, systick
from mcusim.cpu.system.exception_layout import HARD_FAULT, NMI, ExceptionState
from mcusim.cpu.system.mpu import Mpu
from mcusim.cpu.system.ppb_words import put, word
from mcusim.machine.cores import core_named
from mcusim.machine.description import Cache, Machine
from mcusim.memory.cache import apart
from mcusim.memory.dma import arbitration
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import TICK, CacheState, MemoryState
from mcusim.native.functions import native, shared
from mcusim.native.structs import Words

BASE, SIZE = 0xE000_0000, 0x100000
ITM_END, ITM_TER, ITM_TCR = 0x80, 0xE00, 0xE80
DWT_CTRL, DWT_CYCCNT, DWT_LAR, DWT_LSR = 0x1000, 0x1004, 0x1FB0, 0x1FB4
UNLOCK = 0xC5AC_CE55
ICTR, CPUID, VTOR, AIRCR, SCR, CCR, CLIDR, CTR, CCSIDR, CSSELR, CPACR = (
    0xE004, 0xED00, 0xED08, 0xED0C, 0xED10, 0xED14, 0xED78, 0xED7C, 0xED80, 0xED84, 0xED88,
)  # fmt: skip
MPU_TYPE, MPU_CTRL, MPU_RNR, MPU_RBAR, MPU_END = 0xED90, 0xED94, 0xED98, 0xED9C, 0xEDBC
DEMCR, STIR, FPCCR = 0xEDFC, 0xEF00, 0xEF34
MVFR0, MVFR1, MVFR2 = 0xEF40, 0xEF44, 0xEF48
ICIALLU, ICIMVAU, DCIMVAC, DCISW, DCCMVAU, DCCMVAC, DCCSW, DCCIMVAC, DCCISW = (
    0xEF50, 0xEF58, 0xEF5C, 0xEF60, 0xEF64, 0xEF68, 0xEF6C, 0xEF70, 0xEF74,
)  # fmt: skip


@native
def counting(core: CoreState, ppb: Words) -> int:
    """Whether CYCCNT runs: DEMCR.TRCENA and DWT_CTRL.CYCCNTENA."""
    control = core.dwt_kept - 1 if core.dwt_kept else word(ppb, DWT_CTRL)
    return (word(ppb, DEMCR) >> 24) & control & 1


@native
def locked(core: CoreState, ppb: Words, register: int) -> None:
    """A store to a register of the DWT that it does not take."""
    note(core, C.LOCKED, core.system_pc, BASE + register)
    if register == DWT_CTRL and core.dwt_kept == 0:
        core.dwt_kept = word(ppb, DWT_CTRL) + 1


@native
def is_open(ppb: Words, address: int, write: int) -> int:
    """Whether unprivileged code may access ``address``: STIR with CCR.USERSETMPEND set, the ITM's ports."""
    if address == BASE + STIR:
        return write & word(ppb, CCR) >> 1 & 1
    return 1 if address < BASE + ITM_END or address >= BASE + SIZE else 0


@native
def region(core: CoreState, offset: int) -> int:
    """MPU_RBAR or MPU_RASR, or one of their aliases: of the region that RNR selects."""
    number = core.mpu_selected
    return core.mpu_rasr[number] if (offset - MPU_RBAR) & 4 else core.mpu_rbar[number] | number


@shared
def read(hook: HookState, offset: int) -> None:
    """Before a load from the private peripheral bus: update the register."""
    core, memory, exceptions, ppb = hook.core, hook.memory, hook.exceptions, hook.ppb
    register = offset & ~3
    if register == DWT_CYCCNT:
        if counting(core, ppb):
            put(ppb, register, memory.now // TICK - core.cycle_base)
    elif register == DWT_CTRL and core.dwt_kept:
        put(ppb, register, core.dwt_kept - 1)
        core.dwt_kept = 0
    elif register == DWT_LAR:
        put(ppb, register, 0)
    elif systick.CSR <= register <= systick.CVR:
        systick.read(core, memory, ppb, register)
    elif nvic.is_register(register):
        put(ppb, register, nvic.value(exceptions, register))
    elif fault_status.is_register(register):
        put(ppb, register, fault_status.value(exceptions, register))
    elif register == FPCCR:
        put(ppb, register, word(ppb, register) & ~1 | exceptions.lazy_frame)
    elif offset < ITM_END:
        put(ppb, register, word(ppb, ITM_TCR) & 1)  # room in the FIFO
    elif register == MPU_TYPE:
        put(ppb, register, core.mpu_regions << 8)
    elif MPU_RBAR <= register < MPU_END:
        put(ppb, register, region(core, register))
    elif register == CCR:
        put(ppb, register, word(ppb, register) | core.ccr_ones)
    elif register == VTOR:
        put(ppb, register, word(ppb, register) & ~0x7F)
    elif register == CCSIDR:
        put(ppb, register, core.code_ccsidr if word(ppb, CSSELR) & 1 else core.data_ccsidr)


@native
def beats_before(memory: MemoryState) -> None:
    """Beats of transfers that are due before now meet the lines as they were."""
    if min(memory.next_beat, memory.next_release) < memory.now:
        arbitration.advance(memory, memory.now)


@native
def lines_in(memory: MemoryState, offset: int) -> int:
    """Lines of the cache at ``offset``; 0: there is none."""
    cache = CacheState(memory, offset)
    return cache.sets * cache.ways if offset else 0


@native
def caches(core: CoreState, memory: MemoryState, value: int) -> None:
    """CCR.IC and CCR.DC switch the caches; CCR.UNALIGN_TRP and CCR.DIV_0_TRP make faults of what they name."""
    core.trap_unaligned = (value >> 3) & 1
    core.ccr_pc = core.system_pc
    if value >> 4 & 1 != core.trap_divide:
        core.trap_divide = value >> 4 & 1
        core.stop = C.FLUSH
    data, code = value >> 16 & 1, value >> 17 & 1
    if data and memory.data_cache == 0 and core.invalidated_lines < lines_in(memory, core.data_cache):
        note(core, C.DATA_ON, core.system_pc, BASE + CCR)
    if code and memory.code_cache == 0 and core.code_cache and core.invalidated_code == 0:
        note(core, C.CODE_ON, core.system_pc, BASE + CCR)
    if core.data_cache and data != (memory.data_cache != 0):
        beats_before(memory)
        if data:
            apart.bring_back(memory)
        else:
            apart.set_aside(memory)
    memory.data_cache = core.data_cache if data else 0
    memory.code_cache = core.code_cache if code else 0
    memory.free_code_low = memory.free_code_high = 0  # no code is known to be at hand any more
    memory.last_block = -1


@native
def maintain(core: CoreState, memory: MemoryState, register: int, value: int) -> None:
    """Cache maintenance, by address and by set and way, on the modelled caches; charged to the core."""
    ticks = 0
    beats_before(memory)
    if register == ICIALLU:
        core.invalidated_code = 1
        ticks = core_data.invalidate_instructions(memory)
    elif register == ICIMVAU:
        ticks = core_data.invalidate_instruction_line(memory, value)
    elif register == DCIMVAC:
        ticks = core_data.maintain_line(memory, value, 0, 1)
    elif register in (DCCMVAU, DCCMVAC):
        ticks = core_data.maintain_line(memory, value, 1, 0)
    elif register == DCCIMVAC:
        ticks = core_data.maintain_line(memory, value, 1, 1)
    elif register == DCISW:
        core.invalidated_lines += 1
        ticks = core_data.maintain_set_way(memory, value, 0, 1)
    elif register == DCCSW:
        ticks = core_data.maintain_set_way(memory, value, 1, 0)
    elif register == DCCISW:
        ticks = core_data.maintain_set_way(memory, value, 1, 1)
    if register in (DCCSW, DCCISW) and core.invalidated_lines < lines_in(memory, core.data_cache):
        note(core, C.NOT_YET_CLEAN, core.system_pc, BASE + register)
    ticks += core.maintenance_cost
    core.maintenance_ticks += ticks
    memory.now += ticks


@native
def mpu(core: CoreState, ppb: Words, register: int, value: int) -> None:
    """MPU_RNR, RBAR, RASR and their aliases; the ranges are rebuilt before the next block.

    A region that the part does not have stays off.
    """
    regions = core.mpu_regions
    if register == MPU_RNR:
        core.mpu_selected = value & 15
    elif register >= MPU_RBAR:
        if (register - MPU_RBAR) & 4 == 0:
            if value & 16:
                core.mpu_selected = value & 15
                put(ppb, MPU_RNR, value & 15)
            if core.mpu_selected < regions:
                core.mpu_rbar[core.mpu_selected] = value & ~31
        elif core.mpu_selected < regions:
            core.mpu_rasr[core.mpu_selected] = value
        elif value & 1:
            note(core, C.NO_REGION, core.system_pc, BASE + register)
        core.mpu_pc[core.mpu_selected] = core.system_pc
    elif register == MPU_CTRL:
        core.mpu_ctrl_pc = core.system_pc
    core.mpu_changed = 1
    core.stop = C.FLUSH


@native
def hold(core: CoreState, memory: MemoryState, ppb: Words, register: int, value: int) -> None:
    """Start or stop CYCCNT: it keeps its count while it is stopped."""
    now = memory.now // TICK
    was = counting(core, ppb)
    count = now - core.cycle_base if was else word(ppb, DWT_CYCCNT)
    put(ppb, register, value)
    if register == DWT_CTRL:
        core.dwt_kept = 0
    if was and not counting(core, ppb):
        put(ppb, DWT_CYCCNT, count)
    elif not was and counting(core, ppb):
        core.cycle_base = now - count


@native
def dwt(core: CoreState, memory: MemoryState, ppb: Words, register: int, value: int) -> None:
    """A store to the DWT."""
    if register == DWT_LAR:
        if word(ppb, DWT_LSR) & 1:
            core.dwt_locked = 1 if value & 0xFFFFFFFF != UNLOCK else 0
            put(ppb, DWT_LSR, 1 | core.dwt_locked << 1)
    elif core.dwt_locked:
        locked(core, ppb, register)
    elif register == DWT_CYCCNT:
        core.cycle_base = memory.now // TICK - (value & 0xFFFFFFFF)
    elif register == DWT_CTRL:
        hold(core, memory, ppb, register, value)


@native
def stimulus(hook: HookState, port: int, size: int, value: int) -> None:
    """A store to the ITM's port at the offset ``port``."""
    core, ppb = hook.core, hook.ppb
    enabled = word(ppb, ITM_TCR) & (word(ppb, ITM_TER) >> (port >> 2)) & 1
    if enabled and core.console_used < core.console_size:
        hook.console[core.console_used] = port << 38 | size << 32 | value & 0xFFFFFFFF  # port, size and value
        core.console_used += 1
    if core.console_used > core.console_size - 64:
        core.stop = C.FLUSH


@shared
def write(hook: HookState, offset: int, size: int, value: int) -> None:
    """Before a store to the private peripheral bus: its effects."""
    core, memory, exceptions, ppb = hook.core, hook.memory, hook.exceptions, hook.ppb
    register = offset & ~3
    if offset < ITM_END:
        stimulus(hook, register, size, value)
    elif DWT_CTRL <= register <= DWT_LAR:
        dwt(core, memory, ppb, register, value)
    elif register == DEMCR:
        hold(core, memory, ppb, register, value)
    elif systick.CSR <= register <= systick.CVR:
        systick.write(core, memory, ppb, register, value & 0xFFFFFFFF)
    elif register == CPACR:
        core.fpu = 1 if (value >> 20) & 15 == 15 and exceptions.lazy_frame == 0 else 0
    elif register == FPCCR:
        if exceptions.lazy_frame and value & 1 == 0:  # LSPACT: the frame's room is not used
            exceptions.lazy_frame, core.fpu = 0, 1
    elif register == SCR:
        exceptions.sev_on_pend = value >> 4 & 1
    elif register == CCR:
        caches(core, memory, value)
    elif register == AIRCR and (value & 0xFFFFFFFF) >> 16 == 0x05FA and value & 4:
        core.reset_requested = 1
        core.stop = C.FLUSH
    elif register == VTOR:
        exceptions.vector_table = 1
    elif nvic.is_register(register):
        nvic.write(exceptions, offset, size, value & 0xFFFFFFFF, memory.now)
        core.horizon = 0
    elif fault_status.is_register(register):
        fault_status.write(exceptions, offset, size, value & 0xFFFFFFFF, memory.now)
        core.horizon = 0
    elif MPU_CTRL <= register < MPU_END:
        mpu(core, ppb, register, value & 0xFFFFFFFF)
    elif ICIALLU <= register <= DCCISW:
        maintain(core, memory, register, value & 0xFFFFFFFF)


DBGMCU_IDCODE = 0x4_2000  # ST's; on the H7 it is elsewhere
_RESET = {
    ITM_TER: 1,
    ITM_TCR: 1,
    DWT_CTRL: 0x4000_0000,
    AIRCR: 0xFA05_0000,
    FPCCR: 0xC000_0000,  # automatic, lazy
    MVFR0: 0x1011_0021,
    MVFR1: 0x1100_0011,
}
_DOUBLE = {MVFR0: 0x1011_0221, MVFR1: 0x1200_0011}
_OF_THE_CORE = {"CPUID": CPUID, "CCR": CCR, "CTR": CTR, "CLIDR": CLIDR, "MVFR2": MVFR2}
_CACHES_ON = 3 << 16


@dataclass(frozen=True, slots=True)
class PartTraits:
    """What is the part's, not the core's: interrupt ``lines``, regions of the MPU (None: as many as the core has), and
    DBGMCU_IDCODE, 0 where it is not known."""

    lines: int = 240
    mpu_regions: int | None = None
    device_id: int = 0


def prepare(machine: Machine, part: PartTraits, ppb: Any, state: CoreState, caches: bool) -> None:
    """Write the reset values into ``ppb`` (the mapped bytes); ``caches``: CCR says that they are on."""
    registers = np.frombuffer(ppb, np.uint32)
    core = core_named(machine.core.isa)
    own = {_OF_THE_CORE[name]: value for name, value in core.reset.items()}
    fpu = _DOUBLE if machine.core.fpu == "double" else {}
    state.mpu_regions = regions = part.mpu_regions or core.mpu_regions
    for offset, value in (_RESET | own | fpu | {MPU_TYPE: regions << 8}).items():
        registers[offset // 4] = value
    if core.cache_control and caches:
        registers[CCR // 4] |= _CACHES_ON
        state.invalidated_lines = state.invalidated_code = 1 << 32
    state.ccr_ones = core.ccr_ones
    if core.dwt_lock:
        state.dwt_locked, registers[DWT_LSR // 4] = 1, 3
    registers[DBGMCU_IDCODE // 4] = part.device_id
    registers[ICTR // 4] = (part.lines - 1) // 32
    if machine.core.revision is not None:
        registers[CPUID // 4] = _cpuid(own[CPUID], machine.core.revision)
    state.data_ccsidr = _ccsidr(machine.data_cache)
    state.code_ccsidr = _ccsidr(machine.instruction_cache)


def _cpuid(other: int, revision: str) -> int:
    """CPUID of ``rXpY`` by that of another revision: X is in bits 23 to 20, Y in bits 3 to 0 (DDI0403 B3.2.3)."""
    variant, patch = revision[1:].split("p")
    return other & ~0xF0_000F | int(variant) << 20 | int(patch)


def set_vectors(ppb: Any, address: int) -> None:
    """VTOR as boot code leaves it: where the vector table was found."""
    np.frombuffer(ppb, np.uint32)[VTOR // 4] = address


def _ccsidr(cache: Cache | None) -> int:
    """CCSIDR: sets - 1, ways - 1, log2 of the words of a line - 2."""
    if cache is None or cache.size == 0:
        return 0
    sets = cache.size // cache.ways // cache.line
    return 0xF000_0000 | (sets - 1) << 13 | (cache.ways - 1) << 3 | (cache.line // 4).bit_length() - 3


def mpu_registers(ppb: Any, state: CoreState, exceptions: ExceptionState | None = None) -> Mpu:
    """The MPU as the program has set it; with ``exceptions``, off in handlers of NMI and HardFault without HFNMIENA."""
    control = int(np.frombuffer(ppb, np.uint32)[MPU_CTRL // 4])
    if exceptions is not None and control & 2 == 0 and exceptions.active[0] & (1 << NMI | 1 << HARD_FAULT):
        control = 0
    regions = tuple((state.mpu_rbar[i], state.mpu_rasr[i]) for i in range(16))
    return Mpu(control, regions)

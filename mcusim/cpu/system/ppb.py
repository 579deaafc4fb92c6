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
from mcusim.cpu.notes import note
from mcusim.cpu.system import fault_status, nvic, systick
from mcusim.cpu.system.exception_layout import ACTIVE, FPU_WAITS, HARD_FAULT, NMI, SEV_ON_PEND, VECTORS
from mcusim.cpu.system.mpu import Mpu
from mcusim.cpu.system.ppb_words import put, word
from mcusim.machine.cores import core_named
from mcusim.machine.description import Cache, Machine
from mcusim.memory import state_layout as L
from mcusim.memory.cache import apart
from mcusim.memory.dma import arbitration
from mcusim.memory.ports import core_data
from mcusim.native.compile import State, native, shared

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
def counting(c: State, ppb: State) -> int:
    """Whether CYCCNT runs: DEMCR.TRCENA and DWT_CTRL.CYCCNTENA."""
    control = c[C.DWT_KEPT] - 1 if c[C.DWT_KEPT] else word(ppb, DWT_CTRL)
    return (word(ppb, DEMCR) >> 24) & control & 1


@native
def locked(c: State, ppb: State, at: int) -> None:
    """A store to a register of the DWT that it does not take."""
    note(c, C.LOCKED, c[C.SYSTEM_PC], BASE + at)
    if at == DWT_CTRL and c[C.DWT_KEPT] == 0:
        c[C.DWT_KEPT] = word(ppb, DWT_CTRL) + 1


@native
def is_open(ppb: State, address: int, write: int) -> int:
    """Whether unprivileged code may access ``address``: STIR with CCR.USERSETMPEND set, the ITM's ports."""
    if address == BASE + STIR:
        return write & word(ppb, CCR) >> 1 & 1
    return 1 if address < BASE + ITM_END or address >= BASE + SIZE else 0


@native
def region(c: State, at: int) -> int:
    """MPU_RBAR or MPU_RASR, or one of their aliases: of the region that RNR selects."""
    number = c[C.MPU_REGION]
    return c[C.MPU_RASR + number] if (at - MPU_RBAR) & 4 else c[C.MPU_RBAR + number] | number


@shared
def read(c: State, s: State, x: State, ppb: State, offset: int) -> None:
    """Before a load from the private peripheral bus: update the register."""
    at = offset & ~3
    if at == DWT_CYCCNT:
        if counting(c, ppb):
            put(ppb, at, s[L.NOW] // L.TICK - c[C.CYCLE_BASE])
    elif at == DWT_CTRL and c[C.DWT_KEPT]:
        put(ppb, at, c[C.DWT_KEPT] - 1)
        c[C.DWT_KEPT] = 0
    elif at == DWT_LAR:
        put(ppb, at, 0)
    elif systick.CSR <= at <= systick.CVR:
        systick.read(c, s, ppb, at)
    elif nvic.is_register(at):
        put(ppb, at, nvic.value(x, at))
    elif fault_status.is_register(at):
        put(ppb, at, fault_status.value(x, at))
    elif at == FPCCR:
        put(ppb, at, word(ppb, at) & ~1 | x[FPU_WAITS])
    elif offset < ITM_END:
        put(ppb, at, word(ppb, ITM_TCR) & 1)  # room in the FIFO
    elif at == MPU_TYPE:
        put(ppb, at, c[C.MPU_HAS] << 8)
    elif MPU_RBAR <= at < MPU_END:
        put(ppb, at, region(c, at))
    elif at == CCR:
        put(ppb, at, word(ppb, at) | c[C.CCR_ONES])
    elif at == VTOR:
        put(ppb, at, word(ppb, at) & ~0x7F)
    elif at == CCSIDR:
        put(ppb, at, c[C.CCSIDR_I] if word(ppb, CSSELR) & 1 else c[C.CCSIDR_D])


@native
def beats_before(s: State) -> None:
    """Beats of transfers that are due before now find the lines as they were."""
    if min(s[L.NEXT_BEAT], s[L.NEXT_RELEASE]) < s[L.NOW]:
        arbitration.advance(s, s[L.NOW])


@native
def lines_in(s: State, cache: int) -> int:
    """Lines of a cache; 0: there is none."""
    return s[cache + L.C_SETS] * s[cache + L.C_WAYS] if cache else 0


@native
def caches(c: State, s: State, value: int) -> None:
    """CCR.IC and CCR.DC switch the caches; CCR.UNALIGN_TRP and CCR.DIV_0_TRP make faults of what they name."""
    c[C.TRAP_UNALIGNED] = (value >> 3) & 1
    c[C.CACHES_PC] = c[C.SYSTEM_PC]
    if value >> 4 & 1 != c[C.TRAP_DIVIDE]:
        c[C.TRAP_DIVIDE] = value >> 4 & 1
        c[C.STOP] = C.FLUSH
    data, code = value >> 16 & 1, value >> 17 & 1
    if data and s[L.DCACHE] == 0 and c[C.INVALIDATED_LINES] < lines_in(s, c[C.D_CACHE]):
        note(c, C.DATA_ON, c[C.SYSTEM_PC], BASE + CCR)
    if code and s[L.ICACHE] == 0 and c[C.I_CACHE] and c[C.INVALIDATED_CODE] == 0:
        note(c, C.CODE_ON, c[C.SYSTEM_PC], BASE + CCR)
    if c[C.D_CACHE] and data != (s[L.DCACHE] != 0):
        beats_before(s)
        if data:
            apart.bring_back(s)
        else:
            apart.set_aside(s)
    s[L.DCACHE] = c[C.D_CACHE] if data else 0
    s[L.ICACHE] = c[C.I_CACHE] if code else 0
    s[L.CODE_LOW] = s[L.CODE_HIGH] = 0  # no code is known to be at hand any more
    s[L.AGAIN] = -1


@native
def maintain(c: State, s: State, at: int, value: int) -> None:
    """Cache maintenance, by address and by set and way, on the modelled caches; charged to the core."""
    ticks = 0
    beats_before(s)
    if at == ICIALLU:
        c[C.INVALIDATED_CODE] = 1
        ticks = core_data.invalidate_instructions(s)
    elif at == ICIMVAU:
        ticks = core_data.invalidate_instruction_line(s, value)
    elif at == DCIMVAC:
        ticks = core_data.maintain_line(s, value, 0, 1)
    elif at in (DCCMVAU, DCCMVAC):
        ticks = core_data.maintain_line(s, value, 1, 0)
    elif at == DCCIMVAC:
        ticks = core_data.maintain_line(s, value, 1, 1)
    elif at == DCISW:
        c[C.INVALIDATED_LINES] += 1
        ticks = core_data.maintain_set_way(s, value, 0, 1)
    elif at == DCCSW:
        ticks = core_data.maintain_set_way(s, value, 1, 0)
    elif at == DCCISW:
        ticks = core_data.maintain_set_way(s, value, 1, 1)
    if at in (DCCSW, DCCISW) and c[C.INVALIDATED_LINES] < lines_in(s, c[C.D_CACHE]):
        note(c, C.NOT_YET_CLEAN, c[C.SYSTEM_PC], BASE + at)
    ticks += c[C.MAINTENANCE]
    c[C.SYSTEM_TICKS] += ticks
    s[L.NOW] += ticks


@native
def mpu(c: State, ppb: State, at: int, value: int) -> None:
    """MPU_RNR, RBAR, RASR and their aliases; the ranges are rebuilt before the next block.

    A region that the part does not have stays off.
    """
    regions = c[C.MPU_HAS]
    if at == MPU_RNR:
        c[C.MPU_REGION] = value & 15
    elif at >= MPU_RBAR:
        if (at - MPU_RBAR) & 4 == 0:
            if value & 16:
                c[C.MPU_REGION] = value & 15
                put(ppb, MPU_RNR, value & 15)
            if c[C.MPU_REGION] < regions:
                c[C.MPU_RBAR + c[C.MPU_REGION]] = value & ~31
        elif c[C.MPU_REGION] < regions:
            c[C.MPU_RASR + c[C.MPU_REGION]] = value
        elif value & 1:
            note(c, C.NO_REGION, c[C.SYSTEM_PC], BASE + at)
        c[C.MPU_PC + c[C.MPU_REGION]] = c[C.SYSTEM_PC]
    elif at == MPU_CTRL:
        c[C.MPU_CTRL_PC] = c[C.SYSTEM_PC]
    c[C.MPU_CHANGED] = 1
    c[C.STOP] = C.FLUSH


@native
def hold(c: State, s: State, ppb: State, at: int, value: int) -> None:
    """Start or stop CYCCNT: it keeps its count while it is stopped."""
    now = s[L.NOW] // L.TICK
    was = counting(c, ppb)
    count = now - c[C.CYCLE_BASE] if was else word(ppb, DWT_CYCCNT)
    put(ppb, at, value)
    if at == DWT_CTRL:
        c[C.DWT_KEPT] = 0
    if was and not counting(c, ppb):
        put(ppb, DWT_CYCCNT, count)
    elif not was and counting(c, ppb):
        c[C.CYCLE_BASE] = now - count


@native
def dwt(c: State, s: State, ppb: State, at: int, value: int) -> None:
    """A store to the DWT."""
    if at == DWT_LAR:
        if word(ppb, DWT_LSR) & 1:
            c[C.DWT_LOCKED] = 1 if value & 0xFFFFFFFF != UNLOCK else 0
            put(ppb, DWT_LSR, 1 | c[C.DWT_LOCKED] << 1)
    elif c[C.DWT_LOCKED]:
        locked(c, ppb, at)
    elif at == DWT_CYCCNT:
        c[C.CYCLE_BASE] = s[L.NOW] // L.TICK - (value & 0xFFFFFFFF)
    elif at == DWT_CTRL:
        hold(c, s, ppb, at, value)


@shared
def write(c: State, s: State, x: State, ppb: State, console: State, offset: int, size: int, value: int) -> None:
    """Before a store to the private peripheral bus: its effects."""
    at = offset & ~3
    if offset < ITM_END:
        enabled = word(ppb, ITM_TCR) & (word(ppb, ITM_TER) >> (at >> 2)) & 1
        if enabled and c[C.CONSOLE_USED] < c[C.CONSOLE_SIZE]:
            console[c[C.CONSOLE_USED]] = at << 38 | size << 32 | value & 0xFFFFFFFF  # port, size and value
            c[C.CONSOLE_USED] += 1
        if c[C.CONSOLE_USED] > c[C.CONSOLE_SIZE] - 64:
            c[C.STOP] = C.FLUSH
    elif DWT_CTRL <= at <= DWT_LAR:
        dwt(c, s, ppb, at, value)
    elif at == DEMCR:
        hold(c, s, ppb, at, value)
    elif systick.CSR <= at <= systick.CVR:
        systick.write(c, s, ppb, at, value & 0xFFFFFFFF)
    elif at == CPACR:
        c[C.FPU] = 1 if (value >> 20) & 15 == 15 and x[FPU_WAITS] == 0 else 0
    elif at == FPCCR:
        if x[FPU_WAITS] and value & 1 == 0:  # LSPACT: the frame's room is not used
            x[FPU_WAITS], c[C.FPU] = 0, 1
    elif at == SCR:
        x[SEV_ON_PEND] = value >> 4 & 1
    elif at == CCR:
        caches(c, s, value)
    elif at == AIRCR and (value & 0xFFFFFFFF) >> 16 == 0x05FA and value & 4:
        c[C.RESET_ASKED] = 1
        c[C.STOP] = C.FLUSH
    elif at == VTOR:
        x[VECTORS] = 1
    elif nvic.is_register(at):
        nvic.write(c, s, x, offset, size, value & 0xFFFFFFFF)
    elif fault_status.is_register(at):
        fault_status.write(x, offset, size, value & 0xFFFFFFFF, s[L.NOW])
        c[C.HORIZON] = 0
    elif MPU_CTRL <= at < MPU_END:
        mpu(c, ppb, at, value & 0xFFFFFFFF)
    elif ICIALLU <= at <= DCCISW:
        maintain(c, s, at, value & 0xFFFFFFFF)


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


def prepare(machine: Machine, part: PartTraits, ppb: Any, state: Any, caches: bool) -> None:
    """Write the reset values into ``ppb`` (the mapped bytes); ``caches``: CCR says that they are on."""
    registers = np.frombuffer(ppb, np.uint32)
    core = core_named(machine.core.isa)
    own = {_OF_THE_CORE[name]: value for name, value in core.reset.items()}
    fpu = _DOUBLE if machine.core.fpu == "double" else {}
    state[C.MPU_HAS] = regions = part.mpu_regions or core.mpu_regions
    for offset, value in (_RESET | own | fpu | {MPU_TYPE: regions << 8}).items():
        registers[offset // 4] = value
    if core.cache_control and caches:
        registers[CCR // 4] |= _CACHES_ON
        state[C.INVALIDATED_LINES] = state[C.INVALIDATED_CODE] = 1 << 32
    state[C.CCR_ONES] = core.ccr_ones
    if core.dwt_lock:
        state[C.DWT_LOCKED], registers[DWT_LSR // 4] = 1, 3
    registers[DBGMCU_IDCODE // 4] = part.device_id
    registers[ICTR // 4] = (part.lines - 1) // 32
    if machine.core.revision is not None:
        registers[CPUID // 4] = _cpuid(own[CPUID], machine.core.revision)
    state[C.CCSIDR_D] = _ccsidr(machine.data_cache)
    state[C.CCSIDR_I] = _ccsidr(machine.instruction_cache)


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


def mpu_registers(ppb: Any, state: Any, exceptions: Any = None) -> Mpu:
    """The MPU as the program has set it; with ``exceptions``, off in handlers of NMI and HardFault without HFNMIENA."""
    control = int(np.frombuffer(ppb, np.uint32)[MPU_CTRL // 4])
    if exceptions is not None and control & 2 == 0 and exceptions[ACTIVE] & (1 << NMI | 1 << HARD_FAULT):
        control = 0
    regions = tuple((int(state[C.MPU_RBAR + i]), int(state[C.MPU_RASR + i])) for i in range(16))
    return Mpu(control, regions)

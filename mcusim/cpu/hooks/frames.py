"""The frame of an exception: pushed at its entry, popped at its return; the masks and modes of the core around it.

Every access is one of the memory system and waits there as loads and stores do. Where one faults, the rest of the frame
is not accessed, and :mod:`mcusim.emulator.stops.taken_faults` says what comes of it. Not modelled: fields of FPCCR
other than ASPEN, LSPEN and LSPACT; FPDSCR (a new context's FPSCR is 0); with ASPEN clear a program reads CONTROL.FPCA
as set once it has used the FPU. Registers that wait in a lazy frame are saved at the begin of the block that uses the
FPU.
"""

from __future__ import annotations

from typing import Any

from numba import types
from unicorn.arm_const import (
    UC_ARM_REG_APSR_G,
    UC_ARM_REG_BASEPRI,
    UC_ARM_REG_CONTROL,
    UC_ARM_REG_FAULTMASK,
    UC_ARM_REG_FPSCR,
    UC_ARM_REG_LR,
    UC_ARM_REG_PC,
    UC_ARM_REG_PRIMASK,
    UC_ARM_REG_R0,
    UC_ARM_REG_R12,
    UC_ARM_REG_S0,
    UC_ARM_REG_SP,
    UC_ARM_REG_XPSR,
)

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import accesses, history, race_detector
from mcusim.cpu.hooks.unicorn_calls import get, put
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic
from mcusim.cpu.system.ppb_words import put as put_word
from mcusim.cpu.system.ppb_words import word
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import AddressRange
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native, native_as
from mcusim.native.words import INT64_WORDS

ENTRY, RETURN = 12 * L.TICK, 10 * L.TICK
NPRIV, SPSEL, FPCA = 1, 2, 4
THUMB, PADDED, NUMBER = 1 << 24, 1 << 9, 0x1FF
BASIC, EXTENDED = 8, 26  # words
FLOATS = 16
CCR, FPCCR, FPCAR = 0xED14, 0xEF34, 0xEF38
STKALIGN = 1 << 9  # CCR
LAZY = 1 << 30  # FPCCR.LSPEN

_STATES = (INT64_WORDS,) * 4


@native
def store(c: State, s: State, address: int, value: int, pc: int, code: int) -> None:
    """Push a word: an access of the core at ``s[NOW]``; fault ``code`` where there is no memory."""
    q = core_data.find(s, address)
    if q < 0 or s[q + L.FLAGS] & L.WRITE == 0:
        accesses.fault(c, code, address, 4, 1, pc)
        return
    c[C.LAST_REGION] = s[q + L.BLOCK]
    c[C.STACKING_TICKS] += core_data.store(s, AddressRange(s, q), address, 4)
    host.put32(s[q + L.VIEW] + address, value)
    data.put(s, AddressRange(s, q), address, 4, value)
    if s[L.APART]:
        accesses.beside_cache(c, s, q, address, 4, 1, pc)
    if s[L.WATCH]:
        race_detector.pushed(c, s, q, address)


@native
def load(c: State, s: State, address: int, code: int, pc: int) -> int:
    """Pop a word, or read a vector; fault ``code`` where there is no memory."""
    q = core_data.find(s, address)
    if q < 0 or s[q + L.FLAGS] & L.READ == 0:
        accesses.fault(c, code, address, 4, 0, pc)
        return 0
    c[C.STACKING_TICKS] += core_data.load(s, AddressRange(s, q), address, 4)
    if s[L.APART]:
        accesses.beside_cache(c, s, q, address, 4, 0, pc)
    return host.get32(s[q + L.VIEW] + address)


@native
def frame_register(i: int) -> int:
    """Unicorn's number of the register in word ``i`` of a frame, below 6."""
    if i < 4:
        return UC_ARM_REG_R0 + i
    return UC_ARM_REG_R12 if i == 4 else UC_ARM_REG_LR


@native_as(types.int64(types.voidptr, types.voidptr, INT64_WORDS, types.int64))
def masks(uc: Any, scratch: Any, x: Any, level: Any) -> Any:
    """``level`` as PRIMASK, BASEPRI and FAULTMASK raise it; unprivileged code is read as a handler."""
    state = get(uc, scratch, UC_ARM_REG_XPSR)
    hidden = state & NUMBER == 0 and get(uc, scratch, UC_ARM_REG_CONTROL) & NPRIV
    if hidden:
        put(uc, scratch, UC_ARM_REG_XPSR, state | X.HARD_FAULT)
    base = get(uc, scratch, UC_ARM_REG_BASEPRI) & nvic.PRIORITY_BITS
    if base:
        level = min(level, nvic.group(x, base))
    if get(uc, scratch, UC_ARM_REG_PRIMASK) & 1:
        level = min(level, 0)
    if get(uc, scratch, UC_ARM_REG_FAULTMASK) & 1:
        level = min(level, -1)
    if hidden:
        put(uc, scratch, UC_ARM_REG_XPSR, state)
    return level


@native_as(types.void(types.voidptr, types.voidptr, types.int64, types.int64))
def mode(uc: Any, scratch: Any, control: Any, state: Any) -> None:
    """Set CONTROL and XPSR by way of privileged thread mode, the only one that may set all bits of CONTROL."""
    put(uc, scratch, UC_ARM_REG_XPSR, THUMB | X.HARD_FAULT)
    put(uc, scratch, UC_ARM_REG_CONTROL, 0)
    put(uc, scratch, UC_ARM_REG_XPSR, THUMB)
    put(uc, scratch, UC_ARM_REG_CONTROL, control & ~SPSEL if state & NUMBER else control)
    put(uc, scratch, UC_ARM_REG_XPSR, state)


@native
def charge(c: State, s: State, start: int, stalls: int) -> None:
    """Count an entry or return that began at ``start``, when ``STACKING_TICKS`` were ``stalls``."""
    c[C.EXCEPTION_TICKS] += s[L.NOW] - start - (c[C.STACKING_TICKS] - stalls)


@native_as(types.void(types.voidptr, types.voidptr, *_STATES[:2], types.int64, types.int64, types.int64))
def push_floats(uc: Any, scratch: Any, c: Any, s: Any, at: Any, pc: Any, code: Any) -> None:
    """Store S0 to S15 and FPSCR from address ``at`` on, a cycle each; fault ``code`` where there is no memory."""
    for i in range(FLOATS):
        s[L.NOW] += L.TICK
        store(c, s, at + 4 * i, get(uc, scratch, UC_ARM_REG_S0 + i), pc, code)
    s[L.NOW] += L.TICK
    store(c, s, at + 4 * FLOATS, get(uc, scratch, UC_ARM_REG_FPSCR), pc, code)


@native_as(types.void(types.voidptr, types.voidptr, *_STATES[:2], types.int64, types.int64))
def pop_floats(uc: Any, scratch: Any, c: Any, s: Any, at: Any, pc: Any) -> None:
    """Load S0 to S15 and FPSCR from address ``at`` on, a cycle each."""
    for i in range(FLOATS):
        s[L.NOW] += L.TICK
        put(uc, scratch, UC_ARM_REG_S0 + i, load(c, s, at + 4 * i, C.UNSTACKING, pc))
    s[L.NOW] += L.TICK
    put(uc, scratch, UC_ARM_REG_FPSCR, load(c, s, at + 4 * FLOATS, C.UNSTACKING, pc))


@native_as(types.int64(types.voidptr, types.voidptr, *_STATES, types.int64))
def save_floats(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, address: Any) -> Any:
    """The block at ``address`` uses floating-point registers that a frame has room for: 1 when they were saved."""
    if x[X.FPU_WAITS] == 0:
        return 0
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    push_floats(uc, scratch, c, s, word(ppb, FPCAR), address, C.LAZY_STACKING)
    charge(c, s, start, stalls)
    x[X.FPU_WAITS], c[C.FPU] = 0, 1
    return 1


@native_as(types.void(types.voidptr, types.voidptr, *_STATES, types.int64, types.int64))
def push(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, back: Any, place: Any) -> None:
    """Push the frame of code that goes on at ``back``; ``place`` is the exception that comes first so far."""
    state, sp = get(uc, scratch, UC_ARM_REG_XPSR), get(uc, scratch, UC_ARM_REG_SP)
    control = get(uc, scratch, UC_ARM_REG_CONTROL)
    extended = control & FPCA and word(ppb, FPCCR) >> 31  # FPCCR.ASPEN: the core sets CONTROL.FPCA itself
    words = EXTENDED if extended else BASIC
    aligned = 7 if extended or (word(ppb, CCR) | c[C.CCR_ONES]) & STKALIGN else 3
    frame = (sp - 4 * words) & (0xFFFFFFFF ^ aligned)
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    x[X.SPENT + x[X.CURRENT]] += start - x[X.SINCE]
    accesses.stack(c, C.BY_STACK, frame, 4, back)
    for i in range(6):
        store(c, s, frame + 4 * i, get(uc, scratch, frame_register(i)), back, C.STACKING)
        s[L.NOW] += L.TICK
    store(c, s, frame + 24, back, back, C.STACKING)
    s[L.NOW] += L.TICK
    store(c, s, frame + 28, state & ~PADDED | (PADDED if sp & aligned & 4 else 0), back, C.STACKING)
    if words == EXTENDED:
        if word(ppb, FPCCR) & LAZY:
            put_word(ppb, FPCAR, frame + 4 * BASIC)
            x[X.FPU_WAITS], c[C.FPU] = 1, 0  # the next block with a floating-point instruction asks
        else:
            push_floats(uc, scratch, c, s, frame + 4 * BASIC, back, C.STACKING)
    put(uc, scratch, UC_ARM_REG_SP, frame)
    s[L.NOW] += ENTRY - 7 * L.TICK
    charge(c, s, start, stalls)
    thread = state & NUMBER == 0
    on_process = thread and control & SPSEL
    x[X.RETURN_TO] = 0xFFFFFFE1 | (0 if extended else 16) | (8 if thread else 0) | (4 if on_process else 0)
    x[X.ENTERING], x[X.ENTERED_AT] = place, s[L.NOW]
    history.pushed(c, s, x, start, frame)
    if on_process:
        c[C.STACK_KNOWN] = 0


@native
def clear_monitor(x: State) -> None:
    """No address is marked for a store exclusive any more: entry and return do that (Arm DDI0403 B1.5.6, B1.5.8)."""
    if x[X.MONITOR]:
        host.put64(x[X.MONITOR], -1)


@native_as(types.void(types.voidptr, types.voidptr, *_STATES[:3], types.int64, types.int64, types.int64))
def go_on(uc: Any, scratch: Any, c: Any, s: Any, x: Any, control: Any, state: Any, back: Any) -> None:
    """Run on at ``back``, with CONTROL and XPSR as they were."""
    clear_monitor(x)
    put(uc, scratch, UC_ARM_REG_CONTROL, control)
    put(uc, scratch, UC_ARM_REG_XPSR, state)
    put(uc, scratch, UC_ARM_REG_APSR_G, state)  # which Unicorn leaves as they are
    put(uc, scratch, UC_ARM_REG_PC, back | 1 if state & THUMB else back & 0xFFFFFFFE)
    if control & SPSEL:
        c[C.STACK_KNOWN] = 0
    c[C.TAKEN], c[C.SLOT_FREE], c[C.ENTERED] = 1, 0, -1
    x[X.CURRENT], x[X.SINCE], x[X.EVENT] = X.place_of(state & NUMBER), s[L.NOW], 1
    if not state & THUMB:
        accesses.fault(c, C.ARM_STATE, back, 0, 0, back)


@native_as(types.int64(types.voidptr, types.voidptr, *_STATES, types.int64))
def pop(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, value: Any) -> Any:
    """Pop the frame that EXC_RETURN ``value`` names, and go on with what it says; 0 where a fault stops that.

    A frame whose number does not fit the mode to return to is none (Arm DDI0403 B1.5.8).
    """
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    control = get(uc, scratch, UC_ARM_REG_CONTROL) & NPRIV
    if value & 8:
        mode(uc, scratch, SPSEL if value & 4 else 0, THUMB)
    sp = get(uc, scratch, UC_ARM_REG_SP)
    for i in range(6):
        put(uc, scratch, frame_register(i), load(c, s, sp + 4 * i, C.UNSTACKING, value))
        s[L.NOW] += L.TICK
    back = load(c, s, sp + 24, C.UNSTACKING, value)
    s[L.NOW] += L.TICK
    state = load(c, s, sp + 28, C.UNSTACKING, value)
    if c[C.FAULT] == C.NO_FAULT and (state & NUMBER == 0) != (value & 8 != 0):
        accesses.fault(c, C.BAD_RETURN, value, 0, 0, value)
    extended = value & 16 == 0
    if extended and c[C.FAULT] == C.NO_FAULT:
        if x[X.FPU_WAITS]:  # the registers are as they were
            x[X.FPU_WAITS], c[C.FPU] = 0, 1
        else:
            pop_floats(uc, scratch, c, s, sp + 4 * BASIC, value)
    s[L.NOW] += RETURN - 7 * L.TICK
    charge(c, s, start, stalls)
    control |= SPSEL if value & 4 else 0
    if c[C.FAULT] != C.NO_FAULT:
        put(uc, scratch, UC_ARM_REG_CONTROL, control)
        return 0
    history.popped(c, s, x, sp, value)
    padded = state & PADDED and (extended or (word(ppb, CCR) | c[C.CCR_ONES]) & STKALIGN)
    put(uc, scratch, UC_ARM_REG_SP, sp + 4 * (EXTENDED if extended else BASIC) | (4 if padded else 0))
    go_on(uc, scratch, c, s, x, control | (FPCA if extended else 0), state & ~PADDED, back)
    return 1

"""The frame of an exception: pushed at its entry, popped at its return; the masks and modes of the core around it.

Every access is one of the memory system and waits there as loads and stores do. Where one faults, the rest of the frame
is not accessed, and :mod:`mcusim.emulator.stops.taken_faults` says what comes of it. Not modelled: fields of FPCCR
other than ASPEN, LSPEN and LSPACT; FPDSCR (a new context's FPSCR is 0); with ASPEN clear a program reads CONTROL.FPCA
as set once it has used the FPU. Registers that wait in a lazy frame are saved at the begin of the block that uses the
FPU.
"""

from __future__ import annotations

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
from mcusim.cpu.hook_state import HookState
from mcusim.cpu.hooks import accesses, history, race_detector
from mcusim.cpu.hooks.unicorn_calls import get, put
from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.cpu.system.ppb_words import put as put_word
from mcusim.cpu.system.ppb_words import word
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data
from mcusim.memory.ports import core_data
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange, MemoryState
from mcusim.native import host_memory as host
from mcusim.native.functions import native

ENTRY, RETURN = 12 * L.TICK, 10 * L.TICK
NPRIV, SPSEL, FPCA = 1, 2, 4
THUMB, PADDED, NUMBER = 1 << 24, 1 << 9, 0x1FF
BASIC, EXTENDED = 8, 26  # words
FLOATS = 16
_R0: int = UC_ARM_REG_R0
_R12: int = UC_ARM_REG_R12
_LR: int = UC_ARM_REG_LR
CCR, FPCCR, FPCAR = 0xED14, 0xEF34, 0xEF38
STKALIGN = 1 << 9  # CCR
LAZY = 1 << 30  # FPCCR.LSPEN


@native
def store(core: CoreState, memory: MemoryState, address: int, value: int, code: int) -> None:
    """Push a word, at ``memory.now``; fault ``code`` of the access, whose ``pc`` is set, where there is no memory."""
    q = find(memory, address)
    addresses = AddressRange(memory, q)
    accesses.begin(core, address, 4, 1, core.access.pc)
    if q < 0 or addresses.flags & L.WRITE == 0:
        accesses.fault(core, code)
        return
    core.last_region = addresses.region
    core.stacking_ticks += core_data.store(memory, addresses, address, 4)
    host.put32(addresses.core_view + address, value)
    data.put(memory, addresses, address, 4, value)
    if memory.apart:
        accesses.check_apart(core, memory, addresses)
    if memory.watch:
        race_detector.pushed(core, memory, addresses, address)


@native
def load(core: CoreState, memory: MemoryState, address: int, code: int) -> int:
    """Pop a word, or read a vector; fault ``code`` of the access, whose ``pc`` is set, where there is no memory."""
    q = find(memory, address)
    addresses = AddressRange(memory, q)
    accesses.begin(core, address, 4, 0, core.access.pc)
    if q < 0 or addresses.flags & L.READ == 0:
        accesses.fault(core, code)
        return 0
    core.stacking_ticks += core_data.load(memory, addresses, address, 4)
    if memory.apart:
        accesses.check_apart(core, memory, addresses)
    return host.get32(addresses.core_view + address)


@native
def frame_register(i: int) -> int:
    """Unicorn's number of the register in word ``i`` of a frame, below 6."""
    if i < 4:
        return _R0 + i
    return _R12 if i == 4 else _LR


@native
def masks(hook: HookState, level: int) -> int:
    """``level`` as PRIMASK, BASEPRI and FAULTMASK raise it; unprivileged code is read as a handler."""
    state = get(hook, UC_ARM_REG_XPSR)
    hidden = state & NUMBER == 0 and get(hook, UC_ARM_REG_CONTROL) & NPRIV
    if hidden:
        put(hook, UC_ARM_REG_XPSR, state | X.HARD_FAULT)
    base = get(hook, UC_ARM_REG_BASEPRI) & nvic.PRIORITY_BITS
    if base:
        level = min(level, nvic.group(hook.exceptions, base))
    if get(hook, UC_ARM_REG_PRIMASK) & 1:
        level = min(level, 0)
    if get(hook, UC_ARM_REG_FAULTMASK) & 1:
        level = min(level, -1)
    if hidden:
        put(hook, UC_ARM_REG_XPSR, state)
    return level


@native
def mode(hook: HookState, control: int, state: int) -> None:
    """Set CONTROL and XPSR by way of privileged thread mode, the only one that may set all bits of CONTROL."""
    put(hook, UC_ARM_REG_XPSR, THUMB | X.HARD_FAULT)
    put(hook, UC_ARM_REG_CONTROL, 0)
    put(hook, UC_ARM_REG_XPSR, THUMB)
    put(hook, UC_ARM_REG_CONTROL, control & ~SPSEL if state & NUMBER else control)
    put(hook, UC_ARM_REG_XPSR, state)


@native
def charge(core: CoreState, memory: MemoryState, start: int, stalls: int) -> None:
    """Count an entry or return that began at ``start``, when ``stacking_ticks`` were ``stalls``."""
    core.exception_ticks += memory.now - start - (core.stacking_ticks - stalls)


@native
def push_floats(hook: HookState, address: int, code: int) -> None:
    """Store S0 to S15 and FPSCR from ``address`` on, a cycle each; fault ``code`` where there is no memory."""
    core, memory = hook.core, hook.memory
    for i in range(FLOATS):
        memory.now += L.TICK
        store(core, memory, address + 4 * i, get(hook, UC_ARM_REG_S0 + i), code)
    memory.now += L.TICK
    store(core, memory, address + 4 * FLOATS, get(hook, UC_ARM_REG_FPSCR), code)


@native
def pop_floats(hook: HookState, address: int) -> None:
    """Load S0 to S15 and FPSCR from ``address`` on, a cycle each."""
    core, memory = hook.core, hook.memory
    for i in range(FLOATS):
        memory.now += L.TICK
        put(hook, UC_ARM_REG_S0 + i, load(core, memory, address + 4 * i, C.UNSTACKING))
    memory.now += L.TICK
    put(hook, UC_ARM_REG_FPSCR, load(core, memory, address + 4 * FLOATS, C.UNSTACKING))


@native
def save_floats(hook: HookState, address: int) -> int:
    """The block at ``address`` uses floating-point registers that a frame has room for: 1 when they were saved."""
    core, memory, exceptions = hook.core, hook.memory, hook.exceptions
    if exceptions.lazy_frame == 0:
        return 0
    start, stalls = memory.now, core.stacking_ticks
    core.access.pc = address
    push_floats(hook, word(hook.ppb, FPCAR), C.LAZY_STACKING)
    charge(core, memory, start, stalls)
    exceptions.lazy_frame, core.fpu = 0, 1
    return 1


@native
def push_words(hook: HookState, frame: int, back: int, state: int) -> None:
    """Store a frame's eight words, a cycle each."""
    core, memory = hook.core, hook.memory
    for i in range(6):
        store(core, memory, frame + 4 * i, get(hook, frame_register(i)), C.STACKING)
        memory.now += L.TICK
    store(core, memory, frame + 24, back, C.STACKING)
    memory.now += L.TICK
    store(core, memory, frame + 28, state, C.STACKING)


@native
def push(hook: HookState, back: int, index: int) -> None:
    """Push the frame of code that goes on at ``back``; ``index``: of the exception that comes first so far."""
    core, memory, exceptions, ppb = hook.core, hook.memory, hook.exceptions, hook.ppb
    state, sp = get(hook, UC_ARM_REG_XPSR), get(hook, UC_ARM_REG_SP)
    control = get(hook, UC_ARM_REG_CONTROL)
    extended = control & FPCA and word(ppb, FPCCR) >> 31  # FPCCR.ASPEN: the core sets CONTROL.FPCA itself
    words = EXTENDED if extended else BASIC
    aligned = 7 if extended or (word(ppb, CCR) | core.ccr_ones) & STKALIGN else 3
    frame = (sp - 4 * words) & (0xFFFFFFFF ^ aligned)
    start, stalls = memory.now, core.stacking_ticks
    exceptions.handler_ticks[exceptions.current] += start - exceptions.since
    accesses.begin(core, frame, 4, 1, back)
    core.access.flags = C.BY_STACK
    accesses.stack(core)
    push_words(hook, frame, back, state & ~PADDED | (PADDED if sp & aligned & 4 else 0))
    if words == EXTENDED:
        if word(ppb, FPCCR) & LAZY:
            put_word(ppb, FPCAR, frame + 4 * BASIC)
            exceptions.lazy_frame, core.fpu = 1, 0  # the next block with a floating-point instruction asks
        else:
            push_floats(hook, frame + 4 * BASIC, C.STACKING)
    put(hook, UC_ARM_REG_SP, frame)
    memory.now += ENTRY - 7 * L.TICK
    charge(core, memory, start, stalls)
    thread = state & NUMBER == 0
    on_process = thread and control & SPSEL
    exceptions.return_to = 0xFFFFFFE1 | (0 if extended else 16) | (8 if thread else 0) | (4 if on_process else 0)
    exceptions.entering, exceptions.frame_pushed = index, memory.now
    history.pushed(core, exceptions, start, frame)
    if on_process:
        core.stack_known = 0


@native
def clear_monitor(exceptions: ExceptionState) -> None:
    """No address is marked for a store exclusive any more: entry and return do that (Arm DDI0403 B1.5.6, B1.5.8)."""
    if exceptions.monitor:
        host.put64(exceptions.monitor, -1)


@native
def go_on(hook: HookState, control: int, state: int, back: int) -> None:
    """Run on at ``back``, with CONTROL and XPSR as they were."""
    core, exceptions = hook.core, hook.exceptions
    clear_monitor(exceptions)
    put(hook, UC_ARM_REG_CONTROL, control)
    put(hook, UC_ARM_REG_XPSR, state)
    put(hook, UC_ARM_REG_APSR_G, state)  # which Unicorn leaves as they are
    put(hook, UC_ARM_REG_PC, back | 1 if state & THUMB else back & 0xFFFFFFFE)
    if control & SPSEL:
        core.stack_known = 0
    core.branch_taken, core.slot_free, core.last_block = 1, 0, -1
    exceptions.current, exceptions.since, exceptions.event = X.index_of(state & NUMBER), hook.memory.now, 1
    if not state & THUMB:
        accesses.fault_of_instruction(core, C.ARM_STATE, back)


@native
def pop(hook: HookState, value: int) -> int:
    """Pop the frame that EXC_RETURN ``value`` names, and go on with what it says; 0 where a fault stops that.

    A frame whose number does not fit the mode to return to is none (Arm DDI0403 B1.5.8).
    """
    core, memory, exceptions = hook.core, hook.memory, hook.exceptions
    start, stalls = memory.now, core.stacking_ticks
    core.access.pc = value
    control = get(hook, UC_ARM_REG_CONTROL) & NPRIV
    if value & 8:
        mode(hook, SPSEL if value & 4 else 0, THUMB)
    sp = get(hook, UC_ARM_REG_SP)
    for i in range(6):
        put(hook, frame_register(i), load(core, memory, sp + 4 * i, C.UNSTACKING))
        memory.now += L.TICK
    back = load(core, memory, sp + 24, C.UNSTACKING)
    memory.now += L.TICK
    state = load(core, memory, sp + 28, C.UNSTACKING)
    if core.fault == C.NO_FAULT and (state & NUMBER == 0) != (value & 8 != 0):
        accesses.fault_of_instruction(core, C.BAD_RETURN, value)
    extended = value & 16 == 0
    if extended and core.fault == C.NO_FAULT:
        if exceptions.lazy_frame:  # the registers are as they were
            exceptions.lazy_frame, core.fpu = 0, 1
        else:
            pop_floats(hook, sp + 4 * BASIC)
    memory.now += RETURN - 7 * L.TICK
    charge(core, memory, start, stalls)
    control |= SPSEL if value & 4 else 0
    if core.fault != C.NO_FAULT:
        put(hook, UC_ARM_REG_CONTROL, control)
        return 0
    history.popped(hook, sp, value)
    padded = state & PADDED and (extended or (word(hook.ppb, CCR) | core.ccr_ones) & STKALIGN)
    put(hook, UC_ARM_REG_SP, sp + 4 * (EXTENDED if extended else BASIC) | (4 if padded else 0))
    go_on(hook, control | (FPCA if extended else 0), state & ~PADDED, back)
    return 1

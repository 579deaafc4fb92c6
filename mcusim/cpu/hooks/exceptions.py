"""Exceptions of the emulated core: entry, return and what is due, at the border of two blocks.

| cycles, zero wait states | Cortex-M4 | Cortex-M7 |
|---|---|---|
| entry | 12: Arm KA 103489845 | 12: "typically", Arm "Cortex-M for Beginners" |
| return | 10: Arm KA 103489845 | 10: assumed, not published |
| tail-chained entry | 6: Arm DDI0337 | 6: assumed, not published |
| frame with floating-point registers | 17 more each way: Arm KA 103489845 | 17 more: assumed |
| the same, lazy (FPCCR.LSPEN, as after a reset) | 17 when the handler first uses them | 17: assumed |

Of the 12 cycles 9 push the eight words, one access each, while 6 read the vector and fetch the handler over another
bus; where both are over the system bus (addresses from 0x2000_0000 on) they add up (Arm KA 103489845). The frame is in
:mod:`mcusim.cpu.hooks.frames`; the handler's fetch is that of its first block. A fault costs what an interrupt does.

An exception that arrives while the frame is pushed and comes first takes the frame over; the other stays pending
(late arrival). It costs nothing while the vector has not been asked for, 6 cycles before the end.

Not modelled: taking an interrupt within a block (it waits for the end of the one that runs, some instructions), one
that arrives while a frame is popped (it is taken behind that), loads and stores of several registers that are given up
and begun again, MOV PC to EXC_RETURN (it returns), sleep on exit without popping the frame
(it is popped, and pushed again).
"""

from __future__ import annotations

from unicorn.arm_const import (
    UC_ARM_REG_CONTROL,
    UC_ARM_REG_FAULTMASK,
    UC_ARM_REG_LR,
    UC_ARM_REG_PC,
    UC_ARM_REG_SP,
    UC_ARM_REG_XPSR,
)

from mcusim.cpu import state_layout as C
from mcusim.cpu.hook_state import HookState
from mcusim.cpu.hooks import accesses, history
from mcusim.cpu.hooks.frames import NPRIV, THUMB, charge, clear_monitor, load, masks, mode, pop, push
from mcusim.cpu.hooks.unicorn_calls import get, put
from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic, systick
from mcusim.cpu.system.exception_layout import ExceptionState
from mcusim.cpu.system.ppb_words import word
from mcusim.memory.state_layout import TICK
from mcusim.native.functions import native, shared
from mcusim.native.structs import Words

TAIL = 6 * TICK
PUSH, VECTOR = 9 * TICK, 6 * TICK  # of the entry's cycles
SYSTEM_BUS = 0x2000_0000
RETURNS_FROM = 0xF000_0000  # an address at or above is EXC_RETURN in handler mode
RETURN_BITS = 0xFFFF_FFE0
VTOR, SCR, CCR, MPU_CTRL = 0xED08, 0xED10, 0xED14, 0xED94
TABLE = 0xFFFF_FF80  # bits of VTOR
SLEEP_ON_EXIT, ANY_BASE = 2, 1  # SCR.SLEEPONEXIT, CCR.NONBASETHRDENA


@native
def begin(hook: HookState, index: int, hidden: int) -> None:
    """Begin the handler of exception ``index``; ``hidden``: ticks for which its vector may wait at no cost."""
    core, memory, exceptions = hook.core, hook.memory, hook.exceptions
    start, stalls = memory.now, core.stacking_ticks
    number = X.number_of(index)
    core.access.pc = start
    vector = load(core, memory, (word(hook.ppb, VTOR) & TABLE) + 4 * number, C.BAD_VECTOR)
    if core.fault != C.NO_FAULT:  # the frame is there; another exception may begin
        exceptions.entering, exceptions.frame_pushed = index, memory.now
        return
    memory.now = start + max(0, memory.now - start - hidden)
    charge(core, memory, start, stalls)
    nvic.take(exceptions, index)
    clear_monitor(exceptions)
    exceptions.current, exceptions.since, exceptions.entering, exceptions.event = index, memory.now, 0, 1
    exceptions.entries[index] += 1
    exceptions.handler[index] = vector & ~1
    history.begun(hook, index, nvic.actives(exceptions))
    control = get(hook, UC_ARM_REG_CONTROL) & NPRIV
    state = get(hook, UC_ARM_REG_XPSR) & 0xF80F0000
    mode(hook, control, state | (THUMB if vector & 1 else 0) | number)
    put(hook, UC_ARM_REG_LR, exceptions.return_to)
    put(hook, UC_ARM_REG_PC, vector)
    core.open_block = core.last_block = -1
    core.branch_taken, core.slot_free = 1, 0
    core.horizon = 0
    mpu_off(core, hook.ppb, index)


@native
def mpu_off(core: CoreState, ppb: Words, index: int) -> None:
    """The handler of ``index`` begins or has ended: NMI and HardFault run without the MPU unless HFNMIENA is set."""
    if index in (X.NMI, X.HARD_FAULT) and word(ppb, MPU_CTRL) & 3 == 1:
        core.mpu_changed = 1
        if core.stop == C.RUNNING:
            core.stop = C.FLUSH


@native
def bus_overlap(vtor: int, frame: int) -> int:
    """Ticks of the vector's read that the push does not hide: all of them where both are over the system bus."""
    return VECTOR if vtor >= SYSTEM_BUS and frame >= SYSTEM_BUS else 0


@native
def enter(hook: HookState, frame: int) -> int:
    """The frame is at ``frame``: begin the handler of what comes first now."""
    core, memory, exceptions = hook.core, hook.memory, hook.exceptions
    index = nvic.highest(exceptions)
    if index == 0 or exceptions.priority[index] > exceptions.priority[exceptions.entering]:
        index = exceptions.entering
    end = exceptions.frame_pushed
    if index != exceptions.entering:
        end = max(end, exceptions.pending_since[index] + VECTOR)
    alone = bus_overlap(word(hook.ppb, VTOR), frame)
    core.exception_ticks += end + alone - memory.now
    memory.now = end + alone
    begin(hook, index, 0 if alone else PUSH - VECTOR)
    return 1 if core.fault == C.NO_FAULT else 0


@native
def expire(hook: HookState) -> int:
    """Count SysTick down; whether an event of the host is due."""
    core, memory = hook.core, hook.memory
    if memory.now >= core.systick_due:
        systick.expire(core, memory, hook.exceptions, hook.ppb)
    return 1 if memory.now >= core.event_due else 0


@shared
def attend(hook: HookState, address: int) -> int:
    """Between two blocks, ``address`` the next one's: 1 when the core goes elsewhere; ``core.stop`` says if it
    stops."""
    core, memory, exceptions = hook.core, hook.memory, hook.exceptions
    while True:
        if expire(hook):
            core.stop = C.EVENTS
            return 0
        if exceptions.entering:
            return enter(hook, get(hook, UC_ARM_REG_SP))
        if memory.now >= core.run_horizon:
            core.stop = C.AT_HORIZON
            return 0
        core.horizon = min(core.run_horizon, core.event_due, core.systick_due)
        index = nvic.highest(exceptions)
        if index == 0 or exceptions.vector_table == 0:
            return 0
        level, running = nvic.group(exceptions, exceptions.priority[index]), nvic.active_level(exceptions)
        if level >= running:
            return 0
        core.horizon = 0  # masks may change without a word
        if level >= masks(hook, running):
            return 0
        push(hook, address, index)
        if core.fault != C.NO_FAULT:
            return 0


@native
def supervise(hook: HookState, address: int) -> int:
    """SVCall pends: it is taken at once, or another before it; 0 when the core stops."""
    core, exceptions = hook.core, hook.exceptions
    running = masks(hook, nvic.active_level(exceptions))
    if nvic.group(exceptions, exceptions.priority[X.SVCALL]) >= running:  # the core would take a HardFault
        nvic.drop(exceptions.pending, X.SVCALL)
        core.stop = C.EXCEPTION
        return 0
    push(hook, address, nvic.highest(exceptions))
    if core.fault != C.NO_FAULT:
        return 0
    return attend(hook, address)


@native
def legal(exceptions: ExceptionState, ppb: Words, value: int) -> int:
    """Whether EXC_RETURN ``value`` fits the exceptions that are active (Arm DDI0403 B1.5.8)."""
    if not nvic.has(exceptions.active, exceptions.current) or value & RETURN_BITS != RETURN_BITS:
        return 0
    kind, last = value & 15, nvic.actives(exceptions) == 1
    if kind == 1:
        return 0 if last else 1
    if kind != 9 and kind != 13:
        return 0
    return 1 if last or word(ppb, CCR) & ANY_BASE else 0


@native
def taken_as(exceptions: ExceptionState, index: int, running: int) -> int:
    """Which exception the fault ``index`` is taken as at priority ``running``; 0: the core locks up."""
    if nvic.has(exceptions.enabled, index) and nvic.group(exceptions, exceptions.priority[index]) < running:
        return index
    return X.HARD_FAULT if running > -1 else 0


@native
def chain(hook: HookState, value: int) -> int:
    """Go from a handler that ends to the one that comes first, the frame staying: EXC_RETURN is ``value``."""
    exceptions = hook.exceptions
    exceptions.return_to = value
    hook.memory.now += TAIL
    hook.core.exception_ticks += TAIL
    begin(hook, nvic.highest(exceptions), 0)
    return 1 if hook.core.fault == C.NO_FAULT else 0


@native
def deactivate(exceptions: ExceptionState, now: int) -> None:
    """The handler that runs has ended."""
    index = exceptions.current
    nvic.leave(exceptions, index, now)
    exceptions.handler_ticks[index] += now - exceptions.since
    exceptions.since = now
    history.ended(exceptions, index, now)


@native
def leave_handler(hook: HookState, value: int) -> int:
    """A branch to EXC_RETURN ``value``: on to the next handler, or back; 0 when the core stops."""
    core, exceptions, ppb = hook.core, hook.exceptions, hook.ppb
    if exceptions.entering == 0 and expire(hook):  # what is due by now is chained
        core.stop = C.EVENTS
        return 0
    fits = legal(exceptions, ppb, value)
    mpu_off(core, ppb, exceptions.current)
    deactivate(exceptions, hook.memory.now)
    if exceptions.current != X.NMI:
        put(hook, UC_ARM_REG_FAULTMASK, 0)
    core.horizon = 0
    if not fits:
        accesses.fault_of_instruction(core, C.BAD_RETURN, value)
        return 0
    following = nvic.highest(exceptions)
    if following:
        level = nvic.group(exceptions, exceptions.priority[following])
        if level < masks(hook, nvic.active_level(exceptions)):
            return chain(hook, value)
    if not pop(hook, value):
        return 0
    if value & 8 and word(ppb, SCR) & SLEEP_ON_EXIT and nvic.actives(exceptions) == 0:
        core.stop = C.ASLEEP
    return 1

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

from typing import Any

from numba import types
from unicorn.arm_const import (
    UC_ARM_REG_CONTROL,
    UC_ARM_REG_FAULTMASK,
    UC_ARM_REG_LR,
    UC_ARM_REG_PC,
    UC_ARM_REG_SP,
    UC_ARM_REG_XPSR,
)

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import accesses, history
from mcusim.cpu.hooks.frames import NPRIV, THUMB, charge, clear_monitor, load, masks, mode, pop, push
from mcusim.cpu.hooks.unicorn_calls import get, put
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic, systick
from mcusim.cpu.system.ppb_words import word
from mcusim.memory import state_layout as L
from mcusim.native.compile import State, native, native_as, shared_as
from mcusim.native.words import INT64_WORDS

TAIL = 6 * L.TICK
PUSH, VECTOR = 9 * L.TICK, 6 * L.TICK  # of the entry's cycles
SYSTEM_BUS = 0x2000_0000
RETURNS_FROM = 0xF000_0000  # an address at or above is EXC_RETURN in handler mode
RETURN_BITS = 0xFFFF_FFE0
VTOR, SCR, CCR, MPU_CTRL = 0xED08, 0xED10, 0xED14, 0xED94
TABLE = 0xFFFF_FF80  # bits of VTOR
SLEEP_ON_EXIT, ANY_BASE = 2, 1  # SCR.SLEEPONEXIT, CCR.NONBASETHRDENA

_STATES = (INT64_WORDS,) * 4
_ACT = types.int64(types.voidptr, types.voidptr, *_STATES, types.int64)


@native_as(types.void(types.voidptr, types.voidptr, *_STATES, types.int64, types.int64))
def begin(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, place: Any, hidden: Any) -> None:
    """Begin the handler of ``place``; ``hidden``: ticks for which its vector may wait at no cost."""
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    number = X.number_of(place)
    vector = load(c, s, (word(ppb, VTOR) & TABLE) + 4 * number, C.BAD_VECTOR, start)
    if c[C.FAULT] != C.NO_FAULT:  # the frame is there; another exception may begin
        x[X.ENTERING], x[X.ENTERED_AT] = place, s[L.NOW]
        return
    s[L.NOW] = start + max(0, s[L.NOW] - start - hidden)
    charge(c, s, start, stalls)
    nvic.take(x, place)
    clear_monitor(x)
    x[X.CURRENT], x[X.SINCE], x[X.ENTERING], x[X.EVENT] = place, s[L.NOW], 0, 1
    x[X.COUNT + place] += 1
    x[X.HANDLER + place] = vector & ~1
    history.begun(c, s, x, place, nvic.actives(x))
    control = get(uc, scratch, UC_ARM_REG_CONTROL) & NPRIV
    state = get(uc, scratch, UC_ARM_REG_XPSR) & 0xF80F0000
    mode(uc, scratch, control, state | (THUMB if vector & 1 else 0) | number)
    put(uc, scratch, UC_ARM_REG_LR, x[X.RETURN_TO])
    put(uc, scratch, UC_ARM_REG_PC, vector)
    c[C.PREVIOUS] = c[C.ENTERED] = -1
    c[C.TAKEN], c[C.SLOT_FREE] = 1, 0
    c[C.HORIZON] = 0
    mpu_off(c, ppb, place)


@native
def mpu_off(c: State, ppb: State, place: int) -> None:
    """The handler of ``place`` begins or has ended: NMI and HardFault run without the MPU unless HFNMIENA is set."""
    if place in (X.NMI, X.HARD_FAULT) and word(ppb, MPU_CTRL) & 3 == 1:
        c[C.MPU_CHANGED] = 1
        if c[C.STOP] == C.RUNNING:
            c[C.STOP] = C.FLUSH


@native
def bus_overlap(vtor: int, frame: int) -> int:
    """Ticks of the vector's read that the push does not hide: all of them where both are over the system bus."""
    return VECTOR if vtor >= SYSTEM_BUS and frame >= SYSTEM_BUS else 0


@native_as(_ACT)
def enter(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, frame: Any) -> Any:
    """The frame is at ``frame``: begin the handler of what comes first now."""
    place = nvic.highest(x)
    if place == 0 or x[X.PRIORITY + place] > x[X.PRIORITY + x[X.ENTERING]]:
        place = x[X.ENTERING]
    end = x[X.ENTERED_AT]
    if place != x[X.ENTERING]:
        end = max(end, x[X.ARRIVED + place] + VECTOR)
    alone = bus_overlap(word(ppb, VTOR), frame)
    c[C.EXCEPTION_TICKS] += end + alone - s[L.NOW]
    s[L.NOW] = end + alone
    begin(uc, scratch, c, s, x, ppb, place, 0 if alone else PUSH - VECTOR)
    return 1 if c[C.FAULT] == C.NO_FAULT else 0


@native
def expire(c: State, s: State, x: State, ppb: State) -> int:
    """Count SysTick down; whether an event of the host is due."""
    if s[L.NOW] >= c[C.SYSTICK_DUE]:
        systick.expire(c, s, x, ppb)
    return 1 if s[L.NOW] >= c[C.EVENT_DUE] else 0


@shared_as(_ACT)
def attend(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, address: Any) -> Any:
    """Between two blocks, ``address`` the next one's: 1 when the core goes elsewhere; ``c[STOP]`` says if it stops."""
    while True:
        if expire(c, s, x, ppb):
            c[C.STOP] = C.EVENTS
            return 0
        if x[X.ENTERING]:
            return enter(uc, scratch, c, s, x, ppb, get(uc, scratch, UC_ARM_REG_SP))
        if s[L.NOW] >= c[C.RUN_HORIZON]:
            c[C.STOP] = C.AT_HORIZON
            return 0
        c[C.HORIZON] = min(c[C.RUN_HORIZON], c[C.EVENT_DUE], c[C.SYSTICK_DUE])
        place = nvic.highest(x)
        if place == 0 or x[X.VECTORS] == 0:
            return 0
        level, running = nvic.group(x, x[X.PRIORITY + place]), nvic.active_level(x)
        if level >= running:
            return 0
        c[C.HORIZON] = 0  # masks may change without a word
        if level >= masks(uc, scratch, x, running):
            return 0
        push(uc, scratch, c, s, x, ppb, address, place)
        if c[C.FAULT] != C.NO_FAULT:
            return 0


@native_as(_ACT)
def supervise(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, address: Any) -> Any:
    """SVCall pends: it is taken at once, or another before it; 0 when the core stops."""
    running = masks(uc, scratch, x, nvic.active_level(x))
    if nvic.group(x, x[X.PRIORITY + X.SVCALL]) >= running:  # the core would take a HardFault
        nvic.drop(x, X.PENDING, X.SVCALL)
        c[C.STOP] = C.EXCEPTION
        return 0
    push(uc, scratch, c, s, x, ppb, address, nvic.highest(x))
    if c[C.FAULT] != C.NO_FAULT:
        return 0
    return attend(uc, scratch, c, s, x, ppb, address)


@native
def legal(x: State, ppb: State, value: int) -> int:
    """Whether EXC_RETURN ``value`` fits the exceptions that are active (Arm DDI0403 B1.5.8)."""
    if not nvic.has(x, X.ACTIVE, x[X.CURRENT]) or value & RETURN_BITS != RETURN_BITS:
        return 0
    kind, last = value & 15, nvic.actives(x) == 1
    if kind == 1:
        return 0 if last else 1
    if kind != 9 and kind != 13:
        return 0
    return 1 if last or word(ppb, CCR) & ANY_BASE else 0


@native
def taken_as(x: State, place: int, running: int) -> int:
    """Which exception the fault ``place`` is taken as at priority ``running``; 0: the core locks up."""
    if nvic.has(x, X.ENABLED, place) and nvic.group(x, x[X.PRIORITY + place]) < running:
        return place
    return X.HARD_FAULT if running > -1 else 0


@native_as(_ACT)
def chain(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, value: Any) -> Any:
    """Go from a handler that ends to the one that comes first, the frame staying: EXC_RETURN is ``value``."""
    x[X.RETURN_TO] = value
    s[L.NOW] += TAIL
    c[C.EXCEPTION_TICKS] += TAIL
    begin(uc, scratch, c, s, x, ppb, nvic.highest(x), 0)
    return 1 if c[C.FAULT] == C.NO_FAULT else 0


@native
def deactivate(s: State, x: State) -> None:
    """The handler that runs has ended."""
    now, place = s[L.NOW], x[X.CURRENT]
    nvic.leave(x, place, now)
    x[X.SPENT + place] += now - x[X.SINCE]
    x[X.SINCE] = now
    history.ended(s, x, place)


@native_as(_ACT)
def leave_handler(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, value: Any) -> Any:
    """A branch to EXC_RETURN ``value``: on to the next handler, or back; 0 when the core stops."""
    if x[X.ENTERING] == 0 and expire(c, s, x, ppb):  # what is due by now is chained
        c[C.STOP] = C.EVENTS
        return 0
    fits = legal(x, ppb, value)
    mpu_off(c, ppb, x[X.CURRENT])
    deactivate(s, x)
    if x[X.CURRENT] != X.NMI:
        put(uc, scratch, UC_ARM_REG_FAULTMASK, 0)
    c[C.HORIZON] = 0
    if not fits:
        accesses.fault(c, C.BAD_RETURN, value, 0, 0, value)
        return 0
    following = nvic.highest(x)
    if following:
        level = nvic.group(x, x[X.PRIORITY + following])
        if level < masks(uc, scratch, x, nvic.active_level(x)):
            return chain(uc, scratch, c, s, x, ppb, value)
    if not pop(uc, scratch, c, s, x, ppb, value):
        return 0
    if value & 8 and word(ppb, SCR) & SLEEP_ON_EXIT and nvic.actives(x) == 0:
        c[C.STOP] = C.ASLEEP
    return 1

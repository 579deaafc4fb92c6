"""Exceptions of the emulated core: entry, return and what is due, at the border of two blocks.

| cycles, zero wait states | Cortex-M4 | Cortex-M7 |
|---|---|---|
| entry | 12: Arm KA 103489845 | 12: "typically", Arm "Cortex-M for Beginners" |
| return | 10: Arm KA 103489845 | 10: assumed, not published |
| tail-chained entry | 6: Arm DDI0337 | 6: assumed, not published |
| frame with floating-point registers | 17 more each way: Arm KA 103489845 | 17 more: assumed |
| the same, lazy (FPCCR.LSPEN, as after a reset) | 17 when the handler first uses them | 17: assumed |

Of the 12 cycles 9 push the eight words, one access each, while 6 read the vector and fetch the handler over another
bus; where both are over the system bus (addresses from 0x2000_0000 on) they add up (Arm KA 103489845). Every access
is one of the memory system and waits there as loads and stores do; the handler's fetch is that of its first block.

An exception that arrives while the frame is pushed and comes first takes the frame over; the other stays pending
(late arrival). It costs nothing while the vector has not been asked for, 6 cycles before the end.

Not modelled: taking an exception within a block (it waits for the end of the one that runs, some instructions), one
that arrives while a frame is popped (it is taken behind that), loads and stores of several registers that are given up
and begun again, faults of these accesses taken by a handler (they stop the core).
"""

from __future__ import annotations

from typing import Any

from numba import types
from unicorn.arm_const import (
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
from mcusim.cpu.hooks import accesses, history, watching
from mcusim.cpu.hooks.unicorn_calls import get, put
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic, systick
from mcusim.cpu.system.ppb_words import put as put_word
from mcusim.cpu.system.ppb_words import word
from mcusim.memory import state_layout as L
from mcusim.memory.cache import data
from mcusim.memory.ports import core_data
from mcusim.native import host_memory as host
from mcusim.native.compile import State, native, native_as
from mcusim.native.words import INT64_WORDS

__all__ = ["RETURNS_FROM", "attend", "leave_handler", "save_floats", "supervise"]

ENTRY, RETURN, TAIL = 12 * L.TICK, 10 * L.TICK, 6 * L.TICK
PUSH, VECTOR = 9 * L.TICK, 6 * L.TICK  # of the entry's cycles
SYSTEM_BUS = 0x2000_0000
RETURNS_FROM = 0xF000_0000  # an address at or above is EXC_RETURN in handler mode
RETURN_BITS = 0xFFFF_FFE0
NPRIV, SPSEL, FPCA = 1, 2, 4
THUMB, PADDED, NUMBER = 1 << 24, 1 << 9, 0x1FF
BASIC, EXTENDED = 8, 26  # words
FLOATS = 16
VTOR, FPCCR, FPCAR, FPDSCR = 0xED08, 0xEF34, 0xEF38, 0xEF3C
LAZY = 1 << 30  # FPCCR.LSPEN

_STATES = (INT64_WORDS,) * 4
_FLOATS = types.void(types.voidptr, types.voidptr, INT64_WORDS, INT64_WORDS, types.int64, types.int64)
_ACT = types.int64(types.voidptr, types.voidptr, *_STATES, types.int64)


@native
def store(c: State, s: State, address: int, value: int, pc: int) -> None:
    """Push a word: an access of the core at ``s[NOW]``."""
    q = core_data.find(s, address)
    if q < 0 or s[q + L.FLAGS] & L.WRITE == 0:
        accesses.fault(c, C.STACKING, address, 4, 1, pc)
        return
    c[C.LAST_REGION] = s[q + L.BLOCK]
    c[C.STACKING_TICKS] += core_data.store(s, q, address, 4)
    host.put32(s[q + L.VIEW] + address, value)
    data.put(s, q, address, 4, value)
    if s[L.WATCH]:
        watching.pushed(s, q, address)


@native
def load(c: State, s: State, address: int, code: int, pc: int) -> int:
    """Pop a word, or read a vector; fault ``code`` where there is no memory."""
    q = core_data.find(s, address)
    if q < 0 or s[q + L.FLAGS] & L.READ == 0:
        accesses.fault(c, code, address, 4, 0, pc)
        return 0
    c[C.STACKING_TICKS] += core_data.load(s, q, address, 4)
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
    base = get(uc, scratch, UC_ARM_REG_BASEPRI) & 0xFF
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
    if state & NUMBER:
        put(uc, scratch, UC_ARM_REG_XPSR, state)
        put(uc, scratch, UC_ARM_REG_CONTROL, control & ~SPSEL)
    else:
        put(uc, scratch, UC_ARM_REG_CONTROL, control)
        put(uc, scratch, UC_ARM_REG_XPSR, state)


@native
def charge(c: State, s: State, start: int, stalls: int) -> None:
    """Count an entry or return that began at ``start``, when ``STACKING_TICKS`` were ``stalls``."""
    c[C.EXCEPTION_TICKS] += s[L.NOW] - start - (c[C.STACKING_TICKS] - stalls)


@native_as(_FLOATS)
def push_floats(uc: Any, scratch: Any, c: Any, s: Any, at: Any, pc: Any) -> None:
    """Store S0 to S15 and FPSCR from address ``at`` on, a cycle each."""
    for i in range(FLOATS):
        s[L.NOW] += L.TICK
        store(c, s, at + 4 * i, get(uc, scratch, UC_ARM_REG_S0 + i), pc)
    s[L.NOW] += L.TICK
    store(c, s, at + 4 * FLOATS, get(uc, scratch, UC_ARM_REG_FPSCR), pc)


@native_as(_FLOATS)
def pop_floats(uc: Any, scratch: Any, c: Any, s: Any, at: Any, pc: Any) -> None:
    """Load S0 to S15 and FPSCR from address ``at`` on, a cycle each."""
    for i in range(FLOATS):
        s[L.NOW] += L.TICK
        put(uc, scratch, UC_ARM_REG_S0 + i, load(c, s, at + 4 * i, C.STACKING, pc))
    s[L.NOW] += L.TICK
    put(uc, scratch, UC_ARM_REG_FPSCR, load(c, s, at + 4 * FLOATS, C.STACKING, pc))


@native_as(types.int64(types.voidptr, types.voidptr, *_STATES, types.int64))
def save_floats(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, address: Any) -> Any:
    """The block at ``address`` uses floating-point registers that a frame has room for: 1 when they were saved."""
    if x[X.FPU_WAITS] == 0:
        return 0
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    push_floats(uc, scratch, c, s, word(ppb, FPCAR), address)
    charge(c, s, start, stalls)
    put(uc, scratch, UC_ARM_REG_FPSCR, word(ppb, FPDSCR))
    x[X.FPU_WAITS], c[C.FPU] = 0, 1
    return 1


@native_as(types.void(types.voidptr, types.voidptr, *_STATES, types.int64, types.int64))
def push(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, back: Any, place: Any) -> None:
    """Push the frame of code that goes on at ``back``; ``place`` is the exception that comes first so far."""
    state, sp = get(uc, scratch, UC_ARM_REG_XPSR), get(uc, scratch, UC_ARM_REG_SP)
    control = get(uc, scratch, UC_ARM_REG_CONTROL)
    words = EXTENDED if control & FPCA else BASIC
    frame = (sp - 4 * words) & 0xFFFFFFF8
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    x[X.SPENT + x[X.CURRENT]] += start - x[X.SINCE]
    accesses.stack(c, C.BY_STACK, frame, 4, back)
    for i in range(6):
        store(c, s, frame + 4 * i, get(uc, scratch, frame_register(i)), back)
        s[L.NOW] += L.TICK
    store(c, s, frame + 24, back, back)
    s[L.NOW] += L.TICK
    store(c, s, frame + 28, state & ~PADDED | (PADDED if sp & 4 else 0), back)
    if words == EXTENDED:
        if word(ppb, FPCCR) & LAZY:
            put_word(ppb, FPCAR, frame + 4 * BASIC)
            x[X.FPU_WAITS], c[C.FPU] = 1, 0  # the next block with a floating-point instruction asks
        else:
            push_floats(uc, scratch, c, s, frame + 4 * BASIC, back)
    put(uc, scratch, UC_ARM_REG_SP, frame)
    s[L.NOW] += ENTRY - 7 * L.TICK
    charge(c, s, start, stalls)
    thread = state & NUMBER == 0
    on_process = thread and control & SPSEL
    x[X.RETURN_TO] = 0xFFFFFFE1 | (0 if control & FPCA else 16) | (8 if thread else 0) | (4 if on_process else 0)
    x[X.ENTERING], x[X.ENTERED_AT] = place, s[L.NOW]
    history.pushed(c, s, x, start, frame)
    if on_process:
        c[C.STACK_KNOWN] = 0


@native_as(types.void(types.voidptr, types.voidptr, *_STATES, types.int64, types.int64))
def begin(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, place: Any, hidden: Any) -> None:
    """Begin the handler of ``place``; ``hidden``: ticks for which its vector may wait at no cost."""
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    number = place if place < X.FIRST_LINE else place - X.FIRST_LINE + 16
    vector = load(c, s, word(ppb, VTOR) + 4 * number, C.BAD_VECTOR, start)
    s[L.NOW] = start + max(0, s[L.NOW] - start - hidden)
    charge(c, s, start, stalls)
    nvic.take(x, place)
    x[X.CURRENT], x[X.SINCE], x[X.ENTERING] = place, s[L.NOW], 0
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
    return 1


@native
def expire(c: State, s: State, x: State, ppb: State) -> int:
    """Count SysTick down; whether an event of the host is due."""
    if s[L.NOW] >= c[C.SYSTICK_DUE]:
        systick.expire(c, s, x, ppb)
    return 1 if s[L.NOW] >= c[C.EVENT_DUE] else 0


@native_as(_ACT)
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
    return attend(uc, scratch, c, s, x, ppb, address)


@native_as(types.void(types.voidptr, types.voidptr, *_STATES, types.int64))
def pop(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, value: Any) -> None:
    """Pop the frame that EXC_RETURN ``value`` names, and go on with what it says."""
    start, stalls = s[L.NOW], c[C.STACKING_TICKS]
    control = get(uc, scratch, UC_ARM_REG_CONTROL) & NPRIV
    if value & 8:
        mode(uc, scratch, SPSEL if value & 4 else 0, THUMB)
    sp = get(uc, scratch, UC_ARM_REG_SP)
    for i in range(6):
        put(uc, scratch, frame_register(i), load(c, s, sp + 4 * i, C.STACKING, value))
        s[L.NOW] += L.TICK
    back = load(c, s, sp + 24, C.STACKING, value)
    s[L.NOW] += L.TICK
    state = load(c, s, sp + 28, C.STACKING, value)
    words = BASIC
    if value & 16 == 0:
        words = EXTENDED
        if x[X.FPU_WAITS]:  # the registers are as they were
            x[X.FPU_WAITS], c[C.FPU] = 0, 1
        else:
            pop_floats(uc, scratch, c, s, sp + 4 * BASIC, value)
    s[L.NOW] += RETURN - 7 * L.TICK
    charge(c, s, start, stalls)
    if c[C.FAULT] != C.NO_FAULT:
        return
    put(uc, scratch, UC_ARM_REG_SP, sp + 4 * words + (4 if state & PADDED else 0))
    control |= 0 if value & 16 else FPCA
    put(uc, scratch, UC_ARM_REG_CONTROL, control | (SPSEL if value & 4 else 0))
    put(uc, scratch, UC_ARM_REG_XPSR, state & ~PADDED)
    put(uc, scratch, UC_ARM_REG_PC, back | 1)
    if value & 4:
        c[C.STACK_KNOWN] = 0
    c[C.TAKEN], c[C.SLOT_FREE], c[C.ENTERED] = 1, 0, -1
    x[X.SINCE] = s[L.NOW]
    history.popped(c, s, x, sp, value)
    place = state & NUMBER
    x[X.CURRENT] = place if place < 16 else place - 16 + X.FIRST_LINE


@native
def legal(x: State, value: int) -> int:
    """Whether EXC_RETURN ``value`` fits the exceptions that are active (Arm DDI0403 B1.5.8)."""
    active = 0
    for i in range(X.WORDS):
        bits = x[X.ACTIVE + i]
        while bits:
            active += bits & 1
            bits >>= 1
    if not nvic.has(x, X.ACTIVE, x[X.CURRENT]):
        return 0
    kind = value & 15
    if value & RETURN_BITS != RETURN_BITS:
        return 0
    if active == 1:
        return 1 if kind in (9, 13) else 0
    return 1 if kind == 1 else 0


@native_as(_ACT)
def leave_handler(uc: Any, scratch: Any, c: Any, s: Any, x: Any, ppb: Any, value: Any) -> Any:
    """A branch to EXC_RETURN ``value``: on to the next handler, or back; 0 when the core stops."""
    if x[X.ENTERING] == 0 and expire(c, s, x, ppb):  # what is due by now is chained
        c[C.STOP] = C.EVENTS
        return 0
    if not legal(x, value):
        accesses.fault(c, C.BAD_RETURN, value, 0, 0, value)
        return 0
    now, place = s[L.NOW], x[X.CURRENT]
    nvic.leave(x, place, now)
    x[X.SPENT + place] += now - x[X.SINCE]
    history.ended(s, x, place)
    if place != X.NMI:
        put(uc, scratch, UC_ARM_REG_FAULTMASK, 0)
    c[C.HORIZON] = 0
    following = nvic.highest(x)
    if following:
        level = nvic.group(x, x[X.PRIORITY + following])
        if level < masks(uc, scratch, x, nvic.active_level(x)):
            x[X.RETURN_TO] = value
            s[L.NOW] += TAIL
            c[C.EXCEPTION_TICKS] += TAIL
            begin(uc, scratch, c, s, x, ppb, following, 0)
            return 1
    pop(uc, scratch, c, s, x, ppb, value)
    return 1 if c[C.FAULT] == C.NO_FAULT else 0

"""SysTick: a counter of core cycles that pends its exception when it goes from 1 to 0 (Arm DDI0403 B3.3).

The count is computed when it is looked at; ``SYSTICK_DUE`` of the core's state is when it next reaches zero with
TICKINT set. Not modelled: the external reference clock (CSR.CLKSOURCE 0 counts core cycles too), SYST_CALIB.
"""

from __future__ import annotations

from mcusim.cpu import state_layout as C
from mcusim.cpu.system import nvic
from mcusim.cpu.system.exception_layout import NEVER, SYSTICK
from mcusim.cpu.system.ppb_words import put, word
from mcusim.memory import state_layout as L
from mcusim.native.compile import State, native

CSR, RVR, CVR = 0xE010, 0xE014, 0xE018
ENABLE, TICKINT, COUNTFLAG = 1, 2, 1 << 16


@native
def period(ppb: State) -> int:
    """Cycles from one zero to the next."""
    return (word(ppb, RVR) & 0xFFFFFF) + 1


@native
def count(c: State, s: State, ppb: State) -> int:
    """SysTick's current value; notes in CSR.COUNTFLAG that it has passed zero since the last look."""
    now = s[L.NOW] // L.TICK
    control = word(ppb, CSR)
    left = c[C.TICK_LEFT]
    if control & ENABLE:
        passed = now - c[C.TICK_BASE]
        cycles = period(ppb)
        first = left if left else cycles  # from 1 to 0; the reload of a 0 that was written does not count
        if passed >= first and (left or cycles > 1):
            put(ppb, CSR, control | COUNTFLAG)
            c[C.COUNT_READ] = 0
        left = left - passed if passed <= left else (left - passed) % cycles
    c[C.TICK_BASE] = now
    c[C.TICK_LEFT] = left
    return left


@native
def schedule(c: State, ppb: State, control: int) -> None:
    """Note when the exception pends next, counting from the last look, with ``control`` in CSR."""
    reload = word(ppb, RVR) & 0xFFFFFF
    left = c[C.TICK_LEFT] if c[C.TICK_LEFT] else reload + 1
    runs = control & ENABLE and control & TICKINT and (reload or c[C.TICK_LEFT])
    c[C.SYSTICK_DUE] = (c[C.TICK_BASE] + left) * L.TICK if runs else NEVER
    c[C.HORIZON] = 0


@native
def expire(c: State, s: State, x: State, ppb: State) -> None:
    """The count has reached zero, at ``SYSTICK_DUE``, once or more."""
    nvic.pend(x, SYSTICK, c[C.SYSTICK_DUE])
    count(c, s, ppb)
    schedule(c, ppb, word(ppb, CSR))


@native
def read(c: State, s: State, ppb: State, at: int) -> None:
    """Before a load of CSR, RVR or CVR: update it."""
    if at == CVR:
        put(ppb, at, count(c, s, ppb))
    elif at == CSR:
        if c[C.COUNT_READ]:  # a read clears the flag, once it has been answered
            put(ppb, at, word(ppb, at) & ~COUNTFLAG)
        count(c, s, ppb)
        c[C.COUNT_READ] = 1


@native
def write(c: State, s: State, ppb: State, at: int, value: int) -> None:
    """A write to CVR clears it (the next count starts from RVR), CSR.ENABLE starts and stops it."""
    count(c, s, ppb)
    if at == CVR:
        c[C.TICK_LEFT] = 0
        put(ppb, CSR, word(ppb, CSR) & ~COUNTFLAG)
    elif at == RVR:
        put(ppb, at, value)  # the store does it again
    schedule(c, ppb, value if at == CSR else word(ppb, CSR))

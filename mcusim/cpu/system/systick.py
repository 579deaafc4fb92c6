"""SysTick: a counter of core cycles that pends its exception when it goes from 1 to 0 (Arm DDI0403 B3.3).

The count is computed when it is looked at; ``systick_due`` of the core's state is when it next reaches zero with
TICKINT set. Not modelled: the external reference clock (CSR.CLKSOURCE 0 counts core cycles too), SYST_CALIB.
"""

from __future__ import annotations

from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system import nvic
from mcusim.cpu.system.exception_layout import NEVER, SYSTICK, ExceptionState
from mcusim.cpu.system.ppb_words import put, word
from mcusim.memory.state_layout import TICK, MemoryState
from mcusim.native.functions import native
from mcusim.native.structs import Words

CSR, RVR, CVR = 0xE010, 0xE014, 0xE018
ENABLE, TICKINT, COUNTFLAG = 1, 2, 1 << 16


@native
def period(ppb: Words) -> int:
    """Cycles from one zero to the next."""
    return (word(ppb, RVR) & 0xFFFFFF) + 1


@native
def count(core: CoreState, memory: MemoryState, ppb: Words) -> int:
    """SysTick's current value; notes in CSR.COUNTFLAG that it has passed zero since the last look."""
    now = memory.now // TICK
    control = word(ppb, CSR)
    left = core.systick_left
    if control & ENABLE:
        passed = now - core.systick_base
        cycles = period(ppb)
        first = left if left else cycles  # from 1 to 0; the reload of a 0 that was written does not count
        if passed >= first and (left or cycles > 1):
            put(ppb, CSR, control | COUNTFLAG)
            core.systick_flag_read = 0
        left = left - passed if passed <= left else (left - passed) % cycles
    core.systick_base = now
    core.systick_left = left
    return left


@native
def schedule(core: CoreState, ppb: Words, control: int) -> None:
    """Note when the exception pends next, counting from the last look, with ``control`` in CSR."""
    reload = word(ppb, RVR) & 0xFFFFFF
    left = core.systick_left if core.systick_left else reload + 1
    runs = control & ENABLE and control & TICKINT and (reload or core.systick_left)
    core.systick_due = (core.systick_base + left) * TICK if runs else NEVER
    core.horizon = 0


@native
def expire(core: CoreState, memory: MemoryState, exceptions: ExceptionState, ppb: Words) -> None:
    """The count has reached zero, at ``systick_due``, once or more."""
    nvic.pend(exceptions, SYSTICK, core.systick_due)
    count(core, memory, ppb)
    schedule(core, ppb, word(ppb, CSR))


@native
def read(core: CoreState, memory: MemoryState, ppb: Words, offset: int) -> None:
    """Before a load of CSR, RVR or CVR: update it."""
    if offset == CVR:
        put(ppb, offset, count(core, memory, ppb))
    elif offset == CSR:
        if core.systick_flag_read:  # a read clears the flag, once it has been answered
            put(ppb, offset, word(ppb, offset) & ~COUNTFLAG)
        count(core, memory, ppb)
        core.systick_flag_read = 1


@native
def write(core: CoreState, memory: MemoryState, ppb: Words, offset: int, value: int) -> None:
    """A write to CVR clears it (the next count starts from RVR), CSR.ENABLE starts and stops it."""
    count(core, memory, ppb)
    if offset == CVR:
        core.systick_left = 0
        put(ppb, CSR, word(ppb, CSR) & ~COUNTFLAG)
    elif offset == RVR:
        put(ppb, offset, value)  # the store does it again
    schedule(core, ppb, value if offset == CSR else word(ppb, CSR))

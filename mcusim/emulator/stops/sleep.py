"""WFI, WFE and sleep on exit: the core's clock jumps to what wakes it. Host time passes only for deadlines on the way.

WFI wakes at what would be taken if PRIMASK were clear. WFE does nothing where the event register is set, and clears it;
else it wakes at what is taken, or at an event: SEV, an exception's entry or return, with SCR.SEVONPEND any exception
that becomes pending. A program without vector table goes on behind a WFE, as the architecture allows.

Not modelled: the time a part needs to wake, deep sleep (SCR.SLEEPDEEP sleeps like any other), what stops counting then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import blocks
from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic, systick
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.emulator.stops.stop import Stop
from mcusim.emulator.stops.stop_reason import rollback_block
from mcusim.memory import state_layout as L

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

MOST_DEADLINES = 1_000_000  # that pass without waking the core: nothing does


def end_block(emulator: GuestCore) -> None:
    """The block that the core stopped behind, at a WFI, has run; one that it stopped in is broken off."""
    c = emulator.state
    pc, record = emulator.core["pc"] & ~1, int(c[C.PREVIOUS])
    if record >= 0 and emulator.code.block_of(record).end == pc:
        tables = emulator.tables
        blocks.leave(c, emulator.memory.state, tables.blocks, emulator.branches, emulator.calls, pc)
    else:
        rollback_block(emulator, pc)


def wait_for_event(emulator: GuestCore) -> Stop | None:
    """A WFE has run."""
    x = emulator.interrupts.state
    if x[X.EVENT] or not x[X.VECTORS]:
        x[X.EVENT] = 0
        return None
    end_block(emulator)
    emulator.for_event = True
    return sleep(emulator)


def _wakes(emulator: GuestCore) -> bool:
    x, interrupts = emulator.interrupts.state, emulator.interrupts
    if not emulator.for_event:
        return interrupts.preempts(emulator.core.level(primask=False))
    event, x[X.EVENT] = bool(x[X.EVENT]), 0
    return event or interrupts.preempts(emulator.core.level())


def _for_ever(emulator: GuestCore) -> bool:
    """Nothing is to come but SysTick, which pends already."""
    c, x = emulator.state, emulator.interrupts.state
    return int(c[C.EVENT_DUE]) >= NEVER and bool(int(c[C.SYSTICK_DUE]) >= NEVER or nvic.has(x, X.PENDING, X.SYSTICK))


def sleep(emulator: GuestCore) -> Stop | None:
    """Sleep until an exception is pending that ends it (None), the run's horizon, or for ever: "idle"."""
    c, s, interrupts = emulator.state, emulator.memory.state, emulator.interrupts
    for _ in range(MOST_DEADLINES):
        if _wakes(emulator) or emulator.peripherals.ending or emulator.peripherals.reset_asked:
            emulator.asleep = emulator.for_event = False
            return None
        due = int(min(c[C.SYSTICK_DUE], c[C.EVENT_DUE]))
        if _for_ever(emulator):
            break
        emulator.asleep = True
        until = max(int(s[L.NOW]), min(due, int(c[C.RUN_HORIZON])))
        c[C.SLEEP_TICKS] += until - s[L.NOW]
        if emulator.sleeps is not None:
            emulator.sleeps.append((int(s[L.NOW]), until))
        s[L.NOW] = until
        if until < due:
            return Stop("horizon")
        if s[L.NOW] >= c[C.SYSTICK_DUE]:
            systick.expire(c, s, interrupts.state, emulator.ppb_words)
        if s[L.NOW] >= c[C.EVENT_DUE]:
            emulator.events.run()
    emulator.asleep = emulator.for_event = False
    return Stop("idle")

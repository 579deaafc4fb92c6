"""WFI: the core's clock jumps to what wakes it. Host time passes only for the deadlines on the way.

Not modelled: the time a part needs to wake, deep sleep (SCR.SLEEPDEEP sleeps like any other), what stops counting then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import blocks
from mcusim.cpu.stops.stop_reason import Stop, settle
from mcusim.cpu.system import systick
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.memory import state_layout as L

if TYPE_CHECKING:
    from mcusim.cpu.emulator import Emulator

__all__ = ["end_block", "sleep"]

MOST_DEADLINES = 1_000_000  # that pass without waking the core: nothing does


def end_block(emulator: Emulator) -> None:
    """The block that the core stopped behind, at a WFI, has run; one that it stopped in is broken off."""
    c = emulator.state
    pc, record = emulator.core["pc"] & ~1, int(c[C.PREVIOUS])
    if record >= 0 and emulator.code.block_of(record).end == pc:
        tables = emulator.tables
        blocks.leave(c, emulator.memory.state, tables.blocks, emulator.branches, emulator.calls, pc)
    else:
        settle(emulator, pc)


def sleep(emulator: Emulator) -> Stop | None:
    """Sleep until an exception is pending that ends it (None), the run's horizon, or for ever: "idle"."""
    c, s, interrupts = emulator.state, emulator.memory.state, emulator.interrupts
    for _ in range(MOST_DEADLINES):
        if interrupts.wakes or emulator.peripherals.ending is not None:
            emulator.asleep = False
            return None
        due = int(min(c[C.SYSTICK_DUE], c[C.EVENT_DUE]))
        if due >= NEVER:
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
    emulator.asleep = False
    return Stop("idle")

"""WFI, WFE and sleep on exit: the core's clock jumps to what wakes it. Host time passes only for deadlines on the way.

WFI wakes at what would be taken if PRIMASK were clear. WFE does nothing where the event register is set, and clears it;
else it wakes at what is taken, or at an event: SEV, an exception's entry or return, with SCR.SEVONPEND any exception
that becomes pending. A program without vector table goes on behind a WFE, as the architecture allows.

Not modelled: the time a part needs to wake, deep sleep (SCR.SLEEPDEEP sleeps like any other), what stops counting then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mcusim.cpu.hooks import blocks
from mcusim.cpu.system import nvic, systick
from mcusim.cpu.system.exception_layout import NEVER, SYSTICK
from mcusim.emulator.stops.stop import Stop
from mcusim.emulator.stops.stop_reason import rollback_block

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore

MOST_DEADLINES = 1_000_000  # that pass without waking the core: nothing does


def end_block(emulator: GuestCore) -> None:
    """The block that the core stopped behind, at a WFI, has run; one that it stopped in is broken off."""
    pc, index = emulator.core["pc"] & ~1, emulator.state.open_block
    if index >= 0 and emulator.tables.known[index].end == pc:
        blocks.leave(emulator.core.hook, pc)
    else:
        rollback_block(emulator, pc)


def wait_for_event(emulator: GuestCore) -> Stop | None:
    """A WFE has run."""
    x = emulator.interrupts.state
    if x.event or not x.vector_table:
        x.event = 0
        return None
    end_block(emulator)
    emulator.for_event = True
    return sleep(emulator)


def _wakes(emulator: GuestCore) -> bool:
    x, interrupts = emulator.interrupts.state, emulator.interrupts
    if not emulator.for_event:
        return interrupts.preempts(emulator.core.level(primask=False))
    event, x.event = bool(x.event), 0
    return event or interrupts.preempts(emulator.core.level())


def _for_ever(emulator: GuestCore) -> bool:
    """Nothing is to come but SysTick, which pends already."""
    state, pending = emulator.state, emulator.interrupts.state.pending
    return state.event_due >= NEVER and bool(state.systick_due >= NEVER or nvic.has(pending, SYSTICK))


def sleep(emulator: GuestCore) -> Stop | None:
    """Sleep until an exception is pending that ends it (None), the run's horizon, or for ever: "idle"."""
    state, memory, interrupts = emulator.state, emulator.memory.state, emulator.interrupts
    for _ in range(MOST_DEADLINES):
        if _wakes(emulator) or emulator.peripherals.ending or emulator.peripherals.reset_asked:
            emulator.asleep = emulator.for_event = False
            return None
        due = min(state.systick_due, state.event_due)
        if _for_ever(emulator):
            break
        emulator.asleep = True
        until = max(memory.now, min(due, state.run_horizon))
        state.sleep_ticks += until - memory.now
        if emulator.sleeps is not None:
            emulator.sleeps.append((memory.now, until))
        memory.now = until
        if until < due:
            return Stop("horizon")
        if memory.now >= state.systick_due:
            systick.expire(state, memory, interrupts.state, emulator.ppb_words)
        if memory.now >= state.event_due:
            emulator.events.run()
    emulator.asleep = emulator.for_event = False
    return Stop("idle")

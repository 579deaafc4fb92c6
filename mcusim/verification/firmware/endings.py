"""What the end of a firmware's run shows: handlers that do not return, waits for what cannot come.

Not modelled: a program that sleeps or goes round for ever at its end, as it is meant to, looks like one that waits,
unless a variable or an interrupt shows what it waits for.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.cpu.system import exception_layout as X
from mcusim.cpu.system import nvic
from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Stop
from mcusim.soc.dma.dma_log import LoggedTransfer
from mcusim.verification.firmware.finding import FirmwareFinding, Place
from mcusim.verification.firmware.memory_shadow import Shadow
from mcusim.verification.firmware.source_locations import SourcePlaces

NEAR = 32  # bytes of code between a load and the loop that it should be in


def ending_findings(emulator: Emulator, shadow: Shadow, places: SourcePlaces, stop: Stop) -> Iterator[FirmwareFinding]:
    """What a run that came to ``stop`` ended in."""
    if stop.kind not in ("loop", "idle"):
        return
    here = places.at(emulator.core["pc"] & ~1)
    active = emulator.interrupts.state.current
    if active:
        text = f"{here.text()}, entered for {places.exception(active)}, goes round for ever"
        fix = f"give {places.exception(active)} a handler by the name that is in the vector table, and let it return"
        yield _of("stuck-handler", text, fix, here, emulator.cycles)
    elif stop.kind == "loop":
        yield from _kept(emulator, shadow, places, here)


def _kept(emulator: Emulator, shadow: Shadow, places: SourcePlaces, here: Place) -> Iterator[FirmwareFinding]:
    """The program has loaded a word just before the loop, and a handler has stored to it since."""
    latest = {address: (address, size, pc, value) for address, size, pc, value in reversed(list(shadow.loads()))}
    for address, size, pc, value in latest.values():
        now = shadow.by_handler(address, size)
        loaded = places.at(pc & ~1)
        if now is None or now == value or loaded.function != here.function or abs(here.pc - pc) > NEAR:
            continue
        what, store = places.bytes_at(address), places.at(shadow.writer(address))
        text = (
            f"{loaded.text()} read {what} once ({value:#x}) and went into a loop that does not load it; {store.text()}"
            f" has made it {now:#x} since"
        )
        fix = f"declare {what} volatile, or read it by an atomic load"
        yield FirmwareFinding(
            "kept-in-register", text, fix, loaded, address, address + size, what, 1, emulator.cycles, other=store
        )


def waits_unheard(
    emulator: Emulator, places: SourcePlaces, stop: Stop, unknown: list[LoggedTransfer]
) -> Iterator[tuple[LoggedTransfer, str, str]]:
    """Transfers of whose end the waiting program does not know, because their interrupt is not enabled."""
    poll = stop.fault is not None and stop.fault.kind == "endless poll"
    if stop.kind != "idle" and not poll:
        return
    state = emulator.interrupts.state
    for transfer in unknown:
        index = transfer.irq + X.FIRST_LINE
        asks = transfer.irq >= 0 and nvic.has(state.line_high, index)
        if asks and not nvic.has(state.enabled, index):
            name = places.exception(index)
            own = f"{transfer.controller} stream {transfer.stream}"
            text = f"{own} has ended and asks for {name}, which is not enabled in the NVIC: the program waits for ever"
            yield transfer, text, f"enable {name} in the NVIC before the transfer is started"


def end_storm(emulator: Emulator) -> None:
    """End a run in which one exception comes again each time its handler has ended, and nothing else runs."""
    index = emulator.interrupts.log.storm
    if index:
        name = SourcePlaces.named(emulator, index)
        text = f"{name} is taken again each time its handler returns, and the main program does not run any more: the"
        emulator.peripherals.stop("interrupt storm", f"{text} handler does not clear what asks for it")


def _of(rule: str, text: str, fix: str, place: Place, cycle: int) -> FirmwareFinding:
    return FirmwareFinding(rule, text, fix, place, place.pc, place.pc + 2, None, 1, cycle)

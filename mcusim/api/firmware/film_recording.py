"""A film of a firmware's run: what is asked for, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mcusim.cpu.system import exception_layout as X
from mcusim.memory import state_layout as L
from mcusim.results.emulation import EmulationResult
from mcusim.results.film import Film, FilmScene, FilmTransfer, film_of
from mcusim.run_config.film_window import FilmWindow
from mcusim.soc.dma.dma_log import LoggedTransfer
from mcusim.verification.firmware.source_locations import SourcePlaces

if TYPE_CHECKING:
    from mcusim.emulator.emulator import Emulator
    from mcusim.memory.film.film_recorder import FilmRecorder


@dataclass(frozen=True, slots=True)
class FirmwareFilm:
    """A film that is being taken of ``emulator``."""

    emulator: Emulator
    recorder: FilmRecorder
    window: FilmWindow

    def taken(self, result: EmulationResult) -> Film:
        """The film, now that the run is over. Raises UsageError for a window that it has not."""
        self.recorder.detach()
        return film_of(self.recorder, self._scene(result), self.emulator.machine, self.window)

    def _scene(self, result: EmulationResult) -> FilmScene:
        recording, image = result.recording, result.image
        assert recording is not None  # a film is recorded
        cycles = recording.ticks // L.TICK
        handlers = [(run, SourcePlaces.named(self.emulator, X.index_of(run.number))) for run in recording.handlers]
        tasks: list[dict[str, Any]] = [
            {"lane": "handlers", "label": name, "begin": begin // L.TICK, "end": end // L.TICK}
            for run, name in handlers
            for begin, end in run.pieces
        ]
        tasks += [
            {"lane": "asleep", "label": "", "begin": begin // L.TICK, "end": end // L.TICK}
            for begin, end in recording.sleeps
        ]
        moved = tuple(_moved(transfer, cycles) for transfer in recording.transfers)
        tasks += [
            {"lane": transfer.lane, "label": "", "begin": transfer.begin, "end": transfer.end} for transfer in moved
        ]
        low, top = result.stack.limit, result.stack.top
        stack = {"name": "stack", "kind": "stack", "address": low, "bytes": top - low}
        objects = tuple(
            {"name": symbol.name, "kind": "data", "address": symbol.address, "bytes": symbol.size}
            for symbol in image.symbols
            if symbol.kind == "object" and symbol.size
        )
        return FilmScene(
            result.name,
            "emulate",
            cycles,
            tuple(sorted(tasks, key=lambda task: (task["begin"], task["lane"]))),
            moved,
            (*objects, stack),
            tuple((run.begin, run.number) for run, _ in handlers),
            {run.number: name for run, name in handlers},
            image.place_of,
        )


def _moved(transfer: LoggedTransfer, cycles: int) -> FilmTransfer:
    lane = f"{transfer.controller.lower()}.s{transfer.stream}"
    end = cycles if transfer.end is None else transfer.end
    return FilmTransfer(lane, transfer.begin, end, tuple(transfer.reads), tuple(transfer.writes))


def begin_film(emulator: Emulator, asked: str | FilmWindow | None) -> FirmwareFilm | None:
    """Film ``emulator`` from now on; None: do not. Raises UsageError and UnitError for what is no window."""
    if asked is None:
        return None
    window = asked if isinstance(asked, FilmWindow) else FilmWindow.parse(asked)
    recorder = window.recorder(emulator.machine.core.clock)
    recorder.attach(emulator.memory)
    emulator.waits.film = recorder
    return FirmwareFilm(emulator, recorder, window)

"""A recorded run of a firmware over time: what the core did, each exception's handler, each DMA stream.

The core's own row has no holes: code outside handlers under the function that most of a stretch was in, handlers,
sleep, and waits for transfers (at the end of the stretch that they are counted in). Not modelled: when within a stretch
each function ran, waits in loops that were not found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from mcusim.memory.state_layout import TICK
from mcusim.results.hot_spots import function_of

if TYPE_CHECKING:
    from mcusim.emulator.recording.recorder import Stretch
    from mcusim.emulator.recording.recording import Recording
    from mcusim.results.emulation import EmulationResult

Kind = Literal["code", "handler", "asleep", "waits", "transfer"]
MOST = 100_000  # moments of a lane


@dataclass(frozen=True, slots=True)
class Moment:
    """From core cycle ``start`` to ``end``; ``more`` has numbers to show, ``moved`` bytes by region."""

    start: int
    end: int
    text: str
    kind: Kind
    more: Mapping[str, int] = field(default_factory=dict)
    moved: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class FirmwareLane:
    """``moments`` by rising start, which do not overlap; ``left_out`` further ones."""

    name: str
    group: Literal["core", "handler", "dma"]
    moments: Sequence[Moment]
    left_out: int = 0


def firmware_lanes(result: EmulationResult) -> list[FirmwareLane]:
    """The core, handlers by exception number, DMA streams; none for a run that was not recorded."""
    recording = result.recording
    if recording is None:
        return []
    names = {exception.number: exception.name for exception in result.profile.exceptions}
    lanes = [_lane("core", "core", _core(result, recording, names))]
    for number, name in names.items():
        text = _entered(result, name, number)
        moments = [
            Moment(start // TICK, end // TICK, text, "handler", {"latency": (run.first - run.pended) // TICK})
            for run in recording.handlers
            if run.number == number
            for start, end in run.pieces
        ]
        lanes.append(_lane(name, "handler", moments))
    streams: dict[str, list[Moment]] = {}
    for transfer in recording.transfers:
        end = recording.ticks // TICK if transfer.end is None else transfer.end
        lane = f"{transfer.controller.lower()}.s{transfer.stream}"
        moved = dict.fromkeys(_regions(result, transfer.source, transfer.target), transfer.moved)
        text = f"transfer {transfer.number}: {transfer.moved:,} B {transfer.source:#010x} to {transfer.target:#010x}"
        streams.setdefault(lane, []).append(
            Moment(transfer.begin, end, text, "transfer", {"bytes": transfer.moved}, moved)
        )
    return lanes + [_lane(name, "dma", moments) for name, moments in sorted(streams.items())]


def _entered(result: EmulationResult, name: str, number: int) -> str:
    """The exception, and the function that handles it."""
    address = next(exception.handler for exception in result.profile.exceptions if exception.number == number)
    function = result.image.function_at(address)
    return f"{name} {function[0]}" if function else name


def _lane(name: str, group: Literal["core", "handler", "dma"], moments: Sequence[Moment]) -> FirmwareLane:
    ordered = sorted((moment for moment in moments if moment.end > moment.start), key=lambda moment: moment.start)
    return FirmwareLane(name, group, ordered[:MOST], max(0, len(ordered) - MOST))


def _regions(result: EmulationResult, *addresses: int) -> Iterator[str]:
    for address in addresses:
        for region in result.machine.memory.values():
            if any(base <= address < base + region.size for base in (region.base, *region.aliases)):
                yield region.name


def _core(result: EmulationResult, recording: Recording, names: Mapping[int, str]) -> list[Moment]:
    """Code of the stretches where no handler and no sleep is."""
    apart = [(*piece, names.get(run.number, "?"), "handler") for run in recording.handlers for piece in run.pieces]
    taken: list[tuple[int, int, str, Kind]] = [(start, end, text, "handler") for start, end, text, _ in apart]
    taken += [(start, end, "asleep", "asleep") for start, end in recording.sleeps]
    taken.sort()
    moments = [Moment(start // TICK, end // TICK, text, kind) for start, end, text, kind in taken]
    index = 0
    for stretch in recording.stretches:
        text, at = _function(result, recording, stretch), stretch.begin
        idle = stretch.end - stretch.idle if stretch.waits else stretch.end
        while at < stretch.end:
            while index < len(taken) and taken[index][1] <= at:
                index += 1
            start = min(taken[index][0], stretch.end) if index < len(taken) else stretch.end
            moments += _own(at, start, idle, text)
            at = max(start, taken[index][1]) if index < len(taken) else stretch.end
    return moments


def _own(start: int, end: int, idle: int, text: str) -> Iterator[Moment]:
    """The core's own time: work up to ``idle``, then a wait."""
    if start < min(end, idle):
        yield Moment(start // TICK, min(end, idle) // TICK, text, "code")
    if end > max(start, idle):
        yield Moment(max(start, idle) // TICK, end // TICK, "waits for DMA", "waits")


def _function(result: EmulationResult, recording: Recording, stretch: Stretch) -> str:
    if not len(stretch.spent) or not stretch.spent.any():
        return "code"
    return function_of(result.image, recording.functions[int(np.argmax(stretch.spent))])[0]

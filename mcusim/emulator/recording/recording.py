"""A finished recording, as data."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from mcusim.emulator.recording.handler_runs import HandlerRun, handler_runs
from mcusim.emulator.recording.recorder import Recorder, Stretch

if TYPE_CHECKING:
    from mcusim.emulator.core_state import GuestCore
    from mcusim.soc.dma.dma_log import LoggedTransfer


@dataclass(frozen=True)
class Recording:
    """Times in ticks. ``functions``: first address of each that a stretch's ``spent`` counts; ``events``: at which
    tick which transfer reported its half or end; ``sleeps``: from tick to tick in a WFI; ``left_out``: stretches,
    transfers and log entries that were too many."""

    ticks: int
    stretches: Sequence[Stretch] = field(repr=False)
    transfers: Sequence[LoggedTransfer] = field(repr=False)
    handlers: Sequence[HandlerRun] = field(repr=False)
    functions: Sequence[int] = field(repr=False)
    events: Mapping[int, int] = field(repr=False)
    sleeps: Sequence[tuple[int, int]] = field(repr=False)
    left_out: int = 0

    @classmethod
    def of(cls, core: GuestCore, recorder: Recorder) -> Recording:
        """What ``recorder`` has seen of ``core``, which has run."""
        recorder.finish()
        log, now = core.interrupts.log, int(core.memory.state.now)
        return cls(
            ticks=now,
            stretches=recorder.stretches,
            transfers=core.dma.log.transfers,
            handlers=handler_runs(log.entries, now),
            functions=recorder.functions,
            events=recorder.events,
            sleeps=recorder.sleeps,
            left_out=recorder.left_out + log.left_out + core.dma.log.left_out,
        )

    @cached_property
    def of_transfers(self) -> list[tuple[int, int, int]]:
        """When handlers of transfers had the core, in order: from, to, the transfer's number."""
        runs = ((run, self.events.get(run.pended)) for run in self.handlers)
        return sorted((*piece, number) for run, number in runs if number is not None for piece in run.pieces)

    def handling(self, begin: int, end: int) -> int:
        """Ticks between ``begin`` and ``end`` that handlers of transfers had."""
        pieces = self.of_transfers
        first = max(0, bisect_right(pieces, (begin,)) - 1)
        total = 0
        for start, stop, _ in pieces[first:]:
            if start >= end:
                break
            total += max(0, min(stop, end) - max(start, begin))
        return total

    def handled_at(self, tick: int) -> int | None:
        """The transfer whose handler has the core at ``tick``."""
        index = bisect_right(self.of_transfers, (tick, 1 << 62)) - 1
        if index < 0:
            return None
        start, stop, number = self.of_transfers[index]
        return number if start <= tick <= stop else None

"""Recording and playing the streams of a run, call by call, for a memory system.

A run is a sequence of kernel calls and cache maintenance, whose accesses depend on addresses, kernels and caches alone;
what they take depends on the devices too. Not modelled: several inferences in a row, and what :mod:`.record` does not
model.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcusim.memory.film.events import FilmState
from mcusim.memory.kept_streams import layout as K
from mcusim.memory.kept_streams import play
from mcusim.memory.kept_streams.layout import KeptCall, KeptCalls, KeptState
from mcusim.memory.state_layout import MemoryState
from mcusim.native.structs import Words

MOST_EVENTS = 1 << 22  # of a call
Counts = np.ndarray[Any, np.dtype[np.int64]]


@dataclass(frozen=True, slots=True, eq=False)
class KeptStream:
    """Of a call: its events, the address ranges they name, ticks of work behind the last one, what was counted of each
    block (accesses and bytes), hits, misses and write-backs of the data cache."""

    events: Counts
    ranges: Counts
    tail: int
    counts: Counts
    totals: tuple[int, int, int]

    @property
    def bytes(self) -> int:
        """Of the host's memory."""
        return self.events.nbytes + self.counts.nbytes + self.ranges.nbytes


class StreamRecorder:
    """Records the calls of a run on ``state``; ``counts`` are the blocks' counters, the first four columns of which are
    accesses and bytes."""

    def __init__(self, state: MemoryState, counts: Counts) -> None:
        self._state, self._counts = state, counts[:, :4]
        self._events = np.empty(2 * MOST_EVENTS, np.int64)
        self._kept, self._film = KeptState(np.zeros(KeptState.WORDS, np.int64)), FilmState(_words(FilmState.WORDS))
        self._kept.events, self._kept.most, self._film.kept = Words(self._events), MOST_EVENTS, self._kept
        self._streams: list[KeptStream] = []

    @property
    def streams(self) -> KeptStreams | None:
        """Of all calls so far; None where something of them could not be written down."""
        return None if self._kept.failed else KeptStreams(self._streams)

    def call(self, action: Callable[[], object]) -> None:
        """Do ``action``, which makes a kernel's data accesses."""
        self._recorded(action)

    def maintain(self, action: Callable[[], int]) -> int:
        """Do ``action``, cache maintenance, and return its ticks."""
        return int(self._recorded(action))

    def _recorded(self, action: Callable[[], Any]) -> Any:
        state, kept, before = self._state, self._kept, self._counts.copy()
        hits, misses, writebacks = state.hits, state.misses, state.writebacks
        kept.count = kept.known = kept.filled = 0
        kept.mark = state.now
        state.film = self._film
        try:
            result = action()
        finally:
            state.zero(MemoryState.film, MemoryState.film)
        totals = state.hits - hits, state.misses - misses, state.writebacks - writebacks
        events, ranges = self._events[: 2 * kept.count].copy(), kept.ranges.table(1 << K.RANGE).copy()
        tail, counted = state.now - kept.mark, np.ascontiguousarray(self._counts - before)
        self._streams.append(KeptStream(events, ranges, tail, counted, totals))
        return result


class KeptStreams:
    """Those of a run, in their order; ``calls``: as native code plays them."""

    def __init__(self, streams: Sequence[KeptStream]) -> None:
        self._streams = streams
        self._words = np.zeros(max(1, len(streams)) * KeptCall.WORDS, np.int64)
        self.calls = KeptCalls(self._words)
        for number, stream in enumerate(streams):
            call = self.calls.records[number]
            call.events, call.count, call.tail = Words(stream.events), len(stream.events) // 2, stream.tail
            call.ranges.table(1 << K.RANGE)[:] = stream.ranges
            call.counts, call.blocks = Words(stream.counts.reshape(-1)), len(stream.counts)
            call.hits, call.misses, call.writebacks = stream.totals

    @property
    def bytes(self) -> int:
        """Of the host's memory."""
        return self._words.nbytes + sum(stream.bytes for stream in self._streams)


class StreamPlayer:
    """Plays the streams of a run, in their order, on ``state``."""

    def __init__(self, state: MemoryState, streams: KeptStreams) -> None:
        self._state, self._streams, self._next = state, streams, 0

    def call(self, action: Callable[[], object]) -> None:
        """In place of ``action``."""
        play.call(self._state, self._take())

    def maintain(self, action: Callable[[], int]) -> int:
        """In place of ``action``: its ticks."""
        return play.maintenance(self._state, self._take())

    def _take(self) -> KeptCall:
        self._next += 1
        return self._streams.calls.records[self._next - 1]


def _words(count: int) -> Counts:
    return np.zeros(count, np.int64)

"""The streams of a run, kept: what of a replay's accesses gets past the data cache, call by call.

A run is a sequence of kernel calls and cache maintenance, whose accesses depend on addresses, kernels and caches alone;
what they take depends on the devices too. Not modelled: several inferences in a row, and what :mod:`.record` does not
model.
"""

from __future__ import annotations

import numpy as np

from mcusim.memory.film.events import FilmState, KeptStreams
from mcusim.memory.kept_streams import layout as K
from mcusim.memory.kept_streams.layout import KeptCall, KeptCalls, KeptState
from mcusim.native.structs import Array, Words

MOST_EVENTS = 8 << 20
"""Of a run: 128 MiB."""


class Streams:
    """Those of a run of so many ``calls``, on a memory of so many ``blocks``, as native code records and plays them."""

    def __init__(self, calls: int, blocks: int) -> None:
        self._events = np.empty(2 * MOST_EVENTS, np.int64)  # what is not written takes no memory
        self._counts = _zeros(K.COUNTS * calls * blocks)
        self._calls = _zeros(calls * KeptCall.WORDS)
        self._kept, film = KeptState(_zeros(KeptState.WORDS)), FilmState(_zeros(FilmState.WORDS))
        self._kept.events, self._kept.most, film.kept = Words(self._events), MOST_EVENTS, self._kept
        self.state = KeptStreams(_zeros(KeptStreams.WORDS))
        self.state.events, self.state.counts = Words(self._events), Words(self._counts)
        self.state.calls, self.state.blocks, self.state.film = KeptCalls(self._calls), blocks, film
        self._film: FilmState | None = film  # which holds what pointers point at

    def finish(self) -> bool:
        """All calls were recorded; whether everything could be written down."""
        if self._kept.failed:
            return False
        self._events = self._events[: 2 * max(1, self._kept.count)].copy()
        self.state.events, self._film = Words(self._events), None
        self.state.zero(KeptStreams.film, KeptStreams.film)
        return True

    @property
    def recording(self) -> bool:
        """Whether they are being recorded yet."""
        return self._film is not None

    @property
    def bytes(self) -> int:
        """Of the host's memory."""
        return self._events.nbytes + self._counts.nbytes + self._calls.nbytes


def _zeros(count: int) -> Array:
    return np.zeros(max(1, count), np.int64)

"""Takes a film of a memory system: the events of a window, and what caches and rows were when it began.

An observer: the run takes the same cycles and moves the same bytes. Not modelled: what :mod:`mcusim.memory.film.record`
does not model; accesses that a replay makes at once to memory without state are one event.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.memory.film.events import FilmEvent, FilmEvents, FilmState
from mcusim.memory.state_layout import TICK, MemoryState
from mcusim.memory.system import MemorySystem
from mcusim.native.structs import Words

MOST_EVENTS = 400_000
Table = np.ndarray[Any, Any]


class FilmRecorder:
    """A film from cycle ``since`` to cycle ``until``; attached to a memory system before it runs.

    ``events`` are rows of a tick and of what :mod:`mcusim.memory.film.events` says, as they were made; ``begin`` is the
    state when the window began, None where nothing happened in it; ``lost`` the cycle from which on events found
    no room, None where all did.
    """

    def __init__(self, since: int, until: int, most: int = MOST_EVENTS) -> None:
        self.since, self.until = since, until
        self._most = most
        self._film = FilmState(np.zeros(FilmState.WORDS, np.int64))
        self._events = np.zeros((most, FilmEvent.WORDS), np.int64)
        self._copy: Table = np.zeros(0, np.int64)
        self._memory: MemorySystem | None = None

    def attach(self, memory: MemorySystem) -> None:
        """Begin to watch ``memory``."""
        state, film = memory.state.array, self._film
        self._memory, self._copy = memory, np.zeros_like(state)
        film.most, film.since, film.until = self._most, self.since * TICK, self.until * TICK
        film.state, film.copy, film.words = Words(state), Words(self._copy), len(state)
        film.events = FilmEvents(self._events.reshape(-1))
        memory.state.film = film

    def detach(self) -> None:
        """Watch no longer; what was recorded stays."""
        if self._memory is not None:
            self._memory.state.zero(MemoryState.film, MemoryState.film)

    @property
    def open_ticks(self) -> tuple[int, int]:
        """From when until when events are written down: to no tick once there is no more room."""
        return self.since * TICK, 0 if self._film.lost else self.until * TICK

    @property
    def memory(self) -> MemorySystem:
        """What is watched. Raises RuntimeError before :meth:`attach`."""
        if self._memory is None:
            raise RuntimeError("a film is of a memory system: attach one first")
        return self._memory

    @property
    def events(self) -> Table:
        return self._events[: self._film.count]

    @property
    def begin(self) -> MemoryState | None:
        return MemoryState(self._copy) if self._film.begun else None

    @property
    def lost(self) -> int | None:
        return self._film.lost_since // TICK if self._film.lost else None

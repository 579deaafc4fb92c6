"""Takes a film of a memory system: the events of a window, and what caches and rows were when it began.

An observer: the run takes the same cycles and moves the same bytes. Not modelled: what :mod:`mcusim.memory.film.record`
does not model; accesses that a replay makes at once to memory without state are one event.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.memory import state_layout as L
from mcusim.memory.film import record
from mcusim.memory.system import MemorySystem

MOST_EVENTS = 400_000
Words = np.ndarray[Any, Any]


class FilmRecorder:
    """A film from cycle ``since`` to cycle ``until``; attached to a memory system before it runs.

    ``events`` are rows of a tick and of what :mod:`mcusim.memory.film.record` says, as they were made; ``begin`` is the
    state array when the window began, None where nothing happened in it; ``lost`` the cycle from which on events found
    no room, None where all did.
    """

    def __init__(self, since: int, until: int, most: int = MOST_EVENTS) -> None:
        self.since, self.until = since, until
        self._most = most
        self._head = np.zeros(record.FILM, np.int64)
        self._events = np.zeros((most, record.EVENT), np.int64)
        self._copy: Words = np.zeros(0, np.int64)
        self._memory: MemorySystem | None = None

    def attach(self, memory: MemorySystem) -> None:
        """Begin to watch ``memory``."""
        state, head = memory.state, self._head
        self._memory, self._copy = memory, np.zeros_like(state)
        head[record.MOST], head[record.SINCE], head[record.UNTIL] = self._most, self.since * L.TICK, self.until * L.TICK
        head[record.STATE], head[record.COPY] = state.ctypes.data, self._copy.ctypes.data
        head[record.WORDS], head[record.EVENTS] = len(state), self._events.ctypes.data
        state[L.FILM] = head.ctypes.data

    def detach(self) -> None:
        """Watch no longer; what was recorded stays."""
        if self._memory is not None:
            self._memory.state[L.FILM] = 0

    @property
    def open_ticks(self) -> tuple[int, int]:
        """From when until when events are written down: to no tick once there is no more room."""
        return self.since * L.TICK, 0 if self._head[record.LOST] else self.until * L.TICK

    @property
    def memory(self) -> MemorySystem:
        """What is watched. Raises RuntimeError before :meth:`attach`."""
        if self._memory is None:
            raise RuntimeError("a film is of a memory system: attach one first")
        return self._memory

    @property
    def events(self) -> Words:
        return self._events[: self._head[record.COUNT]]

    @property
    def begin(self) -> Words | None:
        return self._copy if self._head[record.BEGUN] else None

    @property
    def lost(self) -> int | None:
        return int(self._head[record.LOST_AT]) // L.TICK if self._head[record.LOST] else None

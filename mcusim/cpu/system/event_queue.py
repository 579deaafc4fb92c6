"""What the host does at given cycles of the emulated core: one deadline for the native hooks, callbacks in Python.

Not modelled: events within a basic block; one that is due is run before the next block.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count

from mcusim.cpu.state_layout import CoreState
from mcusim.cpu.system.exception_layout import NEVER
from mcusim.errors import UsageError
from mcusim.memory.state_layout import TICK, MemoryState


class QueuedEvent:
    """One callback to come; :meth:`cancel` takes it back."""

    def __init__(self, cycle: int, callback: Callable[[], object]) -> None:
        self.cycle = cycle
        self.callback = callback
        self.cancelled = False

    def cancel(self) -> None:
        """Do not call it."""
        self.cancelled = True


class EventQueue:
    """Events by cycle, those of one cycle in the order in which they were entered."""

    def __init__(self, core: CoreState, memory: MemoryState) -> None:
        self._core, self._memory = core, memory
        self._heap: list[tuple[int, int, QueuedEvent]] = []
        self._order = count()
        self._due: int | None = None  # the cycle whose event runs
        core.event_due = NEVER

    @property
    def now(self) -> int:
        """Ticks: of the event that runs when it was due, else the core's clock."""
        return self._memory.now if self._due is None else self._due * TICK

    def at(self, cycle: int, callback: Callable[[], object]) -> QueuedEvent:
        """Call ``callback`` before the first block that begins at or after ``cycle``; a past one is due at once.

        Raises UsageError for a cycle below 0.
        """
        if cycle < 0:
            raise UsageError(f"an event at cycle {cycle}: cycles count from 0")
        event = QueuedEvent(cycle, callback)
        heappush(self._heap, (cycle, next(self._order), event))
        self._schedule()
        return event

    def run(self) -> None:
        """Call all that is due by now."""
        now = self._memory.now
        while self._heap and self._heap[0][0] * TICK <= now:
            event = heappop(self._heap)[2]
            if not event.cancelled:
                self._due = event.cycle
                try:
                    event.callback()
                finally:
                    self._due = None
        self._schedule()

    def _schedule(self) -> None:
        while self._heap and self._heap[0][2].cancelled:
            heappop(self._heap)
        self._core.event_due = self._heap[0][0] * TICK if self._heap else NEVER
        self._core.horizon = 0

"""One copy between memories, in flight in the memory system: how far it is, and when it may have something to say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcusim.machine.description import Dma
from mcusim.memory.state_builder import WritingSide
from mcusim.soc.dma.wiring import Wiring


@dataclass(frozen=True, slots=True)
class CopyOrder:
    """``units`` of ``dma.beat`` bytes from ``source`` to ``target``; ``side`` is how they are written."""

    dma: Dma
    side: WritingSide
    source: int
    target: int
    units: int
    priority: int


class Copy:
    """An order under way from now on. ``changed`` is called when its half or its end may have been reached.

    It ends with an error at the first byte that the DMA does not reach. Not modelled: the time of the access that
    fails, and reads that were ahead of it.
    """

    def __init__(self, order: CopyOrder, wiring: Wiring, changed: Callable[[], None]) -> None:
        self._memory, self._host, self._reach, self._changed = wiring.memory, wiring.host, wiring.reach, changed
        memory, host = self._memory, self._host
        self.order, self.unit = order, order.dma.beat
        self.size = order.units * self.unit
        self.begin = host.cycles
        self.end: int | None = None
        self._allowed = self._within()
        self.failed = self._allowed < self.size
        self._lost = 0  # bytes that a stop left unread
        self._handle = -1
        if self._allowed:
            self._handle = memory.begin_transfer(
                order.dma, 0, order.source, order.target, self._allowed, order.priority, host.cycles, side=order.side
            )
            memory.advance(host.cycles)
            self._wait()
        else:
            self.end = host.cycles

    def _within(self) -> int:
        """How many bytes there are to move before an access fails."""
        order = self.order
        allowed = self.size
        for address, moves, beat, write in (
            (order.source, order.side.source_moves, self.unit, False),
            (order.target, order.side.moves, order.side.beat, True),
        ):
            there = self._reach(address, self.size if moves else beat, write)
            if moves:
                allowed = min(allowed, there - there % self.unit)
            elif there < beat:
                allowed = 0
        return allowed

    def _left(self) -> tuple[int, int]:
        return self._memory.progress(self._handle) if self.end is None else (0, 0)

    @property
    def moved(self) -> int:
        """Bytes written so far."""
        return self._allowed - self._lost - self._left()[1]

    def progress(self) -> tuple[int, int]:
        """Bytes read and bytes written so far."""
        if self.end is None:
            self._memory.advance(self._host.cycles)
        return self._allowed - self._lost - self._left()[0], self.moved

    @property
    def units_left(self) -> int:
        """Units that are still to be read: what NDTR says."""
        unread = self._left()[0] + self.size - self._allowed + self._lost
        return -(-unread // self.unit)

    @property
    def half(self) -> bool:
        """Whether half of the units have been written."""
        return self.moved >= self._first_half

    @property
    def _first_half(self) -> int:
        return self.size // self.unit // 2 * self.unit

    def update(self) -> bool:
        """Whether it has ended by now."""
        if self.end is None:
            self._memory.advance(self._host.cycles)
            self.end = self._memory.finished(self._handle)
        return self.end is not None

    def stop(self) -> None:
        """Read no more; what the FIFO has is written."""
        if not self.update():
            self._lost = self._left()[0]
            self._memory.stop_transfer(self._handle, self._host.cycles)
            self._wait()

    def _wait(self) -> None:
        cycle = self._host.cycles
        due = self._memory.earliest_end(self._handle, cycle)
        if not self.half:
            due = min(due, self._memory.earliest_mark(self._handle, self._allowed - self._first_half, cycle))
        self._host.at(due, self._look)

    def _look(self) -> None:
        if self.end is None:
            self._changed()
        if self.end is None:
            self._wait()

"""Which DMA transfers ran: a record of each from its enabling on, and calls to whoever watches them.

Not modelled: anything of the memories; a record says what its registers asked for, not what the bytes were.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

Direction = Literal["memory to memory", "peripheral to memory", "memory to peripheral"]
Outcome = Literal["running", "complete", "error", "stopped"]
Event = Literal["start", "half", "complete", "error", "stop"]
MOST = 1 << 18  # records that are kept


@dataclass(slots=True)
class LoggedTransfer:
    """What one store that enabled a stream or channel made it do.

    ``source`` and ``target`` are first addresses, ``reads`` and ``writes`` the ranges (first address, end) that it may
    touch; ``unit`` and ``target_unit`` bytes of one access of either side, ``size`` bytes in all (of one round when
    ``circular``). ``registers``: the stream's own when it was enabled; ``pc``: of that store. ``begin`` and ``end``:
    core cycles, ``end`` None while it runs. ``irq``: the stream's interrupt line, -1 where none is known. ``moved``:
    bytes written by its end, of all ``rounds``. ``flags``: those that were set at its end.
    """

    number: int
    controller: str
    stream: int
    direction: Direction
    source: int
    target: int
    reads: tuple[tuple[int, int], ...]
    writes: tuple[tuple[int, int], ...]
    unit: int
    target_unit: int
    units: int
    priority: int
    circular: bool
    registers: Mapping[str, int]
    pc: int
    begin: int
    irq: int = -1
    end: int | None = None
    moved: int = 0
    rounds: int = 0
    flags: tuple[str, ...] = ()
    outcome: Outcome = "running"
    live: Callable[[], tuple[int, int]] | None = field(default=None, repr=False, compare=False)

    @property
    def size(self) -> int:
        """Bytes asked for."""
        return self.unit * self.units

    def progress(self) -> tuple[int, int]:
        """Bytes read and bytes written so far."""
        return (self.moved, self.moved) if self.live is None else self.live()


class DmaLog:
    """``transfers``: in the order in which they were enabled, the first of very many; ``left_out``: the number of
    those that are not kept. Watchers are called for all of them."""

    def __init__(self) -> None:
        self.transfers: list[LoggedTransfer] = []
        self.left_out = 0
        self._running: dict[int, LoggedTransfer] = {}
        self._watchers: list[Callable[[Event, LoggedTransfer], object]] = []

    @property
    def running(self) -> list[LoggedTransfer]:
        """Those that are under way."""
        return list(self._running.values())

    def watch(self, callback: Callable[[Event, LoggedTransfer], object]) -> None:
        """Call ``callback`` with an event's name and the record at each start, half, end of a round, error and stop."""
        self._watchers.append(callback)

    def begin(self, transfer: LoggedTransfer) -> None:
        """A stream was enabled."""
        transfer.number = len(self.transfers) + self.left_out
        if len(self.transfers) < MOST:
            self.transfers.append(transfer)
        else:
            self.left_out += 1
        self._running[transfer.number] = transfer
        self.report("start", transfer)

    def report(self, event: Event, transfer: LoggedTransfer) -> None:
        """``event`` has come to pass."""
        for callback in self._watchers:
            callback(event, transfer)

    def end(self, transfer: LoggedTransfer, cycle: int, outcome: Outcome, moved: int, flags: tuple[str, ...]) -> None:
        """It has ended at ``cycle``."""
        transfer.end, transfer.outcome, transfer.moved, transfer.flags = cycle, outcome, moved, flags
        transfer.live = None
        self._running.pop(transfer.number, None)
        events: dict[Outcome, Event] = {"complete": "complete", "error": "error", "stopped": "stop"}
        self.report(events[outcome], transfer)

"""What streams and channels have in common: flags and their interrupt, counts, and the records of what they moved."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import ClassVar

from mcusim.soc.dma.copy import Copy
from mcusim.soc.dma.dma_log import LoggedTransfer, Outcome
from mcusim.soc.dma.request_driven import PacedTransfer
from mcusim.soc.dma.wiring import Wiring


class DmaLane:
    """One stream or channel. ``names``: its flags by name; ``enabled``: those that may interrupt the core."""

    names: ClassVar[Mapping[str, int]] = {}

    def __init__(self, wiring: Wiring) -> None:
        self._wiring = wiring
        self._memory, self._host, self._log = wiring.memory, wiring.host, wiring.log
        self._record: LoggedTransfer | None = None  # of what is under way
        self._line = False
        self.flags = 0
        self.stale = 0  # flags that were set when it was enabled last, and have not been cleared since
        self.transfers, self.bytes = 0, 0  # ended, and moved by them
        self.last = (0, 0)  # cycles at which the last copy began and ended

    @property
    def number(self) -> int:
        """Its own among those of the controller, as the manual has it."""
        return self._wiring.number

    @property
    def irq(self) -> int:
        """Its interrupt line."""
        return self._wiring.irq

    @property
    def enabled(self) -> int:
        """The flags that may interrupt the core."""
        raise NotImplementedError

    @property
    def under_way(self) -> bool:
        """Whether something is in flight, or waits for requests."""
        raise NotImplementedError

    def update(self) -> None:
        """Bring flags and registers to the present."""
        raise NotImplementedError

    def reset(self) -> None:
        """As after a reset; what is in flight is written to its end first."""
        raise NotImplementedError

    def request(self) -> None:
        """A peripheral may have a request for it."""

    def clear(self, flags: int) -> None:
        """Flags that firmware clears."""
        self.flags &= ~flags
        self.stale &= ~flags
        self._signal()

    def _signal(self) -> None:
        """The interrupt line follows the flags that are enabled."""
        active = bool(self.flags & self.enabled)
        if active != self._line:
            self._line = active
            change: Callable[[int], None] = self._host.raise_line if active else self._host.lower_line
            change(self._wiring.irq)

    def _open(self, record: LoggedTransfer) -> None:
        self._record, self.stale = record, self.flags
        self._log.begin(record)

    def _half(self) -> None:
        if self._record is not None:
            self._log.report("half", self._record)

    def _round(self) -> None:
        """A round of a circular transfer has ended, and the next one has begun."""
        if self._record is not None:
            self._record.rounds += 1
            self._log.report("complete", self._record)

    def _close(self, cycle: int, outcome: Outcome, moved: int) -> None:
        record, self._record = self._record, None
        if record is not None:
            record.rounds += outcome == "complete"
            flags = tuple(name for name, flag in self.names.items() if self.flags & flag)
            self._log.end(record, cycle, outcome, moved, flags)


class StreamLane(DmaLane):
    """A lane with one copy, or one transfer by requests, under way at a time."""

    def __init__(self, wiring: Wiring) -> None:
        super().__init__(wiring)
        self._copy: Copy | None = None
        self._paced: PacedTransfer | None = None
        self._half_due = self._stopped = False

    @property
    def under_way(self) -> bool:
        """Whether something is in flight, or waits for requests."""
        return self._copy is not None or self._paced is not None

    def request(self) -> None:
        """A peripheral may have a request for it."""
        if self._paced is not None:
            self._paced.serve()

    def update(self) -> None:
        """Bring flags and registers to the present."""
        copy = self._copy
        if copy is None:
            return
        ended = copy.update()
        if self._half_due and copy.half:
            self._half_due = False
            self.flags |= self.names["HTIF"]
            self._half()
        if ended:
            self._copy, self._half_due = None, False
            self.last = copy.begin, copy.begin if copy.end is None else copy.end
            self._copied(copy)
        self._signal()

    def _copied(self, copy: Copy) -> None:
        """``copy`` has ended."""
        raise NotImplementedError

    def _any_register(self, *addresses: int) -> bool:
        """Whether a copy has a peripheral's register as a side."""
        return any(self._host.answers(address) for address in addresses)

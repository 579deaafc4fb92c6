"""A transfer a unit at a time, each for a request: between memory and a peripheral; or for none, from one memory to
another by units of different sizes, and where a copy has a register for a side.

Each unit takes both ports' times of the controller from its request on. Towards memory a FIFO that is used keeps the
bytes until its threshold is reached, or the transfer ends. In circular mode it begins again and again, in double-buffer
mode with the other memory address each time. Where nothing is packed, a unit is cut or filled with zeros on the other
side.

Not modelled: units read ahead from memory into the FIFO, bursts on either side (a request moves one unit), the
arbitration of streams whose requests come at the same moment, and waits for a memory that others use.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from mcusim.memory.dma.transfer_units import read_unit, write_unit
from mcusim.soc.dma.host import RequestLine
from mcusim.soc.dma.wiring import Wiring

PacedEvent = Literal["half", "complete", "error", "overrun"]


@dataclass(frozen=True, slots=True)
class Side:
    """Bytes of a unit, and from one address to the next; ``cycles`` of one access with its arbitration."""

    size: int
    step: int
    cycles: int


@dataclass(frozen=True, slots=True)
class PacedOrder:
    """``units`` of the peripheral's side between ``peripheral`` and each of ``memories`` in turn, which begins with
    number ``current``; ``out``: from memory. ``threshold``: bytes of the FIFO at which they are written; 0: every unit
    at once. ``packs``: bytes are packed into units of the other side. ``alone``: a request that comes before the unit
    in hand is written is an overrun (direct mode, an address in memory that stays)."""

    out: bool
    peripheral: int
    memories: tuple[int, ...]
    current: int
    units: int
    near: Side  # the peripheral's
    far: Side  # memory's
    circular: bool = False
    threshold: int = 0
    packs: bool = True
    alone: bool = False


class _Always:
    """The request line of what waits for nobody."""

    active = True

    def dma_ack(self) -> None:
        """There is the next one."""


ALWAYS = _Always()


class PacedTransfer:
    """An order under way. ``report`` gets "half" and "complete" at each half and end, "error" when it ends by one.

    ``target`` says with which memory address it is at work: CT.
    """

    def __init__(
        self, order: PacedOrder, line: RequestLine, wiring: Wiring, report: Callable[[PacedEvent], None]
    ) -> None:
        self._order, self._line, self._report = order, line, report
        self._memory, self._host, self._reach = wiring.memory, wiring.host, wiring.reach
        self.target, self.units_left = order.current, order.units
        self.moved, self.counted = 0, 0  # bytes so far, and up to the last report
        self.memories = list(order.memories)
        self.ended = self.failed_writing = False
        self._at = 0  # bytes from the beginning of this round's memory
        self._fifo = b""
        self._under_way = self._in_hand = False

    def serve(self) -> None:
        """The peripheral may have a request."""
        if self.ended or not self._line.active:
            return
        if not self._under_way:
            self._under_way = True
            order = self._order
            both = order.near.cycles + (0 if order.alone else order.far.cycles)
            self._host.at(self._host.cycles + max(1, both), self._unit)
        elif self._in_hand:
            self._report("overrun")

    def progress(self) -> tuple[int, int]:
        """Bytes read and bytes written so far."""
        return self.moved, self.moved - len(self._fifo)

    def stop(self) -> None:
        """No further unit; what the FIFO has is written."""
        if not self.ended and self._flush():
            self.ended = True
            self._report("complete")

    def fail(self) -> None:
        """End it with an error."""
        if not self.ended:
            self._fail(False)

    def _unit(self) -> None:
        self._under_way = False
        if self.ended or not self._line.active:
            return
        if self._order.alone:
            if self._take():
                self._under_way = self._in_hand = True
                self._host.at(self._host.cycles + max(1, self._order.far.cycles), self._written)
        elif self._sent() if self._order.out else self._received():
            self._count()
            self.serve()

    def _written(self) -> None:
        """The unit in hand is in memory."""
        self._under_way = self._in_hand = False
        if not self.ended and self._flush():
            self._count()
            self.serve()

    def _count(self) -> None:
        order = self._order
        self.units_left -= 1
        self.moved += order.near.size
        if self.units_left == 0 and not self._flush():
            return
        if self.units_left == order.units - order.units // 2 and order.units > 1:
            self._report("half")
        if self.units_left:
            return
        self.ended = not order.circular
        if not self.ended:
            self.units_left, self._at = order.units, 0
            self.target = (self.target + 1) % len(self.memories)
        self._report("complete")

    def _sent(self) -> bool:
        order = self._order
        size = order.near.size if order.packs else order.far.size
        unit = self._get(self._place(size), size)
        if unit is None:
            return self._fail(False)
        self._advance(size)
        if not self._put(self._peripheral(), unit.ljust(order.near.size, b"\0")[: order.near.size]):
            return self._fail(True)
        self._line.dma_ack()
        return True

    def _received(self) -> bool:
        order = self._order
        if not self._take():
            return False
        return True if order.threshold and len(self._fifo) < order.threshold else self._flush()

    def _take(self) -> bool:
        """A unit of the peripheral's goes into the FIFO."""
        order = self._order
        unit = self._get(self._peripheral(), order.near.size)
        if unit is None:
            return self._fail(False)
        self._line.dma_ack()
        self._fifo += unit if order.packs else unit.ljust(order.far.size, b"\0")[: order.far.size]
        return True

    def _peripheral(self) -> int:
        return self._order.peripheral + (self._order.units - self.units_left) * self._order.near.step

    def _get(self, address: int, size: int) -> bytes | None:
        """What memory or a peripheral has there; None where neither is."""
        if self._reach(address, size, False) == size:
            if self._memory.on_unit is not None:
                self._memory.on_unit(address, size, False)
            return read_unit(self._memory.state, address, size)
        if not self._host.answers(address):
            return None
        return (self._host.load(address, size) & (1 << 8 * size) - 1).to_bytes(size, "little")

    def _put(self, address: int, unit: bytes) -> bool:
        """Write to memory or a peripheral; False where neither is."""
        if self._reach(address, len(unit), True) == len(unit):
            if self._memory.on_unit is not None:
                self._memory.on_unit(address, len(unit), True)
            write_unit(self._memory.state, address, unit)
        elif self._host.answers(address):
            self._host.store(address, len(unit), int.from_bytes(unit, "little"))
        else:
            return False
        return True

    def _flush(self) -> bool:
        """Write what the FIFO has, unit by unit; False after an error."""
        while self._fifo:
            size = min(self._order.far.size, len(self._fifo))
            if not self._put(self._place(size), self._fifo[:size]):
                return self._fail(True)
            self._fifo = self._fifo[size:]
            self._advance(size)
        return True

    def _advance(self, size: int) -> None:
        """Memory gave or got ``size`` bytes, perhaps not a whole unit of its own."""
        far = self._order.far
        self._at += size if far.step == far.size and self._order.packs else far.step

    def _place(self, size: int) -> int:
        """Where the next unit is in memory."""
        return (self.memories[self.target] & -size) + self._at

    def _fail(self, writing: bool) -> bool:
        self.ended, self.failed_writing = True, writing
        self._report("error")
        return False

"""A transfer between memory and a peripheral, a unit for each request of the peripheral.

Each unit takes both ports' times of the controller from its request on. Towards memory a FIFO that is used keeps the
bytes until its threshold is reached, or the transfer ends. In circular mode it begins again and again, in double-buffer
mode with the other memory address each time.

Not modelled: units read ahead from memory into the FIFO, bursts on either side (a request moves one unit), the
arbitration of streams whose requests come at the same moment, PFCTRL.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mcusim.cpu.dma import stream_registers as R
from mcusim.cpu.dma.host import RequestLine
from mcusim.cpu.dma.wiring import Wiring
from mcusim.memory.dma.units import read_unit, write_unit

__all__ = ["PacedOrder", "PacedTransfer"]


@dataclass(frozen=True, slots=True)
class PacedOrder:
    """``units`` of the peripheral's size between the register at ``peripheral`` and each of ``memories`` in turn, which
    begins with number ``current``; a unit takes ``cycles``."""

    setting: R.Setting
    peripheral: int
    memories: tuple[int, ...]
    current: int
    units: int
    cycles: int


class PacedTransfer:
    """An order under way. ``report`` gets HALF and COMPLETE at each half and end, ERROR when it ends by one.

    ``target`` says with which memory address it is at work: CT.
    """

    def __init__(self, order: PacedOrder, line: RequestLine, wiring: Wiring, report: Callable[[int], None]) -> None:
        self._order, self._line, self._report = order, line, report
        self._memory, self._host, self._reach = wiring.memory, wiring.host, wiring.reach
        self.target, self.units_left = order.current, order.units
        self.moved, self.counted = 0, 0  # bytes so far, and up to the last report
        self.memories = list(order.memories)
        self.ended = False
        self._at = 0  # bytes of this round that memory has given or got
        self._fifo = b""
        self._under_way = False

    def serve(self) -> None:
        """The peripheral may have a request."""
        if not self._under_way and not self.ended and self._line.active:
            self._under_way = True
            self._host.at(self._host.cycles + self._order.cycles, self._unit)

    def progress(self) -> tuple[int, int]:
        """Bytes read and bytes written so far."""
        return self.moved, self.moved - len(self._fifo)

    def stop(self) -> None:
        """No further unit; what the FIFO has is written."""
        if not self.ended and self._flush():
            self.ended = True
            self._report(R.COMPLETE)

    def _unit(self) -> None:
        self._under_way = False
        if self.ended or not self._line.active:
            return
        moved = self._sent() if self._order.setting.direction == R.MEMORY_TO_PERIPHERAL else self._received()
        if moved:
            self._count()
            self.serve()

    def _count(self) -> None:
        order = self._order
        self.units_left -= 1
        self.moved += order.setting.peripheral_size
        if self.units_left == 0 and not self._flush():
            return
        if self.units_left == order.units - order.units // 2 and order.units > 1:
            self._report(R.HALF)
        if self.units_left:
            return
        self.ended = not order.setting.circular
        if not self.ended:
            self.units_left, self._at = order.units, 0
            self.target = (self.target + 1) % len(self.memories)
        self._report(R.COMPLETE)

    def _sent(self) -> bool:
        size = self._order.setting.peripheral_size
        address = self._place(size)
        if self._reach(address, size, False) < size:
            return self._fail()
        unit = read_unit(self._memory.state, address, size)
        self._at += size
        self._host.store(self._order.peripheral, size, int.from_bytes(unit, "little"))
        return True

    def _received(self) -> bool:
        setting = self._order.setting
        size = setting.peripheral_size
        word = self._host.load(self._order.peripheral, size)
        self._fifo += (word & (1 << 8 * size) - 1).to_bytes(size, "little")
        return self._flush() if setting.direct or len(self._fifo) >= setting.threshold else True

    def _flush(self) -> bool:
        """Write what the FIFO has, unit by unit; False after an error."""
        while self._fifo:
            size = min(self._order.setting.memory_size, len(self._fifo))
            address = self._place(size)
            if self._reach(address, size, True) < size:
                return self._fail()
            write_unit(self._memory.state, address, self._fifo[:size])
            self._fifo, self._at = self._fifo[size:], self._at + size
        return True

    def _place(self, size: int) -> int:
        """Where the next unit is in memory."""
        base = self.memories[self.target] & -size
        return base + (self._at if self._order.setting.memory_moves else 0)

    def _fail(self) -> bool:
        self.ended = True
        self._report(R.ERROR)
        return False

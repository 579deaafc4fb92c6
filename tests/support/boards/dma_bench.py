"""A DMA controller's registers next to a clock that the test moves: no core runs."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from functools import partial
from itertools import count

from mcusim.emulator.emulator import Emulator
from mcusim.machine import Machine, load_machine
from mcusim.soc.dma.dma_log import DmaLog
from mcusim.soc.dma.reach import reached
from mcusim.soc.dma.streams.stream_controller import StreamController
from mcusim.soc.dma.wiring import Wiring

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
LISR, HISR, LIFCR, HIFCR = 0, 4, 8, 12
CR, NDTR, PAR, M0AR, M1AR, FCR = range(0, 24, 4)
EN, DMEIE, TEIE, HTIE, TCIE = 1, 2, 4, 8, 16
M2M, M2P, PINC, MINC = 2 << 6, 1 << 6, 1 << 9, 1 << 10
FEIF, DMEIF, TEIF, HTIF, TCIF = 1, 4, 8, 16, 32


def stream(number: int, register: int) -> int:
    """The offset of a stream's register."""
    return 0x10 + 0x18 * number + register


def sizes(peripheral: int, memory: int, pburst: int = 1, mburst: int = 1) -> int:
    """CR's fields of beats of so many bytes and bursts of so many beats."""
    bursts = {1: 0, 4: 1, 8: 2, 16: 3}
    beats = {1: 0, 2: 1, 4: 2}
    return beats[peripheral] << 11 | beats[memory] << 13 | bursts[pburst] << 21 | bursts[mburst] << 23


class Line:
    """A peripheral that asks for ``asked`` more units."""

    asked = 0

    @property
    def active(self) -> bool:
        return self.asked > 0

    def dma_ack(self) -> None:
        """What asks was served."""


class Bench:
    """``now`` is the clock; events are served when it passes them, interrupt lines are kept in ``lines``."""

    def __init__(self, machine: str | Machine = F746, controller: str = "dma2") -> None:
        self.machine = load_machine(machine) if isinstance(machine, str) else machine
        self.emulator = Emulator(self.machine)
        self.now, self.lines = 0, set[int]()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._number = count()
        self.line, self.register = Line(), bytearray(b"peripheral " * 4)
        self.sent: list[int] = []
        self.log = DmaLog()
        self.findings: list[str] = []
        self.dma = StreamController(controller.upper(), 0, [self.wiring(controller, n) for n in range(8)])

    def wiring(self, controller: str, n: int) -> Wiring:
        """Stream ``n``, whose channel 4 is this bench's line."""
        first = {"dma1": (11, 12, 13, 14, 15, 16, 17, 47), "dma2": (56, 57, 58, 59, 60, 68, 69, 70)}
        dma, memory, reach = self.machine.dma["dma2"], self.emulator.memory, partial(reached, self.machine)
        copies, irq = controller == "dma2", first[controller][n]
        line = {4: self.line}.get
        return Wiring(controller.upper(), n, irq, dma, copies, memory, self, self.log, reach, line)

    def warn(self, text: str) -> None:
        self.findings.append(text)

    @property
    def cycles(self) -> int:
        return self.now

    @property
    def pc(self) -> int:
        return 0x0800_1234

    @property
    def clock(self) -> int:
        return self.machine.core.clock

    def output(self, data: bytes) -> None:
        raise AssertionError("a DMA controller prints nothing")

    def at(self, cycle: int, callback: Callable[[], None]) -> None:
        assert cycle > self.now, "an event in the past"
        heapq.heappush(self._events, (cycle, next(self._number), callback))

    def raise_line(self, irq: int) -> None:
        self.lines.add(irq)

    def lower_line(self, irq: int) -> None:
        self.lines.remove(irq)

    def answers(self, address: int) -> bool:
        return address >= 0x4000_0000

    def load(self, address: int, size: int) -> int:
        """The peripheral's register: the next of its bytes."""
        self.line.asked -= 1
        found = int.from_bytes(self.register[:size], "little")
        del self.register[:size]
        return found

    def store(self, address: int, size: int, value: int) -> None:
        self.line.asked -= 1
        self.sent.append(value)

    def ask(self, times: int = 1, apart: int = 200) -> None:
        """So many requests, ``apart`` cycles from one to the next."""
        for _ in range(times):
            self.line.asked += 1
            self.dma.serve()
            self.run(self.now + apart)

    def run(self, until: int) -> None:
        """Serve the events up to cycle ``until``."""
        while self._events and self._events[0][0] <= until:
            self.now, _, callback = heapq.heappop(self._events)
            callback()
        self.now = until

    def run_until_raised(self, irq: int) -> int:
        """The cycle at which the line becomes active."""
        while irq not in self.lines:
            self.now, _, callback = heapq.heappop(self._events)
            callback()
        return self.now

    def set(self, number: int, register: int, value: int) -> None:
        self.dma.write(stream(number, register), 4, value)

    def get(self, number: int, register: int) -> int:
        return self.dma.read(stream(number, register), 4)

    def flags(self, number: int) -> int:
        return self.dma.read(4 * (number // 4), 4) >> (0, 6, 16, 22)[number % 4] & 0x3D

    def clear(self, number: int, flags: int = 0x3D) -> None:
        self.dma.write(LIFCR + 4 * (number // 4), 4, flags << (0, 6, 16, 22)[number % 4])

    def copy(self, number: int, source: int, target: int, units: int, cr: int = 0, fcr: int = 0x21) -> None:
        """Set a stream up for a copy between memories and enable it."""
        for register, value in ((PAR, source), (M0AR, target), (NDTR, units), (FCR, fcr)):
            self.set(number, register, value)
        self.set(number, CR, M2M | PINC | MINC | cr)
        self.set(number, CR, M2M | PINC | MINC | cr | EN)

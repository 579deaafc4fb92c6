"""A board whose DMA registers a test loads and stores itself, next to a clock that it moves: no core runs."""

from __future__ import annotations

from dataclasses import replace

from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.state_builder import WritingSide
from mcusim.memory.system import MemorySystem

L4R5, H743 = "nucleo-l4r5zi", "nucleo-h743zi"


class DmaMachine:
    """``lines``: the interrupt requests that are active; ``printed``: what went to the terminal."""

    def __init__(self, board: str) -> None:
        self.printed: list[bytes] = []
        self.machine = load_machine(board)
        self.emulator = Emulator(self.machine, self.printed.append)
        self.lines = set[int]()
        self.emulator.peripherals.raise_line = self.lines.add  # type: ignore[method-assign]
        self.emulator.peripherals.lower_line = self.lines.discard  # type: ignore[method-assign]

    @property
    def now(self) -> int:
        return self.emulator.cycles

    def store(self, address: int, value: int, size: int = 4) -> None:
        self.emulator.peripherals.store(address, size, value)

    def load(self, address: int) -> int:
        return self.emulator.peripherals.load(address, 4)

    def run(self, until: int) -> None:
        """Serve every event up to cycle ``until`` when it is due."""
        state, events = self.emulator.memory.state, self.emulator.events
        while (due := int(events._core.event_due)) <= until * L.TICK:
            state.now = max(int(state.now), due)
            events.run()
        state.now = until * L.TICK

    def until_raised(self, irq: int, at_most: int = 10_000_000) -> int:
        """The cycle at which the line becomes active."""
        state, events = self.emulator.memory.state, self.emulator.events
        while irq not in self.lines:
            due = int(events._core.event_due)
            assert due <= at_most * L.TICK, "no event raises the line"
            state.now = max(int(state.now), due)
            events.run()
        return self.now

    def alone(self, name: str, source: int, target: int, size: int, beat: int) -> int:
        """Cycles of the same transfer, undisturbed, with the times that the controller ``name`` has."""
        stream = next(one for one in self.emulator.dma if one.name == name).streams[0]
        dma = stream._wiring.dma
        times = replace(dma, name=next(iter(self.machine.dma)), beat=beat, burst=1)
        ticks = MemorySystem(self.machine).transfer(times, source, target, size, WritingSide(beat, 1))
        return -(-ticks // L.TICK)

"""Single accesses of an emulated core, in whole core cycles."""

from __future__ import annotations

from mcusim.cpu.system.memory_attributes import memory_ranges
from mcusim.cpu.system.mpu import Mpu
from mcusim.machine import Machine, load_machine
from mcusim.memory.ports import core_data
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import TICK, AddressRange
from mcusim.memory.system import MemorySystem

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
SDCLK = 2  # core cycles per SDRAM clock on both boards


def board(name: str, **keys: str) -> Machine:
    """The board with a refresh of SDRAM every millisecond only, nothing read ahead; ``__`` in a key means a dot."""
    quiet = {"memory.sdram.timing.refresh": "1 ms", "memory.sdram.write_overhead": "7 cycles"}
    quiet |= {"memory.sdram.read_overhead": "6 cycles", "memory.sdram.read_burst": "false"}
    return load_machine(name, quiet | {key.replace("__", "."): value for key, value in keys.items()})


class Core:
    """The port of one core; every call returns the stall in cycles."""

    def __init__(self, machine: Machine, mpu: Mpu | None = None) -> None:
        self.memory = MemorySystem(machine)
        self.memory.install_ranges(memory_ranges(machine, mpu))
        self.state = self.memory.state

    def load(self, address: int, size: int = 4) -> int:
        return core_data.load(self.state, self._range(address), address, size) // TICK

    def store(self, address: int, size: int = 4) -> int:
        return core_data.store(self.state, self._range(address), address, size) // TICK

    def _range(self, address: int) -> AddressRange:
        return AddressRange(self.state, find(self.state, address))

    def fetch(self, address: int, size: int, work: int = 0) -> int:
        """The stall of one block; its ``work`` cycles pass too."""
        stall = int(core_data.fetch_while(self.state, address, size, (work * TICK << 16) // size)) // TICK
        self.wait(work)
        return stall

    def wait(self, cycles: int) -> None:
        self.state.now += cycles * TICK

    @property
    def now(self) -> int:
        return self.state.now // TICK

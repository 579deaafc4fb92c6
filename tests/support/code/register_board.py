"""A board that runs a few instructions at a time, for tests of registers and of code in RAM."""

from __future__ import annotations

import pytest

from mcusim.emulator.emulator import Emulator
from tests.support.code import random_thumb as guest
from tests.support.code.system_code import code

ISAS = ("cortex-m4", "cortex-m7")
both = pytest.mark.parametrize("isa", ISAS)
PEEK, POKE, PUT_BYTE, PROGRAM = (guest.FLASH + at for at in (0x100, 0x120, 0x140, 0x200))
RAM, SDRAM = guest.RAM, 0x6000_0000


class Board:
    """An emulator that runs a few instructions at a time."""

    def __init__(self, isa: str, caches: bool = True) -> None:
        self.printed: list[bytes] = []
        self.emulator = Emulator(guest.MACHINES[isa], self.printed.append, caches)
        self.emulator.set_stack(guest.STACK, 0)
        self.emulator.write(PEEK, code("ldr r0, [r0]; bx lr"))
        self.emulator.write(POKE, code("str r1, [r0]; dsb; isb; bx lr"))
        self.emulator.write(PUT_BYTE, code("strb r1, [r0]; bx lr"))

    def call(self, address: int, *arguments: int) -> int:
        self.emulator.call(address, arguments)
        stop = self.emulator.run(100_000)
        assert stop.kind == "returned", stop
        return self.emulator.registers()["r0"]

    def peek(self, address: int) -> int:
        return self.call(PEEK, address)

    def poke(self, address: int, value: int) -> None:
        self.call(POKE, address, value)

    def counters(self) -> tuple[int, int, int]:
        """Data cache hits and misses; lines written back."""
        found = self.emulator.memory.counters()
        return found["dcache_hits"], found["dcache_misses"], found["dcache_writebacks"]

    def run(self, program: bytes, *arguments: int) -> int:
        self.emulator.write(PROGRAM, program)
        return self.call(PROGRAM, *arguments)

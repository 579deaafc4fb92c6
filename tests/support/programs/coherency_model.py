"""An independent model of a data cache that holds data, and a board whose core and DMA do the same things."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from mcusim.emulator.emulator import Emulator
from mcusim.emulator.stops.stop import Stop
from mcusim.machine import Machine
from mcusim.memory import state_layout as L
from mcusim.memory.address_ranges import Range

UNCACHED, THROUGH, BACK, NO_ALLOCATE = "uncached", "write-through", "write-back", "write-back, no allocation"
ATTRIBUTES = {UNCACHED: (0, False), THROUGH: (1, False), BACK: (2, True), NO_ALLOCATE: (2, False)}
CLEAN, INVALIDATE, FLUSH = (True, False), (False, True), (True, True)
BY_ADDRESS = {CLEAN: 0xE000_EF68, INVALIDATE: 0xE000_EF5C, FLUSH: 0xE000_EF70}  # DCCMVAC, DCIMVAC, DCCIMVAC
BY_SET_WAY = {CLEAN: 0xE000_EF6C, INVALIDATE: 0xE000_EF60, FLUSH: 0xE000_EF74}  # DCCSW, DCISW, DCCISW


@dataclass
class Line:
    number: int
    data: bytearray
    dirty: bool
    age: int


class Model:
    """Bytes by address in dicts; lines by set and way. Empty ways first, then ``policy``: lru, round-robin (the line
    filled first) or random by the 16-bit Galois register 0xB400. ``kinds``: the attribute of each 32 bytes."""

    def __init__(
        self, memory: dict[int, int], kinds: dict[int, str], size: int, ways: int, policy: str, width: int = 32
    ) -> None:
        self.memory, self.kinds, self.policy, self.width = memory, kinds, policy, width
        self.sets: list[list[Line | None]] = [[None] * ways for _ in range(size // ways // width)]
        self.through, self.now, self.register = False, 0, 0xACE1
        self.on = True  # while it is off, lines stay and nobody sees them
        self.evicted: list[int] = []  # addresses of dirty lines that were displaced

    def line(self, number: int) -> Line | None:
        return next((one for one in self.sets[number % len(self.sets)] if one and one.number == number), None)

    def written_back(self, line: Line) -> None:
        self.memory.update({line.number * self.width + i: byte for i, byte in enumerate(line.data)})
        line.dirty = False

    def fill(self, number: int) -> Line:
        ways = self.sets[number % len(self.sets)]
        way = ways.index(None) if None in ways else min(range(len(ways)), key=lambda w: ways[w].age)  # type: ignore
        if None not in ways and self.policy == "random":
            self.register = (self.register >> 1) ^ (0xB400 if self.register & 1 else 0)
            way = self.register % len(ways)
        if (old := ways[way]) is not None and old.dirty:
            self.written_back(old)
            self.evicted.append(old.number * self.width)
        ways[way] = new = Line(
            number, bytearray(self.memory[number * self.width + i] for i in range(self.width)), False, self.now
        )
        return new

    def part(self, kind: str, address: int, size: int, data: bytes | None) -> bytes:
        """One access inside a line; a line that is held is seen whatever the attribute, while the cache is on."""
        self.now += 1
        line, at = self.line(address // self.width) if self.on else None, address % self.width
        kind = kind if self.on else UNCACHED
        back = kind in (BACK, NO_ALLOCATE) and not self.through
        if line is not None and kind != UNCACHED and self.policy == "lru":
            line.age = self.now
        if line is None and kind != UNCACHED and (data is None or (back and kind == BACK)):
            line = self.fill(address // self.width)
        if data is not None and (line is None or not back):
            self.memory.update({address + i: byte for i, byte in enumerate(data)})
        if data is not None and line is not None:
            line.data[at : at + size] = data
            line.dirty |= back
        return (
            bytes(self.memory[address + i] for i in range(size)) if line is None else bytes(line.data[at : at + size])
        )

    def access(self, address: int, size: int, data: bytes | None = None) -> bytes:
        """A load, or a store of ``data``; across two lines, each is one. The first byte's attribute is that of all."""
        kind, cut = self.kinds[address & ~31], min(size, self.width - address % self.width)
        found = self.part(kind, address, cut, data and data[:cut])
        return found + self.part(kind, address + cut, size - cut, data and data[cut:]) if cut < size else found

    def maintain(self, line: Line | None, clean: bool, invalidate: bool) -> None:
        if line is not None and clean and line.dirty:
            self.written_back(line)
        if line is not None and invalidate:
            ways = self.sets[line.number % len(self.sets)]
            ways[ways.index(line)] = None

    def copy(self, source: int, target: int, size: int) -> None:
        for i in range(size):
            self.memory[target + i] = self.memory[source + i]

    def seen(self, address: int) -> int:
        line = self.line(address // self.width) if self.on else None
        return self.memory[address] if line is None else line.data[address % self.width]


# r0: address (times to wait), r1 and r2: what is stored; the result in r0 and r1
ROUTINES = {
    name: bytes.fromhex(text.replace(" ", "") + "7047")
    for name, text in {
        "ldrb": "90f80000", "ldrh": "b0f80000", "ldr": "d0f80000", "ldrd": "d0e90001", "ldm": "90e80300",
        "vldr": "90ed000b 51ec100b", "strb": "80f80010", "strh": "a0f80010", "str": "c0f80010", "strd": "c0e90012",
        "stm": "80e80600", "vstr": "42ec101b 80ed000b", "strex": "50e8003f 40e80013", "wait": "0138 fdd1",
    }.items()
}  # fmt: skip
SIZES = {"ldrb": 1, "ldrh": 2, "ldr": 4, "strb": 1, "strh": 2, "str": 4, "strex": 4}  # the others 8
WHOLE = ("ldrd", "ldm", "vldr", "strd", "stm", "vstr", "strex")  # at multiples of four only
CODE, STACK = 0x0800_0000, 0x2000_8000
CCR = 0xE000_ED14


class Rig:
    """A core on ``machine`` that makes one access at a time, and the machine's DMA; ``ranges`` instead of its own."""

    def __init__(self, machine: Machine, ranges: list[Range] | None = None, caches: bool = True) -> None:
        self.emulator = Emulator(machine, caches=caches)
        self.memory, self.dma = self.emulator.memory, machine.dma["dma2"]
        self.at = {name: region.base for name, region in machine.memory.items()}
        self.emulator.state.fpu = 1
        if ranges is not None:
            self.memory.install_ranges(ranges)
        self.entry = {}
        for i, (name, code) in enumerate(ROUTINES.items()):
            self.entry[name] = CODE + 0x100 + 32 * i
            self.emulator.write(self.entry[name], code)

    def call(self, name: str, *arguments: int) -> tuple[int, int]:
        self.emulator.set_stack(STACK, 0)
        self.emulator.call(self.entry[name], arguments)
        stop: Stop = self.emulator.run(1_000_000)
        assert stop.kind == "returned", stop
        registers = self.emulator.registers()
        return registers["r0"], registers["r1"]

    def load(self, address: int, name: str = "ldr") -> bytes:
        low, high = self.call(name, address)
        return (low | high << 32).to_bytes(8, "little")[: SIZES.get(name, 8)]

    def store(self, address: int, data: bytes, name: str = "str") -> None:
        value = int.from_bytes(data, "little")
        self.call(name, address, value & 0xFFFF_FFFF, value >> 32)

    def wait(self, loops: int) -> None:
        """Cycles in which the core asks for no data."""
        self.call("wait", loops)

    def maintain(self, address: int, how: tuple[bool, bool]) -> None:
        self.call("str", BY_ADDRESS[how], address)

    def maintain_way(self, index: int, way: int, ways: int, how: tuple[bool, bool], line: int = 32) -> None:
        shift = 32 - (ways - 1).bit_length()
        self.call("str", BY_SET_WAY[how], (way << shift & 0xFFFF_FFFF) | index * line)

    def switch(self, on: bool) -> None:
        """The data cache on or off; the instruction cache is on."""
        self.call("str", CCR, 1 << 17 | int(on) << 16 | 1 << 9)

    def begin(self, source: int, target: int, size: int, priority: int = 0) -> int:
        return self.memory.begin_transfer(self.dma, 0, source, target, size, priority, self.emulator.cycles)

    def left(self, handle: int) -> int:
        """Bytes of a transfer whose beats are still to come."""
        return self.memory.state.transfers[handle].unwritten

    def end(self, handle: int) -> None:
        """Let a transfer end; the core's clock goes on as far."""
        at = self.emulator.cycles
        while (end := self.memory.finished(handle)) is None:
            at = self.memory.earliest_end(handle, at)
            self.memory.advance(at)
        self.memory.state.now = max(int(self.memory.state.now), (end + 1) * L.TICK)
        self.memory.advance(end + 1000)

    def copy(self, source: int, target: int, size: int) -> None:
        self.end(self.begin(source, target, size))

    def seen(self, address: int, size: int) -> bytes:
        return self.emulator.read(address, size)

    def stored(self, address: int, size: int) -> bytes:
        """What is in memory, as the DMA finds it."""
        found = bytearray(self.emulator.read(address, size))
        for at, part in self.emulator.behind.views(address, size):
            found[at : at + len(part)] = part.tobytes()
        return bytes(found)


def wide(opcode: int, register: int, value: int) -> bytes:
    """MOVW or MOVT."""
    first = opcode | (value >> 11 & 1) << 10 | value >> 12
    second = (value >> 8 & 7) << 12 | register << 8 | value & 0xFF
    return struct.pack("<HH", first, second)


def straight(steps: list[tuple[str, int, int]]) -> bytes:
    """Code that takes one step after another, each a block of its own; what is loaded goes to where r3 points.

    A step is a routine's name, the address, and what is stored or loops to wait; ``maintain`` takes a register by its
    value, ``nop`` only passes time.
    """
    code = b""
    for name, address, value in steps:
        if name == "nop":
            code += bytes.fromhex("00bf") * (value % 60) + NEXT
            continue
        registers, routine = (address, value), name
        if name == "maintain":
            registers, routine = (list(BY_ADDRESS.values())[value % 3], address), "str"
        for register, word in enumerate(registers):
            code += wide(0xF240, register, word & 0xFFFF) + wide(0xF2C0, register, word >> 16)
        code += ROUTINES[routine][:-2] + (bytes.fromhex("43f8040b") if name.startswith("ld") else b"") + NEXT
    return code + bytes.fromhex("7047")


NEXT = bytes.fromhex("ffe7")  # a branch to what follows

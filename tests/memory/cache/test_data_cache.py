"""A data cache that holds data: what core and DMA see, step by step against a model written from the textbook."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from mcusim.machine import Machine
from mcusim.memory import state_layout as L
from mcusim.memory.address_ranges import Range, machine_ranges
from tests.support.cases import few, sample_size, sampled
from tests.support.code.single_access_core import F746, board
from tests.support.programs.coherency_model import (
    ATTRIBUTES,
    BACK,
    CLEAN,
    FLUSH,
    INVALIDATE,
    NO_ALLOCATE,
    SIZES,
    THROUGH,
    UNCACHED,
    WHOLE,
    Model,
    Rig,
)  # fmt: skip

SDRAM = 0x6000_0000
# where things happen: lines of every attribute side by side, and both borders of SRAM1
PARTS = {SDRAM: BACK, SDRAM + 0x60: NO_ALLOCATE, SDRAM + 0xC0: THROUGH, SDRAM + 0x120: UNCACHED}
PLACES = [(SDRAM, 0x180), (0x2000_FFC0, 0x80), (0x2004_BFC0, 0x80)]
FLASH, FLASH_BYTES = 0x0800_8000, 0x40
HOWS = [CLEAN, INVALIDATE, FLUSH]


def ranges(machine: Machine) -> list[Range]:
    """SDRAM in parts, the rest as the machine's file says."""
    starts = [*PARTS, SDRAM + machine.memory["sdram"].size]
    found = [one for one in machine_ranges(machine) if one.region != "sdram"]
    for low, high, kind in zip(starts, starts[1:], PARTS.values(), strict=False):
        attribute, allocate = ATTRIBUTES[kind]
        found.append(Range(low, high, "sdram", False, attribute, allocate))
    return found


def kind_at(address: int) -> str:
    if address < 0x2001_0000:
        return THROUGH if address >> 24 == 8 else UNCACHED  # flash; DTCM
    return BACK if address < SDRAM else next(kind for low, kind in reversed(PARTS.items()) if low <= address)


class FidelityComparison:
    """A board and the model of it, with the same random bytes."""

    def __init__(
        self, size: int, ways: int, replacement: str, policy: str, line: int = 32, beat: int = 4, burst: int = 1
    ) -> None:
        keys = {
            "size": f"{size} B",
            "ways": str(ways),
            "replacement": replacement,
            "policy": policy,
            "line": f"{line} B",
        }
        dma = {"dma__dma2__beat": f"{beat} B", "dma__dma2__burst": str(burst)}
        if burst > 1:
            dma["dma__dma2__threshold"] = "full"  # of which a burst has to be a whole part
        machine = board(F746, **{f"cache__data__{key}": value for key, value in keys.items()}, **dma)
        self.rig, random, self.size, self.ways = Rig(machine, ranges(machine)), Random(size), size, ways
        memory: dict[int, int] = {}
        for base, count in [*PLACES, (FLASH, FLASH_BYTES)]:
            data = random.randbytes(count)
            self.rig.emulator.write(base, data)
            memory |= {base + i: byte for i, byte in enumerate(data)}
        self.model = Model(memory, {at & ~31: kind_at(at) for at in memory}, size, ways, replacement, line)
        self.model.through = policy == "write-through"
        self.flights: dict[int, list[int]] = {}  # by handle: source, target, bytes to come

    def same(self, what: object) -> None:
        for base, count in PLACES:
            memory = bytes(self.model.memory[base + i] for i in range(count))
            assert self.rig.stored(base, count) == memory, f"memory at {base:#x} after {what}"
            seen = bytes(map(self.model.seen, range(base, base + count)))
            assert self.rig.seen(base, count) == seen, f"core at {base:#x} after {what}"

    def progress(self) -> None:
        """The model's transfers come as far as the board's."""
        for handle, flight in list(self.flights.items()):
            source, target, left = flight
            now = self.rig.left(handle)
            self.model.copy(source, target, left - now)
            flight[:] = [source + left - now, target + left - now, now]

    def in_time(self, maintain: Callable[[], None]) -> None:
        """Beats that were due before it find the lines as they were."""
        now = int(self.rig.memory.state.now)
        maintain()
        assert self.rig.memory.state.next_beat >= now
        self.progress()

    def evicted_in_time(self, now: int) -> None:
        """So they do before a dirty line is displaced, whatever memory the access is to that displaces it."""
        in_flight = {self.region(at) for a, b, left in self.flights.values() if left for at in (a, b)}
        if in_flight & set(map(self.region, self.model.evicted)):
            assert self.rig.memory.state.next_beat >= now
        self.model.evicted.clear()

    def region(self, address: int) -> str:
        return max((base, name) for name, base in self.rig.at.items() if base <= address)[1]

    def maintain(self, address: int, how: tuple[bool, bool]) -> None:
        self.in_time(lambda: self.rig.maintain(address, how))
        self.model.maintain(self.model.line(address // self.model.width), *how)

    def maintain_way(self, index: int, way: int, how: tuple[bool, bool]) -> None:
        self.in_time(lambda: self.rig.maintain_way(index, way, self.ways, how, self.model.width))
        self.model.maintain(self.model.sets[index][way], *how)

    def maintain_all(self, how: tuple[bool, bool]) -> None:
        for index in range(len(self.model.sets)):
            for way in range(self.ways):
                self.maintain_way(index, way, how)

    def maintain_span(self, address: int, size: int, how: tuple[bool, bool]) -> None:
        """As the engine does for a task."""
        self.rig.memory.advance(self.rig.emulator.cycles)
        self.rig.memory.maintain(address, size, *how)
        self.progress()
        width = self.model.width
        numbers = range(address // width, (address + size - 1) // width + 1)
        if not self.model.on:
            return
        for number in numbers:
            self.model.maintain(self.model.line(number), *how)

    def switch(self) -> None:
        """The cache off, or on again."""
        self.in_time(lambda: self.rig.switch(not self.model.on))
        self.model.on = not self.model.on

    def load(self, address: int, name: str) -> None:
        now = int(self.rig.memory.state.now)
        found = self.rig.load(address, name)
        self.progress()
        step = len(found) if name == "vldr" else min(4, len(found))  # LDRD and LDM are words
        wanted = b"".join(self.model.access(address + at, step) for at in range(0, len(found), step))
        assert found == wanted, (name, hex(address))
        self.evicted_in_time(now)

    def store(self, address: int, data: bytes, name: str) -> None:
        now = int(self.rig.memory.state.now)
        self.rig.store(address, data, name)
        self.progress()
        step = len(data) if name == "vstr" else min(4, len(data))
        for at in range(0, len(data), step):
            if name == "strex":
                self.model.access(address, 4)
                self.model.access(address, 4)
            self.model.access(address + at, step, data[at : at + step])
        self.evicted_in_time(now)

    def begin(self, source: int, target: int, size: int, priority: int) -> None:
        """A transfer is put in flight, unless its bytes and those of another overlap."""
        busy = [(at, left) for a, b, left in self.flights.values() if left for at in (a, b)]
        mine = [(source, size), (target, size)]
        apart = all(a + n <= b or b + m <= a for a, n in mine for b, m in busy) and abs(source - target) >= size
        if apart and len(self.flights) < L.MAX_TRANSFERS and len(busy) < 6:
            self.flights[self.rig.begin(source, target, size, priority)] = [source, target, size]
            self.progress()

    def finish(self) -> None:
        self.rig.memory.advance(self.rig.emulator.cycles + 100_000)
        self.progress()
        assert not any(left for _, _, left in self.flights.values())


class Steps:
    """Random things to do, the same for the same seed."""

    LOADS = ("ldrb", "ldrh", "ldr", "ldr", "ldrd", "ldm", "vldr")
    STORES = ("strb", "strh", "str", "str", "strd", "stm", "vstr", "strex")

    def __init__(self, seed: int) -> None:
        self.random, self.name = Random(seed), ""

    def place(self, size: int, writable: bool = True, step: int = 1) -> int:
        base, count = self.random.choice(PLACES if writable else [*PLACES, (FLASH, FLASH_BYTES)])
        return base + self.random.randrange(0, count - size + 1, step)

    def access(self, both: FidelityComparison, whole: bool) -> None:
        """A load or store; ``whole``: one access in one line."""
        store = self.random.random() < 0.5
        name = self.random.choice([n for n in (self.STORES if store else self.LOADS) if not whole or n in SINGLE])
        size = SIZES.get(name, 8)
        address = self.place(size, store, 4 if name in WHOLE else 1)
        if whole and address % 16 + size > 16:
            address &= ~15
        self.name = f"{name} at {address:#x}"
        if store:
            both.store(address, self.random.randbytes(size), name)
        else:
            both.load(address, name)

    def maintenance(self, both: FidelityComparison) -> None:
        how, kind = self.random.choice(HOWS), self.random.choice(["address", "address", "way", "way", "span", "all"])
        self.name = f"{how} {kind}"
        if kind == "address":
            address = self.place(1)
            self.name += f" {address:#x}"
            both.maintain(address, how)
        elif kind == "way":
            both.maintain_way(self.random.randrange(len(both.model.sets)), self.random.randrange(both.ways), how)
        elif kind == "span":
            size = self.random.randint(1, 64)
            both.maintain_span(self.place(size), size, how)
        elif self.random.random() < 0.2:
            both.maintain_all(how)

    def copy(self, both: FidelityComparison, most: int, flying: bool) -> None:
        size = self.random.randint(1, most)
        source, target = self.place(size, False), self.place(size)
        self.name = f"{size} from {source:#x} to {target:#x}"
        if flying:
            both.begin(source, target, size, self.random.randrange(3))
        elif abs(source - target) >= size:
            both.rig.copy(source, target, size)
            both.model.copy(source, target, size)


SINGLE = ("ldrb", "ldrh", "ldr", "strb", "strh", "str")
Cache = tuple[Any, ...]  # bytes, ways, replacement, policy, bytes of a line
CACHES: list[Cache] = [
    (512, 4, "lru", "write-back"), (512, 2, "round-robin", "write-back"), (256, 4, "random", "write-back"),
    (128, 1, "lru", "write-back"), (128, 4, "random", "write-back"), (32, 1, "lru", "write-back"),
    (512, 4, "lru", "write-through"), (4096, 4, "lru", "write-back"), (256, 2, "lru", "write-back", 16),
    (512, 2, "round-robin", "write-back", 64),
]  # fmt: skip


@few(3)
@pytest.mark.parametrize("cache", CACHES, ids=str)
@pytest.mark.parametrize("seed", range(sample_size(4, 1)))
def test_random_steps_against_the_model(cache: Cache, seed: int) -> None:
    both, steps = FidelityComparison(*cache), Steps(seed)
    for number in range(500):
        kind = steps.random.choices(["access", "maintain", "copy", "switch"], [16, 4, 2, 1])[0]
        if kind == "access":
            steps.access(both, False)
        elif kind == "maintain":
            steps.maintenance(both)
        elif kind == "switch":
            both.switch()
            steps.name = f"switch {both.model.on}"
        else:
            steps.copy(both, 60, False)
        both.same(f"step {number}: {steps.name}")
    assert both.rig.emulator.unforeseen == 0


@few(1)
@pytest.mark.parametrize("cache", sampled(CACHES, 3), ids=str)
@pytest.mark.parametrize("beats", [(1, 1), (4, 1), (4, 4)], ids=str)
def test_random_steps_during_transfers_in_flight(cache: Cache, beats: tuple[int, int]) -> None:
    """How far each transfer is at each step is the board's word; in which bytes that shows is the model's."""
    both, steps = FidelityComparison(*cache, beat=beats[0], burst=beats[1]), Steps(beats[0])
    torn = 0
    for number in range(500):
        kind = steps.random.choices(["access", "maintain", "copy", "wait", "switch"], [16, 4, 2, 4, 1])[0]
        if kind == "access":
            steps.access(both, True)
        elif kind == "maintain":
            steps.maintenance(both)
        elif kind == "copy":
            steps.copy(both, 60, True)
        elif kind == "switch":
            both.switch()
            steps.name = f"switch {both.model.on}"
        else:
            both.rig.wait(steps.random.randint(1, 60))
            both.progress()
        both.same(f"step {number}: {kind} {steps.name}")
        torn += any(left for _, _, left in both.flights.values())
    assert torn > 100
    both.finish()
    both.same("the end")

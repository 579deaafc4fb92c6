"""Hits and misses of the emulated core's data cache, access by access, against models written from the textbook."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.support.boards.cache_reference import BASE, LINE, Reference
from tests.support.cases import few, sampled
from tests.support.code.single_access_core import F746, Core, board

Trace = list[tuple[int, bool]]


def randomly() -> Trace:
    draw = random.Random(3)
    return [(BASE + draw.randrange(20_000), draw.random() < 0.3) for _ in range(6000)]


def strided() -> Trace:
    return [(BASE + (i * step) % 65_536, i % 5 == 0) for step in (4, 36, 1024, 1056, 4096) for i in range(1200)]


def convolution() -> Trace:
    """Addresses of a 3x3 convolution over 24 x 24 x 8 int8: inputs, weights, outputs, in the loops' order."""

    def accesses() -> Iterator[tuple[int, bool]]:
        for y in range(6):
            for x in range(22):
                for k in range(72):
                    row, column, channel = k // 24, k // 8 % 3, k % 8
                    yield BASE + ((y + row) * 24 + x + column) * 8 + channel, False
                    yield BASE + 0x10_0000 + k, False
                yield BASE + 0x20_0000 + y * 22 + x, True

    return list(accesses())


@few(3)
@pytest.mark.parametrize("policy", ["lru", "round-robin", "random"])
@pytest.mark.parametrize("trace", [randomly, strided, convolution])
@pytest.mark.parametrize(("size", "ways"), sampled([(4096, 4), (1024, 2), (2048, 1), (512, 16)], 1))
def test_every_hit_miss_and_write_back(policy: str, trace: object, size: int, ways: int) -> None:
    keys = {"cache__data__size": f"{size} B", "cache__data__ways": str(ways), "cache__data__replacement": policy}
    core, reference = Core(board(F746, **keys)), Reference(size, ways, policy)
    hits = 0
    for number, (address, write) in enumerate(trace()):  # type: ignore[operator]
        core.store(address, 1) if write else core.load(address, 1)
        hits += reference.access(address, write)
        counters = core.memory.counters()
        found = (counters["dcache_hits"], counters["dcache_writebacks"])
        assert found == (hits, reference.write_backs), f"access {number} at 0x{address:08X}"
    assert 0 < counters["dcache_misses"] == number + 1 - hits


@pytest.mark.parametrize("trace", [randomly, strided, convolution])
def test_lru_against_pycachesim(trace: object) -> None:
    """A store follows a load of its byte here: pycachesim's own stores leave a line's age alone when they hit."""
    cachesim = pytest.importorskip("cachesim")
    memory = cachesim.MainMemory()
    other = cachesim.Cache("L1", 32, 4, LINE, "LRU")
    memory.load_to(other)
    memory.store_from(other)
    simulator = cachesim.CacheSimulator(other, memory)
    core = Core(board(F746))
    for address, write in trace():  # type: ignore[operator]
        core.load(address, 1)
        simulator.load(address, length=1)
        if write:
            core.store(address, 1)
            simulator.store(address, length=1)
        assert core.memory.counters()["dcache_misses"] == other.MISS_count
    assert core.memory.counters()["dcache_writebacks"] == other.EVICT_count

"""The cache model against an independent one: random accesses, the same misses and write-backs."""

from __future__ import annotations

from collections import OrderedDict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcusim.machine import load_machine
from mcusim.memory.ports import replay
from mcusim.memory.ports.replay import stream_of
from mcusim.memory.system import MemorySystem
from tests.support.cases import sample_size

LINE = 32
BASE = 0x6000_0000


class Reference:
    """A set-associative LRU write-back cache with write allocation, written from the textbook."""

    def __init__(self, size: int, ways: int) -> None:
        self.ways = ways
        self.sets: list[OrderedDict[int, bool]] = [OrderedDict() for _ in range(size // (ways * LINE))]
        self.misses = self.write_backs = 0

    def access(self, address: int, write: bool) -> None:
        tag = address // LINE
        lines = self.sets[tag % len(self.sets)]
        if tag not in lines:
            self.misses += 1
            if len(lines) == self.ways:
                _, dirty = lines.popitem(last=False)
                self.write_backs += dirty
            lines[tag] = False
        lines[tag] |= write
        lines.move_to_end(tag)


@pytest.mark.parametrize(("size", "ways"), [(4096, 4), (4096, 1), (1024, 2), (16384, 4)])
@settings(max_examples=sample_size(40, 15))
@given(accesses=st.lists(st.tuples(st.integers(0, 40_000), st.booleans()), max_size=400))
def test_misses_and_write_backs_of_an_lru_cache(size: int, ways: int, accesses: list[tuple[int, bool]]) -> None:
    machine = load_machine("stm32f746g-disco", {"cache.data.size": f"{size} B", "cache.data.ways": str(ways)})
    memory, reference = MemorySystem(machine), Reference(size, ways)
    for offset, write in accesses:
        replay.visit(memory.state, stream_of(memory.state, 1, int(write)), BASE + offset, 1)
        reference.access(BASE + offset, write)
    counters = memory.counters()
    assert (counters["dcache_misses"], counters["dcache_writebacks"]) == (reference.misses, reference.write_backs)
    assert counters["dcache_hits"] == len(accesses) - reference.misses

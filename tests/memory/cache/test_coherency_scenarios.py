"""What a board's core and DMA see of each other's bytes, one short story each."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import CacheState
from tests.support.boards.small_cache import POLICIES, PROGRAMS, STACK
from tests.support.boards.small_cache import board as small_cache
from tests.support.cases import few
from tests.support.code.single_access_core import F469, F746, board
from tests.support.programs.coherency_model import CLEAN, FLUSH, INVALIDATE, Rig

LINE = 32
OLD, NEW, MINE = b"old!", b"new!", b"mine"
AT = 0x1000  # offset of a line in a region
EITHER = pytest.mark.parametrize("region", ["sdram", "sram1"])


def rig(name: str = F746, caches: bool = True, **keys: str) -> Rig:
    return Rig(board(name, **keys), caches=caches)


def filled(one: Rig, region: str, data: bytes = OLD, lines: int = 1) -> int:
    """Lines of ``data`` as start-up code would leave them: in memory, not in the cache."""
    address = one.at[region] + AT
    one.emulator.write(address, data * (lines * LINE // len(data)))
    return address


def by_dma(one: Rig, address: int, data: bytes = NEW) -> None:
    """``data`` arrives at ``address`` from DTCM."""
    source = one.at["dtcm" if "dtcm" in one.at else "sram2"] + 0x3000
    one.emulator.write(source, data)
    one.copy(source, address, len(data))


def to_dma(one: Rig, address: int, size: int = 4) -> bytes:
    """What arrives of ``address`` in a memory that is never cached."""
    target = one.at["dtcm" if "dtcm" in one.at else "sram2"] + 0x3800
    one.copy(address, target, size)
    return one.load(target)


@EITHER
def test_behind_a_clean_line_the_core_reads_old_bytes_until_it_invalidates(region: str) -> None:
    one = rig()
    at = filled(one, region)
    assert one.load(at) == OLD
    by_dma(one, at + 8)
    assert (one.load(at + 8), one.stored(at + 8, 4)) == (OLD, NEW)
    one.maintain(at + 31, INVALIDATE)
    assert (one.load(at + 8), one.load(at + 4)) == (NEW, OLD)


def test_a_line_that_is_not_held_is_read_as_the_dma_left_it() -> None:
    one = rig()
    at = filled(one, "sdram")
    by_dma(one, at)
    assert one.load(at) == NEW


def test_cleaning_does_not_show_what_the_dma_wrote() -> None:
    one = rig()
    at = filled(one, "sdram")
    one.load(at)
    by_dma(one, at)
    one.maintain(at, CLEAN)
    assert (one.load(at), one.stored(at, 4)) == (OLD, NEW)  # a clean line is not written back either


@EITHER
def test_the_dma_reads_old_bytes_until_the_core_cleans(region: str) -> None:
    one = rig()
    at = filled(one, region)
    one.store(at, MINE)
    assert (one.load(at), to_dma(one, at)) == (MINE, OLD)
    one.maintain(at + 4, CLEAN)
    assert to_dma(one, at) == MINE


@EITHER
def test_invalidating_a_dirty_line_loses_the_store(region: str) -> None:
    one = rig()
    at = filled(one, region)
    one.store(at, MINE)
    one.maintain(at, INVALIDATE)
    assert (one.load(at), to_dma(one, at)) == (OLD, OLD)


def test_cleaning_and_invalidating_loses_nothing() -> None:
    one = rig()
    at = filled(one, "sdram")
    one.store(at, MINE)
    one.maintain(at, FLUSH)
    by_dma(one, at + 4)
    assert (one.load(at), one.load(at + 4)) == (MINE, NEW)


def test_evicting_a_dirty_line_destroys_what_the_dma_wrote_next_to_the_store() -> None:
    """A buffer's edge shares a line with a neighbour that the core writes."""
    one = rig()
    at = filled(one, "sdram")
    one.store(at + 28, MINE)
    by_dma(one, at, NEW * 7)
    assert one.stored(at, LINE) == NEW * 7 + OLD
    for i in range(1, 5):  # as many lines of that set as there are ways
        one.load(at + 1024 * i)
    assert one.stored(at, LINE) == OLD * 7 + MINE
    assert one.load(at) == OLD


def test_a_clean_line_that_is_displaced_is_read_anew() -> None:
    """A missing invalidation is not seen where the line happens to have gone."""
    one = rig()
    at = filled(one, "sdram")
    one.load(at)
    by_dma(one, at)
    for i in range(1, 4):
        one.load(at + 1024 * i)
    assert one.load(at) == OLD
    for i in range(4, 8):
        one.load(at + 1024 * i)
    assert one.load(at) == NEW


def test_invalidating_a_buffers_edge_destroys_the_neighbours_store() -> None:
    one = rig()
    at = filled(one, "sdram")
    one.store(at + 28, MINE)
    by_dma(one, at, NEW * 7)
    one.maintain(at, INVALIDATE)
    assert (one.load(at), one.load(at + 28)) == (NEW, OLD)


def test_an_invalidation_before_the_transfer_is_over_is_no_use_once_the_line_is_read() -> None:
    one = rig()
    at = filled(one, "sdram")
    one.maintain(at, INVALIDATE)
    assert one.load(at) == OLD
    by_dma(one, at)
    assert one.load(at) == OLD


def test_a_core_that_writes_a_buffer_the_dma_fills_has_the_last_word_when_it_cleans() -> None:
    one = rig()
    at = filled(one, "sdram")
    one.store(at, MINE)
    by_dma(one, at)
    assert (one.load(at), one.stored(at, 4)) == (MINE, NEW)
    one.maintain(at, CLEAN)
    assert one.stored(at, 4) == MINE


def test_write_through_needs_no_clean_but_an_invalidation() -> None:
    """0x8000_0000 is write-through in the default memory map; or a whole cache is."""
    for keys in ({"memory__sdram__base": "0x8000_0000"}, {"cache__data__policy": "write-through"}):
        one = rig(**keys)
        at = filled(one, "sdram")
        one.load(at)
        one.store(at, MINE)
        assert (one.load(at), to_dma(one, at)) == (MINE, MINE)
        by_dma(one, at)
        assert one.load(at) == MINE
        one.maintain(at, INVALIDATE)
        assert one.load(at) == NEW


def neither(one: Rig, at: int) -> None:
    """Core and DMA see each other's bytes at once."""
    assert one.load(at) == OLD
    by_dma(one, at)
    assert one.load(at) == NEW
    one.store(at, MINE)
    assert (one.load(at), to_dma(one, at)) == (MINE, MINE)


def test_device_memory_needs_neither() -> None:
    one = rig(memory__sdram__base="0xC000_0000")
    neither(one, filled(one, "sdram"))


def test_memory_that_the_mpu_makes_uncached_needs_neither() -> None:
    one = rig()
    for register, value in ((0xED98, 0), (0xED9C, one.at["sdram"]), (0xEDA0, 0x0308_001D), (0xED94, 5)):
        one.call("str", 0xE000_0000 + register, value)  # 32 KiB: normal memory, TEX 1, C and B 0
    neither(one, filled(one, "sdram"))
    one.call("str", 0xE000_ED94, 0)
    at = filled(one, "sdram")
    one.store(at, MINE)
    assert to_dma(one, at) == OLD


@pytest.mark.parametrize("region", ["sdram", "sram1", "sram3"])
def test_a_machine_without_data_cache_needs_neither(region: str) -> None:
    one = rig(F469)
    assert one.emulator.behind.views(one.at[region], 64) == []
    neither(one, filled(one, region))


@EITHER
def test_a_cache_that_is_off_needs_neither(region: str) -> None:
    one = rig(caches=False)
    neither(one, filled(one, region))


def test_what_the_dma_writes_to_dtcm_is_seen_at_once() -> None:
    one = rig()
    neither(one, filled(one, "dtcm"))


@pytest.mark.parametrize("region", ["flash", "qspi"])
def test_flash_is_the_same_on_both_sides(region: str) -> None:
    one = rig()
    at = filled(one, region)
    assert one.load(at) == to_dma(one, at) == OLD
    assert one.emulator.behind.views(at, 64) == []


def test_cleaning_by_set_and_way_cleans_everything() -> None:
    one = rig()
    at = filled(one, "sdram", lines=128)
    for line in range(128):
        one.store(at + line * LINE, MINE)
    assert one.stored(at, 128 * LINE).count(MINE) == 0
    for index in range(32):
        for way in range(4):
            one.maintain_way(index, way, 4, CLEAN)
    assert one.stored(at, 128 * LINE).count(MINE) == 128


def test_what_a_debugger_writes_is_in_memory_and_in_the_line() -> None:
    one = rig()
    at = filled(one, "sdram")
    one.store(at, MINE)
    one.emulator.write(at + 4, NEW)
    assert (one.load(at + 4), to_dma(one, at + 4), to_dma(one, at)) == (NEW, NEW, OLD)


@pytest.mark.parametrize("caches", [True, False])
@pytest.mark.parametrize("below", ["dtcm", "sram1"])
def test_a_store_from_one_region_into_the_next(below: str, caches: bool) -> None:
    """Its bytes are in neither region's memory twice, nor past its end."""
    one = rig(caches=caches)
    border = one.at["sram1" if below == "dtcm" else "sram2"]
    one.emulator.write(border - LINE, bytes(2 * LINE))
    one.store(border - 2, b"abcd")
    assert (one.load(border - 2), one.seen(border - 3, 6)) == (b"abcd", b"\0abcd\0")
    for at in (border - LINE, border):
        one.maintain(at, FLUSH)
    assert one.stored(border - 3, 6) == b"\0abcd\0"


def test_a_store_over_the_end_of_memory_is_a_fault() -> None:
    one = rig(caches=False)
    one.emulator.call(one.entry["str"], (one.at["sram2"] + (16 << 10) - 2, 0))
    assert one.emulator.run(1000).kind == "fault"


@few(6)
@pytest.mark.parametrize("replacement", POLICIES)
@pytest.mark.parametrize("name", [name for name in PROGRAMS if name != "dot product"])  # which stores nothing
def test_a_compiled_programs_bytes_are_all_in_memory_once_it_cleans(name: str, replacement: str) -> None:
    """Until then memory differs from what the core sees in dirty lines alone. Its data and stack are in SDRAM."""
    machine = small_cache(replacement)
    file, function, arguments = PROGRAMS[name]
    image, emulator = load_image(program_path(file, "cortex-m7")), Emulator(machine)
    emulator.load(image, as_started=True)
    emulator.write(0x6000_0000, Random(1).randbytes(0x4000))
    emulator.set_stack(STACK, 0)
    emulator.call(image.symbol(function).address, arguments)
    assert emulator.run().kind == "returned"
    s = emulator.memory.state
    lines = CacheState(s, s.data_cache_block).lines.table(machine.data_cache.size // LINE)
    dirty = set(lines["tag"][(lines["tag"] >= 0) & (lines["dirty"] > 0)].tolist())
    apart = {
        (region.base + int(at)) // LINE
        for region, data in emulator.behind.regions
        for at in np.flatnonzero(emulator.core.windows[region.base] != data)
    }
    assert apart <= dirty and apart
    core_data.maintain_all(s, 1, 0)
    for region, data in emulator.behind.regions:
        assert np.array_equal(emulator.core.windows[region.base], data), region.name

"""Loads and stores of an emulated core, one by one: what each waits for, to the cycle, and that it waits no longer."""

from __future__ import annotations

import pytest

from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import AddressRange
from tests.support.code.single_access_core import F469, F746, SDCLK, Core, board

SDRAM, SRAM, WINDOW = 0x6000_0000, 0x2001_0000, 0xC000_0000
FIRST = 2 * SDCLK + 6 + (2 + 4) * SDCLK  # tRCD, overhead, CL, eight bytes over 16 bits
BEATS = 4 * SDCLK  # of eight bytes
LINE = FIRST + 3 * BEATS


def uncached(**keys: str) -> Core:
    """SDRAM where the default map makes it Device memory."""
    return Core(board(F746, memory__sdram__base="0xC0000000", **keys))


def test_what_never_waits() -> None:
    f7, f4 = Core(board(F746)), Core(board(F469))
    for core, address in ((f7, 0x2000_0000), (f7, 0), (f4, 0x2000_0000), (f4, 0x1000_0000), (f4, 0x2003_0001)):
        assert [core.load(address), core.store(address, 1), core.load(address, 2)] == [0, 0, 0]
    demand = f4.memory.by_region()["sram1"]
    assert (demand["reads"], demand["writes"], demand["read_bytes"], demand["write_bytes"]) == (2, 1, 6, 1)


@pytest.mark.parametrize(("early", "stall"), [(0, 10), (4, 6), (9, 1), (10, 0), (50, 0)])
def test_a_posted_write_to_sram_holds_up_who_comes_before_it_is_done(early: int, stall: int) -> None:
    keys = {"memory__sram1__write_latency": "10 cycles", "cache__data__size": "0 B"}
    core, again = Core(board(F746, **keys)), Core(board(F746, **keys))
    assert (core.store(SRAM), again.store(SRAM)) == (0, 0)
    core.wait(early)
    again.wait(early)
    assert core.load(SRAM + 64) == stall + 6
    assert again.store(SRAM + 64) == stall


@pytest.mark.parametrize(("size", "beats"), [(1, 1), (2, 1), (4, 2), (8, 4)])
def test_uncached_reads_of_an_open_row_take_their_beats(size: int, beats: int) -> None:
    core = uncached()
    core.load(WINDOW)
    core.wait(100)
    assert core.load(WINDOW + 8, size) == 6 + (2 + beats) * SDCLK


def test_the_second_word_of_a_doubleword_costs_its_beats() -> None:
    core, whole = uncached(), uncached()
    q = core_data.find(core.state, WINDOW)
    stalls = core.load(WINDOW), int(core_data.second(core.state, AddressRange(core.state, q), WINDOW + 4, 0)) // L.TICK
    assert stalls[1] == 2 * SDCLK
    assert sum(stalls) == whole.load(WINDOW, 8)
    assert core.memory.by_region()["sdram"]["read_bytes"] == 8
    core.store(WINDOW)
    whole.store(WINDOW, 8)
    core_data.second(core.state, AddressRange(core.state, q), WINDOW + 4, 1)
    core.wait(2)
    whole.wait(2)
    assert core.load(WINDOW + 16) == whole.load(WINDOW + 16)


@pytest.mark.parametrize(("late", "stall"), [(0, 1), (1, 0)])
def test_posted_writes_wait_for_room_in_the_fifo_and_no_longer(late: int, stall: int) -> None:
    core = uncached(memory__sdram__write_fifo="4")
    core.load(WINDOW)
    core.wait(100)
    each = 7 + 2 * SDCLK
    assert [core.store(WINDOW + 4 * i) for i in range(4)] == [0] * 4
    core.wait(each - 1 + late)
    assert core.store(WINDOW + 16) == stall


def test_an_access_across_two_bus_words_is_two() -> None:
    f7, f4 = uncached(), Core(board(F469))
    f7.load(WINDOW)
    f7.wait(100)
    assert f7.load(WINDOW + 2) == 6 + 4 * SDCLK  # inside a doubleword
    f7.wait(100)
    assert f7.load(WINDOW + 6) == 2 * (6 + 3 * SDCLK)
    f4.load(WINDOW)
    f4.wait(100)
    assert f4.load(WINDOW + 2) == 2 * (6 + (3 + 1) * SDCLK)


def test_flash_data_lines_and_qspi_continuation() -> None:
    f4 = Core(board(F469, memory__qspi__read_overhead="0 cycles"))
    flash = 0x0800_0000
    assert [f4.load(flash + at) for at in (0, 4, 12, 16, 0)] == [5, 0, 0, 5, 0]
    qspi = 0x9000_0000
    assert [f4.load(qspi + at) for at in (0, 4, 8, 64)] == [104, 16, 16, 104]


def test_a_missed_line_gives_the_word_asked_for_first() -> None:
    for offset in (0, 8, 24):
        core = Core(board(F746))
        assert core.load(SDRAM + offset) == FIRST
        assert core.load(SDRAM + offset + 4) == 0  # the same eight bytes
        for step in (1, 2, 3):  # the others follow in order, round the line's end
            assert core.load(SDRAM + (offset + 8 * step) % 32) == BEATS


@pytest.mark.parametrize(("early", "stall"), [(0, 3 * BEATS), (3 * BEATS - 1, 1), (3 * BEATS, 0)])
def test_a_word_in_flight_is_waited_for_and_no_longer(early: int, stall: int) -> None:
    core = Core(board(F746))
    core.load(SDRAM)
    core.wait(early)
    assert core.load(SDRAM + 28) == stall


@pytest.mark.parametrize(("early", "stall"), [(0, 3 * BEATS), (3 * BEATS - 1, 1), (3 * BEATS, 0)])
def test_another_miss_waits_for_the_memory_and_no_longer(early: int, stall: int) -> None:
    core = Core(board(F746))
    core.load(SDRAM)
    core.wait(early)
    assert core.load(SDRAM + 32) == stall + FIRST - 2 * SDCLK  # the row is open now


def test_write_misses_fill_behind_the_store_buffer() -> None:
    """Two linefill buffers: the third store that misses waits until the first fill is done."""
    core = Core(board(F746))
    assert [core.store(SDRAM), core.store(SDRAM + 4), core.store(SDRAM + 32)] == [0, 0, 0]
    assert core.store(SDRAM + 64) == LINE
    assert core.now == LINE
    for late, stall in ((1, 1), (0, 0)):
        fresh = Core(board(F746))
        fresh.store(SDRAM)
        fresh.store(SDRAM + 32)
        fresh.wait(LINE - late)
        assert fresh.store(SDRAM + 64) == stall


def test_a_dirty_line_is_written_behind_the_fill_that_displaces_it() -> None:
    clean, dirty = Core(board(F746)), Core(board(F746))
    way = 4096 // 4
    for core in (clean, dirty):
        for i in range(4):
            core.load(SDRAM + i * way)
            core.wait(200)
    dirty.store(SDRAM)
    clean.load(SDRAM)
    for core in (clean, dirty):  # the first line, dirty in one of them, is now the oldest
        for i in range(1, 4):
            core.load(SDRAM + i * way)
    stalls = [core.load(SDRAM + 4 * way) for core in (clean, dirty)]
    assert stalls[0] == stalls[1]  # the core does not wait for the write
    assert [core.memory.counters()["dcache_writebacks"] for core in (clean, dirty)] == [0, 1]
    clean_next, dirty_next = (core.load(SDRAM + 4 * way + 32) for core in (clean, dirty))
    assert dirty_next - clean_next >= 7 + 16 * SDCLK  # but the memory is busy with it
    for core in (clean, dirty):
        core.wait(1000)
    assert clean.load(SDRAM + 4 * way + 64) == dirty.load(SDRAM + 4 * way + 64)


def test_a_dirty_line_of_another_memory_is_written_behind_the_fill_too() -> None:
    clean, dirty = Core(board(F746)), Core(board(F746))
    for core in (clean, dirty):
        for i in range(4):
            core.load(SRAM + i * 1024)
            core.wait(100)
        if core is dirty:
            core.store(SRAM)
        else:
            core.load(SRAM)
        for i in range(1, 4):
            core.load(SRAM + i * 1024)
        assert core.load(SDRAM) == FIRST
    assert clean.load(SRAM + 32) == 6
    assert dirty.load(SRAM + 32) == (LINE - FIRST) + 7 + 6  # the fill's end, then eight words of SRAM


def test_write_through_posts_every_store_and_never_writes_back() -> None:
    core = Core(board(F746, cache__data__policy="write-through"))
    assert [core.store(SDRAM + 4 * i) for i in range(4)] == [0] * 4
    assert core.memory.counters()["dcache_misses"] == 4
    assert core.memory.by_region()["sdram"]["reads"] == 0  # no allocation
    core.wait(500)
    core.load(SDRAM)
    core.wait(500)
    core.store(SDRAM)
    for i in range(1, 9):
        core.load(SDRAM + i * 1024)
    assert core.memory.counters()["dcache_writebacks"] == 0
    assert core.memory.by_region()["sdram"]["writes"] == 5


def test_write_back_without_allocation_posts_misses_only() -> None:
    from mcusim.cpu.system.mpu import Mpu

    write_back = 1 | 22 << 1 | 3 << 16 | 3 << 24  # TEX 0: no write allocate, 8 MiB
    core = Core(board(F746), Mpu(5, ((SDRAM, write_back),)))
    core.store(SDRAM)
    assert core.memory.counters()["dcache_misses"] == 1
    assert core.memory.by_region()["sdram"]["reads"] == 0
    assert core.memory.by_region()["sdram"]["writes"] == 1
    core.wait(500)
    core.load(SDRAM)
    core.store(SDRAM)
    assert core.memory.by_region()["sdram"]["writes"] == 1
    assert core_data.maintain_line(core.state, SDRAM, 1, 0) > 0


def test_an_access_across_two_lines_is_two() -> None:
    core = Core(board(F746))
    assert core.load(SDRAM + 30) == FIRST + (LINE - FIRST) + FIRST - 2 * SDCLK
    assert core.memory.counters()["dcache_misses"] == 2
    core.wait(500)
    assert core.load(SDRAM + 30) == 0
    assert core.memory.counters()["dcache_hits"] == 2
    core.store(SDRAM + 31, 2)
    assert core.memory.counters()["dcache_hits"] == 4


def test_stalls_are_charged_to_the_clock_and_the_region() -> None:
    core = Core(board(F746))
    total = 0
    for i in range(200):
        total += core.load(SDRAM + 36 * i) + core.store(SRAM + 40 * i) + core.fetch(0x0800_0000 + 64 * i, 8)
        core.wait(3)
    assert core.now == total + 600
    assert sum(region["stall"] for region in core.memory.by_region().values()) == total * L.TICK


def test_switched_off_the_cache_keeps_what_it_holds() -> None:
    core = Core(board(F746))
    core.load(SDRAM)
    core.wait(100)
    core.memory.enable_caches(data=False, instruction=True)
    assert core.load(SDRAM) == 6 + 4 * SDCLK
    core.memory.enable_caches(data=True, instruction=True)
    assert core.load(SDRAM) == 0


def test_maintenance_by_address_by_set_and_way_and_of_all() -> None:
    core = Core(board(F746))
    s = core.state
    lines = range(0, 4096, 32)
    for at in lines:
        core.store(SDRAM + at)
        core.wait(200)
    now = core.now
    write = 7 + 16 * SDCLK
    again = (2 + 2) * SDCLK  # the last fill left another row open
    assert core_data.maintain_line(s, SDRAM + 4, 1, 0) == (again + write) * L.TICK
    assert core_data.maintain_line(s, SDRAM + 4, 1, 0) == 0  # clean
    assert core.memory.counters()["dcache_writebacks"] == 1
    assert core_data.maintain_all(s, 1, 0) >= 127 * write * L.TICK
    assert core.memory.counters()["dcache_writebacks"] == 128
    assert core.now == now  # the caller charges it
    assert core.load(SDRAM + 4) == 0
    core_data.maintain_line(s, SDRAM + 4, 0, 1)
    assert core.load(SDRAM + 4) > 0
    before = core.memory.counters()["dcache_misses"]
    for way in range(4):
        for index in range(32):
            core_data.maintain_set_way(s, way << 30 | index << 5, 0, 1)
    for at in lines:
        core.load(SDRAM + at)
    assert core.memory.counters()["dcache_misses"] - before == 128


def test_set_and_way_name_one_line() -> None:
    core = Core(board(F746))
    core.store(SDRAM + 5 * 32)
    core.wait(200)
    cleaned = [
        (way, index)
        for way in range(4)
        for index in range(32)
        if core_data.maintain_set_way(core.state, way << 30 | index << 5, 1, 0)
    ]
    assert [index for _, index in cleaned] == [5]
    assert core_data.maintain_set_way(core.state, 500 << 5, 1, 1) == 0  # no such set
    assert core_data.maintain_set_way(Core(board(F469)).state, 0, 1, 1) == 0  # no cache at all


def test_an_access_across_two_words_of_a_line_waits_for_both() -> None:
    """The word of the first byte comes first, that of the last byte next, or last where the line has wrapped."""
    step = 4 * SDCLK  # eight bytes
    core = Core(board(F746))
    assert core.load(SDRAM + 6) == FIRST + step
    wrapped = Core(board(F746))
    assert wrapped.load(SDRAM + 24) == FIRST
    assert wrapped.load(SDRAM + 22) == 3 * step  # words 3, 0, 1, 2: the first byte's word is the last

"""Streams of DMA1 and DMA2 by their registers, without a core: flags, counts and times of copies between memories."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Literal

import pytest

from mcusim.memory import state_layout as L
from mcusim.memory.state_builder import WritingSide
from mcusim.memory.system import MemorySystem
from tests.support.boards.dma_bench import (
    CR,
    EN,
    F469,
    F746,
    FCR,
    FEIF,
    HTIE,
    HTIF,
    LIFCR,
    M0AR,
    M2M,
    MINC,
    NDTR,
    PAR,
    PINC,
    TCIE,
    TCIF,
    TEIE,
    TEIF,
    Bench,
    sizes,
)

SRAM, SRAM2, DTCM, FLASH, ITCM = 0x2001_0000, 0x2004_C000, 0x2000_0000, 0x0800_0000, 0x0000_0000
CCM = 0x1000_0000
IRQ0 = 56
THRESHOLDS: tuple[Literal["1/4", "1/2", "3/4", "full"], ...] = ("1/4", "1/2", "3/4", "full")
DATA = bytes(n * 7 % 251 for n in range(4096))


def alone(bench: Bench, source: int, target: int, size: int, beat: int, burst: int, fth: int, side: WritingSide) -> int:
    """Cycles of the same transfer as a task of a program, undisturbed, from a start."""
    dma = replace(bench.machine.dma["dma2"], beat=beat, burst=burst, threshold=THRESHOLDS[fth])
    return -(-MemorySystem(bench.machine).transfer(dma, source, target, size, side) // L.TICK)


def legal(size: int, burst: int, fth: int) -> bool:
    """ST RM0090 table 48, its rows by hand."""
    table = {
        1: {0: {4}, 1: {4, 8}, 2: {4}, 3: {4, 8, 16}},
        2: {0: set(), 1: {4}, 2: set(), 3: {4, 8}},
        4: {0: set(), 1: set(), 2: set(), 3: {4}},
    }
    return burst == 1 or burst in table[size][fth]


@pytest.mark.parametrize(("size", "burst", "fth"), [*product((1, 2, 4), (1, 4, 8, 16), range(4))])
def test_each_threshold_and_burst_copies_in_the_time_of_a_task_or_is_refused(size: int, burst: int, fth: int) -> None:
    bench = Bench()
    bench.emulator.write(SRAM, DATA)
    bench.copy(0, SRAM, SRAM2, 1024 // size, sizes(size, size, 1, burst) | TCIE, 0xA0 | fth)
    if not legal(size, burst, fth):
        assert (bench.flags(0), bench.get(0, CR) & EN, bench.lines) == (FEIF, 0, {IRQ0})
        return
    took = alone(bench, SRAM, SRAM2, 1024, size, 1, fth, WritingSide(size, burst))
    assert bench.run_until_raised(IRQ0) == took
    assert bench.emulator.read(SRAM2, 1024) == DATA[:1024]
    assert (bench.flags(0), bench.get(0, CR) & EN, bench.get(0, NDTR)) == (HTIF | TCIF, 0, 0)


def test_a_burst_of_the_peripheral_side_as_long_as_the_fifo_does_not_go_with_three_quarters() -> None:
    for fth, flags in ((3, 0), (2, FEIF)):
        bench = Bench()
        bench.copy(3, SRAM, SRAM2, 64, sizes(4, 4, 4), 0xA0 | fth)
        assert bench.flags(3) == flags


@pytest.mark.parametrize(("peripheral", "memory"), [(1, 4), (4, 1), (2, 4), (4, 2), (1, 2)])
def test_bytes_are_packed_and_unpacked(peripheral: int, memory: int) -> None:
    bench = Bench()
    bench.emulator.write(SRAM, DATA)
    bench.copy(1, SRAM, SRAM2, 500 // peripheral, sizes(peripheral, memory) | TCIE, 0x23)
    took = alone(bench, SRAM, SRAM2, 500, peripheral, 1, 3, WritingSide(memory, 1))
    assert bench.run_until_raised(IRQ0 + 1) == took
    assert bench.emulator.read(SRAM2, 501) == DATA[:500] + b"\0"


def test_a_source_that_stays_fills_and_a_target_that_stays_has_the_last_unit() -> None:
    bench = Bench()
    bench.emulator.write(SRAM, DATA)
    for minc, pinc, expected in ((MINC, 0, DATA[:4] * 32), (0, PINC, DATA[124:128] + bytes(124))):
        bench.emulator.write(SRAM2, bytes(128))
        for register, value in ((PAR, SRAM), (M0AR, SRAM2), (NDTR, 32), (FCR, 0x23)):
            bench.set(2, register, value)
        bench.set(2, CR, M2M | minc | pinc | sizes(4, 4) | EN)
        bench.run(bench.now + 10_000)
        assert bench.flags(2) == HTIF | TCIF
        assert bench.emulator.read(SRAM2, 128) == expected
        bench.clear(2)


def test_the_count_falls_and_half_comes_when_half_is_written() -> None:
    bench = Bench()
    bench.copy(0, SRAM, SRAM2, 256, sizes(4, 4) | HTIE, 0x23)
    seen = []
    while not bench.flags(0) & TCIF:
        seen.append((bench.get(0, NDTR), bench.flags(0), bench.get(0, CR) & EN))
        bench.run(bench.now + 1)
    counts = [units for units, _, _ in seen]
    assert counts == sorted(counts, reverse=True) and set(range(1, 257)) <= {256, *counts} | {0}
    halfway = next(units for units, flags, _ in seen if flags & HTIF)
    assert 128 - 4 <= halfway <= 128  # the FIFO has up to four words that are read and not written
    assert all(enabled for _, _, enabled in seen)


def test_the_line_rises_at_half_the_time_and_falls_when_the_flag_is_cleared() -> None:
    bench = Bench()
    bench.copy(0, SRAM, SRAM2, 256, sizes(4, 4) | HTIE | TCIE)
    half = bench.run_until_raised(IRQ0)
    assert bench.flags(0) == HTIF
    bench.clear(0, HTIF)
    assert not bench.lines
    end = bench.run_until_raised(IRQ0)
    assert half == pytest.approx(end / 2, rel=0.03)
    bench.dma.write(LIFCR, 4, TCIF)
    assert not bench.lines


@pytest.mark.parametrize(
    ("board", "source", "target"),
    [(F746, ITCM, SRAM), (F746, SRAM, ITCM), (F469, CCM, 0x2000_0000), (F746, SRAM, FLASH)],
)
def test_memory_that_the_dma_does_not_reach_is_an_error(board: str, source: int, target: int) -> None:
    bench = Bench(board)
    bench.copy(0, source, target, 16, TEIE)
    assert (bench.flags(0), bench.get(0, CR) & EN, bench.get(0, NDTR)) == (TEIF, 0, 16)
    assert bench.lines == {IRQ0}


def test_a_copy_that_leaves_memory_ends_there_with_an_error() -> None:
    bench = Bench()
    end = SRAM2 + 0x4000
    bench.emulator.write(SRAM, DATA)
    bench.copy(0, SRAM, end - 400, 200, sizes(4, 4) | TEIE, 0x23)
    bench.run_until_raised(IRQ0)
    assert (bench.flags(0), bench.get(0, CR) & EN, bench.get(0, NDTR)) == (TEIF | HTIF, 0, 100)
    assert bench.emulator.read(end - 400, 400) == DATA[:400]


def test_dtcm_is_reached_and_dma1_copies_nothing_between_memories() -> None:
    bench = Bench()
    bench.emulator.write(DTCM, DATA)
    bench.copy(4, DTCM, SRAM, 100)
    bench.run(10_000)
    assert bench.emulator.read(SRAM, 100) == DATA[:100]
    assert bench.flags(4) == HTIF | TCIF
    other = Bench(controller="dma1")
    other.copy(0, DTCM, SRAM, 100)
    assert other.flags(0) == TEIF


def test_disabled_while_it_runs_it_writes_its_fifo_and_keeps_the_rest() -> None:
    bench = Bench()
    bench.emulator.write(SRAM, DATA)
    bench.copy(0, SRAM, SRAM2, 256, sizes(4, 4), 0x23)
    bench.run(500)
    bench.set(0, CR, bench.get(0, CR) & ~EN)
    rest = bench.get(0, NDTR)
    assert 0 < rest < 256 and bench.flags(0) & TCIF == 0 and bench.get(0, CR) & EN
    bench.run(600)
    assert bench.flags(0) & TCIF and not bench.get(0, CR) & EN and bench.get(0, NDTR) == rest
    done = 1024 - 4 * rest
    assert bench.emulator.read(SRAM2, 1024) == DATA[:done] + bytes(1024 - done)


def test_enabled_again_it_does_the_same_once_more() -> None:
    bench = Bench()
    ends = []
    for _ in range(2):
        begin = bench.now
        bench.set(0, CR, 0) if begin else bench.copy(0, SRAM, SRAM2, 100, TCIE)
        if begin:
            bench.clear(0)
            bench.set(0, CR, M2M | PINC | MINC | TCIE | EN)
        ends.append(bench.run_until_raised(IRQ0) - begin)
    assert ends[0] == ends[1]
    assert (bench.dma.streams[0].transfers, bench.dma.streams[0].bytes) == (2, 200)


def test_registers_keep_their_words_while_a_stream_runs() -> None:
    bench = Bench()
    bench.copy(0, SRAM, SRAM2, 100)
    for register in (NDTR, PAR, M0AR, FCR):
        before = bench.get(0, register)
        bench.set(0, register, 0)
        assert bench.get(0, register) == before


def test_a_more_urgent_stream_ends_first() -> None:
    bench = Bench()
    bench.copy(0, SRAM, SRAM2, 200, TCIE)
    bench.copy(1, SRAM, SRAM2 + 0x1000, 200, TCIE | 3 << 16)
    assert bench.run_until_raised(IRQ0 + 1) < bench.run_until_raised(IRQ0)


def test_of_equal_priorities_the_lower_number_goes_first() -> None:
    ends = {}
    for first, second in ((0, 5), (5, 0)):
        bench = Bench()
        bench.copy(first, SRAM, SRAM2, 200, TCIE)
        bench.copy(second, SRAM, SRAM2 + 0x1000, 200, TCIE)
        bench.run_until_raised(IRQ0)
        ends[first] = bench.now
        assert 68 not in bench.lines
    assert ends[0] == ends[5]  # whichever began first


@pytest.mark.parametrize("size", [1, 2])
def test_a_store_of_a_part_of_a_word_changes_nothing_and_is_found(size: int) -> None:
    bench = Bench()
    bench.dma.write(0x10 + FCR, size, 0x83)
    assert bench.get(0, FCR) == 0x21
    assert bench.findings == [
        f"DMA2_S0FCR was stored to with {size} B at 0x08001234, which changed nothing: DMA registers take whole words;"
        " store 32 bits"
    ]


def test_a_stream_that_is_enabled_while_a_flag_is_set_is_found() -> None:
    bench = Bench()
    bench.copy(0, SRAM, SRAM2, 16)
    bench.run(1000)
    bench.copy(0, SRAM, SRAM2, 16)
    (finding,) = bench.findings
    assert finding.startswith("DMA2 stream 0 was enabled at 0x08001234 while HTIF, TCIF were set")

"""Published memory throughput of STM32F7 boards, access by access through the emulated core's port: within 15 %.

The loops were not published; two cycles of core work per access represent them. The same rows without a program, in
bursts: test_microbenchmarks.py.
"""

from __future__ import annotations

import pytest

from mcusim.machine import load_machine
from tests.support.cases import few
from tests.support.code.single_access_core import F746, Core

CACHED, DEVICE = 0x6000_0000, 0xC000_0000  # SDRAM where the default map is write-back, and where it is Device memory
LOOP = 2
# ttuzz, STM32F746G-DISCO at 200 MHz, SDCLK 100 MHz, MPU non-cacheable: HCLK per access
READS = {1: 14.6, 2: 15.3, 4: 14.9, 8: 18.8}
WRITES = {1: 10.0, 2: 10.0, 4: 10.9, 8: 13.2}


def core(clock: str, sdram: str, base: int) -> Core:
    keys = {"core.clock": clock, "memory.sdram.clock": sdram, "memory.flash.wait_states": "6"}
    return Core(load_machine(F746, keys | {"memory.sdram.base": hex(base)}))


@few(2)
@pytest.mark.parametrize("size", READS)
def test_uncached_sdram_reads(size: int) -> None:
    board = core("200 MHz", "100 MHz", DEVICE)
    for at in range(0, 1 << 17, size):
        board.wait(LOOP)
        board.load(DEVICE + at, size)
    assert board.now / ((1 << 17) / size) == pytest.approx(READS[size], rel=0.15)


@few(2)
@pytest.mark.parametrize("size", WRITES)
def test_uncached_sdram_writes(size: int) -> None:
    board = core("200 MHz", "100 MHz", DEVICE)
    for at in range(0, 1 << 17, size):
        board.wait(LOOP)
        board.store(DEVICE + at, size)
    assert board.now / ((1 << 17) / size) == pytest.approx(WRITES[size], rel=0.15)


@few(2)
@pytest.mark.parametrize(("base", "milliseconds"), [(CACHED, 27.0), (DEVICE, 40.0)])
@pytest.mark.parametrize("apart", [1 << 20, 1 << 22])
def test_copy_of_one_mebibyte(base: int, milliseconds: float, apart: int) -> None:
    """MicroPython at 192 MHz, SDRAM to SDRAM (micropython PR 4032), eight words at a time (LDM, STM), one a cycle.

    One mebibyte apart both lie in one bank of the SDRAM, four apart in two. An eighth is copied and multiplied.
    """
    board = core("192 MHz", "96 MHz", base)
    for offset in range(0, 1 << 17, 32):
        for word in range(0, 32, 4):
            board.wait(1)
            board.load(base + offset + word)
        for word in range(0, 32, 4):
            board.wait(1)
            board.store(base + apart + offset + word)
    assert 8 * board.now / 192e3 == pytest.approx(milliseconds, rel=0.15)


def test_line_fill_at_100_mhz() -> None:
    """STM32H723, 16 bit at 100 MHz: sequential reads at 127 MB/s, 25.2 SDCLK a line (hpm_sdk issue 33)."""
    board = core("200 MHz", "100 MHz", CACHED)
    for at in range(0, 1 << 17, 4):
        board.wait(LOOP)
        board.load(CACHED + at)
    assert board.now / (1 << 12) / 2 == pytest.approx(25.2, rel=0.15)


@pytest.mark.parametrize(("cached", "clocks", "step"), [(True, 25.2, 32), (False, 7.4, 4)])
def test_line_fill_and_uncached_word_of_an_h7_class_board(cached: bool, clocks: float, step: int) -> None:
    """The same measurement at that board's clocks: core 480 MHz, bus 240 MHz; the FMC's own time in its clocks."""
    keys = {"core.clock": "480 MHz", "bus.clock": "240 MHz", "memory.sdram.clock": "100 MHz"}
    keys["core.force_clock"] = "true"
    keys |= {"memory.sdram.read_overhead": "3 sdclk", "memory.sdram.read_burst": "false", "cache.data.size": "16 KiB"}
    board = Core(load_machine(F746, keys))
    board.memory.enable_caches(data=cached, instruction=True)
    for at in range(0, 1 << 17, 4):
        board.wait(LOOP)
        board.load(CACHED + at)
    assert board.now / 4.8 / ((1 << 17) / step) == pytest.approx(clocks, rel=0.15)

"""The published memory micro-benchmarks of the STM32F746G-DISCO, as compiled loops on the emulated core: within 15 %.

The published loops are not known: these are the plain volatile loops that GCC -O2 makes of
``test_programs/src/memory.c``. The copies move a word at a time between two banks of the SDRAM, or eight words at a
time within one.
"""

from __future__ import annotations

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import load_machine

CACHED, UNCACHED = 0x6000_0000, 0xC000_0000
MIB = 1 << 20
# ttuzz, STM32F746G-DISCO at 200 MHz, SDCLK 100 MHz, non-cacheable: HCLK per access of 1, 2, 4, 8 bytes
READS = {1: 14.6, 2: 15.3, 4: 14.9, 8: 18.8}
WRITES = {1: 10.0, 2: 10.0, 4: 10.9, 8: 13.2}


def cycles(clock: str, base: int, function: str, *arguments: int) -> int:
    keys = {
        "core.clock": f"{clock} MHz",
        "memory.sdram.clock": f"{int(clock) // 2} MHz",
        "memory.flash.wait_states": "6",
        "memory.sdram.base": hex(base),
    }
    emulator = Emulator(load_machine("stm32f746g-disco", keys))
    image = load_image(program_path("memory", "cortex-m7"))
    emulator.load(image, as_started=True)
    emulator.set_stack(0x2001_0000, 0)
    emulator.call(image.symbol(function).address, arguments)
    assert emulator.run().kind == "returned"
    return emulator.cycles


@pytest.mark.parametrize("size", READS)
def test_uncached_reads(size: int) -> None:
    found = cycles("200", UNCACHED, f"read_u{8 * size}", UNCACHED, MIB // 4) * size / (MIB // 4)
    assert found == pytest.approx(READS[size], rel=0.15)


@pytest.mark.parametrize("size", WRITES)
def test_uncached_writes(size: int) -> None:
    found = cycles("200", UNCACHED, f"write_u{8 * size}", UNCACHED, MIB // 4) * size / (MIB // 4)
    assert found == pytest.approx(WRITES[size], rel=0.15)


@pytest.mark.parametrize(("base", "milliseconds"), [(CACHED, 27.0), (UNCACHED, 40.0)])
@pytest.mark.parametrize(("function", "apart"), [("copy_words", 4 * MIB), ("copy_ldm", MIB)])
def test_copy_of_one_mebibyte(function: str, apart: int, base: int, milliseconds: float) -> None:
    """MicroPython at 192 MHz, cacheable and with the default attribute (micropython PR 4032)."""
    assert cycles("192", base, function, base + apart, base, MIB) / 192e3 == pytest.approx(milliseconds, rel=0.15)


def test_word_copy_within_one_bank_opens_a_row_for_every_word() -> None:
    """What the published copy cannot have done: every word closes the row of the other buffer."""
    near = cycles("192", UNCACHED, "copy_words", UNCACHED + MIB, UNCACHED, MIB // 4)
    far = cycles("192", UNCACHED, "copy_words", UNCACHED + 4 * MIB, UNCACHED, MIB // 4)
    rows = (2 * (2 + 2) + 2) * 2  # tRP + tRCD for two accesses, tWR before the precharge, in HCLK
    assert near - far == pytest.approx(rows * MIB / 4 / 4, rel=0.1)

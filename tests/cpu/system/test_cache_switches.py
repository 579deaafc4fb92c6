"""Caches that a program switches on and off, and flash that changes behind them: what it gets and what is found."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim import verify_firmware
from tests.support.programs.register_script import (
    STORE,
    Step,
    image,
    invalidated_lines,
    load,
    poll,
    run,
    store,
    wait,
)

F746, H743 = "stm32f746g-disco", "nucleo-h743zi"
CCR, ICIALLU, DCISW, DCCSW, DCCISW = 0xE000_ED14, 0xE000_EF50, 0xE000_EF60, 0xE000_EF6C, 0xE000_EF74
DCIMVAC, DCCMVAC = 0xE000_EF5C, 0xE000_EF68
DATA, CODE, ALIGN = 1 << 16, 1 << 17, 1 << 9
SRAM = 0x2001_4000
LINES = invalidated_lines(4096)
ON = [*LINES, store(CCR, DATA | ALIGN)]
OFF = store(CCR, ALIGN)
CLEANED = invalidated_lines(4096, register=DCCISW)


def seen(folder: Path, steps: list[Step], machine: str = F746) -> tuple[list[tuple[str, int]], list[int]]:
    """Rules with how often, and what the loads got."""
    result, words = run(folder, machine, steps, until="3 s")
    assert result.stop.fault is None
    return [(one.rule, one.count) for one in result.findings], words


@pytest.mark.parametrize(
    ("steps", "count"),
    [
        ([store(CCR, DATA)], 1),
        ([*LINES[1:], store(CCR, DATA)], 1),
        ([*LINES, store(CCR, DATA)], 0),
        ([*LINES, store(CCR, DATA), OFF, store(CCR, DATA)], 0),  # it has no line since
        ([store(CCR, CODE)], 1),
        ([store(ICIALLU, 0), store(CCR, CODE)], 0),
        ([store(DCCISW, 0), *LINES, store(CCR, DATA)], 1),
        ([*LINES, store(DCCSW, 0), store(CCR, DATA)], 0),
    ],
)
def test_a_cache_is_invalidated_before_it_is_used(tmp_path: Path, steps: list[Step], count: int) -> None:
    rules, _ = seen(tmp_path, steps)
    assert rules == [("cache-not-invalidated", 1)] * count


def test_a_larger_cache_has_more_lines_to_invalidate(tmp_path: Path) -> None:
    assert seen(tmp_path, ON, H743)[0] == [("cache-not-invalidated", 1)]
    assert seen(tmp_path, [*invalidated_lines(16384), store(CCR, DATA)], H743)[0] == []


@pytest.mark.parametrize(
    ("steps", "times", "words"),
    [
        ([OFF, load(SRAM)], 1, [0]),  # memory's
        ([OFF, store(SRAM, 2), load(SRAM), *CLEANED, load(SRAM)], 2, [2, 1]),  # overwritten by the line
        ([OFF, load(SRAM + 32), store(SRAM + 32, 3), *CLEANED, load(SRAM)], 0, [0, 1]),  # as CMSIS' does
        ([store(DCCMVAC, SRAM), OFF, load(SRAM), store(SRAM, 2), load(SRAM)], 0, [1, 2]),  # clean: not written back
        ([OFF, store(CCR, DATA | ALIGN), load(SRAM)], 0, [1]),  # the line is there again
        ([OFF, *LINES, load(SRAM)], 0, [0]),  # given up
    ],
)
def test_a_dirty_line_while_the_cache_is_off(tmp_path: Path, steps: list[Step], times: int, words: list[int]) -> None:
    rules, found = seen(tmp_path, [*ON, load(SRAM), store(SRAM, 1), *steps])
    assert found[1:] == words
    assert rules == [("cache-off-dirty", times)] * (times > 0)


def test_verify_has_the_same_finding_with_its_place(tmp_path: Path) -> None:
    steps = [*ON, load(SRAM), store(SRAM, 1), OFF, store(SRAM, 2)]
    found = verify_firmware(image(tmp_path, steps), F746, max_instructions=10_000).findings
    assert [(one.rule, one.low, one.times) for one in found] == [("cache-off-dirty", SRAM, 1)]
    assert found[0].place is not None and found[0].place.pc == STORE


@pytest.mark.parametrize(("machine", "regions"), [(F746, 8), (H743, 16), ("stm32f469i-disco", 8)])
def test_mpu_regions_are_those_of_the_part(tmp_path: Path, machine: str, regions: int) -> None:
    kind, rnr, rbar, rasr = 0xE000_ED90, 0xE000_ED98, 0xE000_ED9C, 0xE000_EDA0
    for number in (7, 8, 15):
        stores = [store(kind, 0), load(kind), store(rnr, number), store(rbar, 0x2000_0000), store(rasr, 0x0300_0009)]
        rules, words = seen(tmp_path, [*stores, load(rasr)], machine)
        assert words == [regions << 8, 0x0300_0009 if number < regions else 0]
        assert rules == [("no-such-region", 1)] * (number >= regions)


FLASH, WORD = 0x4002_3C00, 0x0804_0000
READY = poll(FLASH + 0xC, 0, 1 << 16)
OPEN = [store(FLASH + 4, 0x4567_0123), store(FLASH + 4, 0xCDEF_89AB)]
ERASED = [store(FLASH + 0x10, 5 << 3 | 2 << 8 | 2), store(FLASH + 0x10, 1 << 16 | 5 << 3 | 2 << 8 | 2), READY]
PROGRAMMED = [store(FLASH + 0x10, 2 << 8 | 1), store(WORD, 0x1234_5678), wait(20_000), READY]
INVALIDATED = store(DCIMVAC, WORD)


@pytest.mark.parametrize(
    ("steps", "times", "words"),
    [
        ([load(WORD), *ERASED, load(WORD), INVALIDATED, load(WORD)], 1, [0x1234_5678, 0x1234_5678, 0xFFFF_FFFF]),
        ([load(WORD), *ERASED, INVALIDATED, load(WORD)], 0, [0x1234_5678, 0xFFFF_FFFF]),
        ([load(WORD), OFF, *ERASED, load(WORD)], 0, [0x1234_5678, 0xFFFF_FFFF]),  # the core gets the flash
        ([load(WORD), OFF, *ERASED, load(WORD), store(CCR, DATA), load(WORD)], 1,
         [0x1234_5678, 0xFFFF_FFFF, 0x1234_5678]),  # on again with the line as it was
        ([*ERASED, load(WORD), OFF, *PROGRAMMED, load(WORD), store(CCR, DATA), load(WORD)], 1,
         [0xFFFF_FFFF, 0x1234_5678, 0xFFFF_FFFF]),  # a store does not hit a line of a cache that is off
        ([*ERASED, load(WORD)], 0, [0xFFFF_FFFF]),  # no line
        # a store hits the line, which is written through, and the flash gets it too
        ([*ERASED, load(WORD), *PROGRAMMED, load(WORD), INVALIDATED, load(WORD)], 0, [-1, 0x1234_5678, 0x1234_5678]),
        # bits that are clear stay so in the flash; the line has what was stored
        ([load(WORD), store(WORD, 0xFFFF_0000), wait(20_000), load(WORD), INVALIDATED, load(WORD)], 1,
         [0x1234_5678, 0xFFFF_0000, 0x1234_0000]),
    ],
)  # fmt: skip
def test_flash_behind_a_line_that_the_cache_has(
    tmp_path: Path, steps: list[Step], times: int, words: list[int]
) -> None:
    rules, found = seen(tmp_path, [*OPEN, *PROGRAMMED, *ON, *steps])
    assert found == [word & 0xFFFF_FFFF for word in words]
    assert [one for one in rules if one[0] != "flash-not-erased"] == [("stale-flash", times)] * (times > 0)

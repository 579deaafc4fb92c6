"""Watchdogs: a cycle before and at the cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.machine import Machine, load_machine
from mcusim.soc.machine_blocks import blocks_of
from mcusim.soc.register_block import RegisterBlock
from tests.support.bare_clock import Clock
from tests.support.programs.register_script import load, run, store, wait

F4, F7 = load_machine("stm32f469i-disco"), load_machine("stm32f746g-disco")


def block(name: str, clock: Clock) -> RegisterBlock:
    return next(one for one in blocks_of(F7, clock) if one.name == name)


def put(block: RegisterBlock, **words: int) -> None:
    for name, word in words.items():
        block.write(block._at[name], 4, word)


def get(block: RegisterBlock, name: str) -> int:
    return block.read(block._at[name], 4)


def due(clock: Clock, cycle: int) -> None:
    """The events up to ``cycle``, those that they enter included."""
    while found := [call for call in clock.calls if call[0] <= cycle]:
        first = min(found, key=lambda call: call[0])
        clock.calls.remove(first)
        clock.cycles = max(clock.cycles, first[0])
        first[1]()
    clock.cycles = cycle


def test_the_independent_watchdog_bites_when_its_time_is_over() -> None:
    clock = Clock()
    iwdg = block("IWDG", clock)
    put(iwdg, PR=1, RLR=9)
    assert (get(iwdg, "PR"), get(iwdg, "RLR")) == (0, 0xFFF)  # locked
    put(iwdg, KR=0x5555, PR=1, RLR=9)
    clock.cycles = 156
    assert get(iwdg, "SR") == 3 and iwdg.waiting
    clock.cycles = 157  # five cycles of 32 kHz at 1 MHz
    assert get(iwdg, "SR") == 0 and get(iwdg, "RLR") == 9
    put(iwdg, KR=0xCCCC)
    for refresh in (2000, 4000):  # a period is 10 x 8 / 32 kHz = 2,500 cycles
        due(clock, 157 + refresh)
        put(iwdg, KR=0xAAAA)
    due(clock, 157 + 4000 + 2499)
    assert clock.ended == ("", "")
    due(clock, 157 + 4000 + 2500)
    assert clock.ended[0] == "IWDG" and "IWDG was not refreshed for 2.5 ms" in clock.ended[1]


def test_the_independent_watchdog_s_window() -> None:
    clock = Clock()
    iwdg = block("IWDG", clock)
    put(iwdg, KR=0xCCCC)
    put(iwdg, KR=0x5555, RLR=100, WINR=50)
    put(iwdg, KR=0x5555)
    clock.cycles += 50 * 125
    put(iwdg, KR=0xAAAA)
    assert clock.ended == ("", "")
    clock.cycles += 50 * 125 - 1
    put(iwdg, KR=0xAAAA)
    assert "before its window" in clock.ended[1]


def test_the_window_watchdog() -> None:
    step = 2 * 4096  # its bus has half the core's clock
    clock = Clock()
    wwdg = block("WWDG", clock)
    put(wwdg, CFR=1 << 9 | 0x60, CR=0x80 | 0x7F)
    due(clock, 0x1F * step)
    assert get(wwdg, "CR") == 0x80 | 0x60
    put(wwdg, CR=0x80 | 0x42)
    due(clock, clock.cycles + 2 * step - 1)
    assert 0 not in clock.lines
    due(clock, clock.cycles + 1)
    assert 0 in clock.lines and get(wwdg, "SR") == 1 and clock.ended == ("", "")
    due(clock, clock.cycles + step)
    assert "below 0x40" in clock.ended[1]


def test_the_window_watchdog_refreshed_too_early() -> None:
    clock = Clock()
    wwdg = block("WWDG", clock)
    put(wwdg, CFR=0x60, CR=0x80 | 0x7F)
    clock.cycles = 0x1F * 2 * 4096 - 1
    put(wwdg, CR=0x80 | 0x7F)
    assert "before its window" in clock.ended[1]


@pytest.mark.parametrize(("machine", "cause"), [(F4, "IWDG"), (F7, "IWDG"), (F4, "WWDG")])
def test_a_watchdog_resets_the_part_until_nothing_changes(machine: Machine, cause: str, tmp_path: Path) -> None:
    csr, bkp = 0x4002_3874, 0x4000_2850
    iwdg = [store(0x4000_3000, 0x5555), store(0x4000_3008, 31), store(0x4000_3000, 0xCCCC)]  # 32 counts of 4 / 32 kHz
    starts = iwdg if cause == "IWDG" else [store(0x4000_2C00, 0xC0)]
    ending = [load(csr), load(bkp), store(bkp, 0x1234), *starts, wait(1 << 22)]
    result, words = run(tmp_path, machine, ending)
    assert words == [0x0E00_0000 | 1 << (29 if cause == "IWDG" else 30), 0x1234]  # reset flags, a backup register
    assert [one.cause for one in result.resets] == [cause, cause]
    first, second = (one.cycle for one in result.resets)
    assert abs(second - 2 * first) < 50  # each takes as long
    fault = result.stop.fault
    assert fault is not None and fault.kind == "watchdog" and result.exit_status == 1
    assert "resets have no end, 2 were performed" in fault.text
    once, _ = run(tmp_path, machine, ending, most_resets=1)
    assert len(once.resets) == 1 and once.stop.kind == "fault"
    never, _ = run(tmp_path, machine, [*ending[:-1], store(csr, 1 << 24), wait(9)], most_resets=0)
    assert not never.resets and "resets have no end" not in (never.stop.fault.text if never.stop.fault else "")


def test_a_sleeping_core_is_reset_by_its_watchdog(tmp_path: Path) -> None:
    """`wait` ends in `b .`, which is as good as a sleep; so the clock jumps."""
    iwdg = [store(0x4000_3000, 0x5555), store(0x4000_3008, 31), store(0x4000_3000, 0xCCCC)]
    result, _ = run(tmp_path, F7, iwdg)
    assert [one.cycle // 1000 for one in result.resets] == [864, 1728]  # 4 ms at 216 MHz

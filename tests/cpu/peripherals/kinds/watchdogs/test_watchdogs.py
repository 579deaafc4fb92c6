"""Watchdogs: a cycle before and at the cycle."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.cpu.peripherals.register_block import RegisterBlock
from mcusim.cpu.peripherals.registry import blocks_of
from mcusim.machine import load_machine
from tests.support.bare_clock import Clock
from tests.support.programs.register_script import run, store, wait

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
    assert clock.ended[0] == "watchdog" and "IWDG was not refreshed for 2.5 ms" in clock.ended[1]


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


@pytest.mark.parametrize("machine", [F4, F7])
def test_a_watchdog_ends_a_run_by_its_name(machine: object, tmp_path: Path) -> None:
    short = [store(0x4000_3000, 0x5555), store(0x4000_3008, 31)]  # 32 counts of 4 / 32 kHz
    result, _ = run(tmp_path, machine, [*short, store(0x4000_3000, 0xCCCC), wait(9)])  # type: ignore[arg-type]
    fault = result.stop.fault
    assert fault is not None and fault.kind == "watchdog" and fault.text.startswith("IWDG was not refreshed for 4 ms")
    assert result.exit_status == 1 and 0.004 <= result.seconds < 0.005

"""Display controller, RTC, resets by RCC: a cycle before and at the cycle."""

from __future__ import annotations

from pathlib import Path

from mcusim.machine import load_machine
from mcusim.soc.machine_blocks import blocks_of
from mcusim.soc.register_block import RegisterBlock
from tests.support.bare_clock import Clock
from tests.support.programs.register_script import load, poll, run, store

F4, F7 = load_machine("stm32f469i-disco"), load_machine("stm32f746g-disco")


def block(name: str, clock: Clock) -> RegisterBlock:
    return next(one for one in blocks_of(F7, clock) if one.name == name)


def put(block: RegisterBlock, **words: int) -> None:
    for name, word in words.items():
        block.write(block._at[name], 4, word)


def get(block: RegisterBlock, name: str) -> int:
    return block.read(block._at[name], 4)


def test_a_reload_of_the_display_waits_for_the_frame_s_end() -> None:
    clock = Clock()
    ltdc, frame = block("LTDC", clock), 1_000_000 // 60
    put(ltdc, SRCR=2)
    assert get(ltdc, "SRCR") == 0  # it is off
    put(ltdc, ICR=8, GCR=1, IER=8, SRCR=2)
    clock.cycles = frame // 50
    assert get(ltdc, "CDSR") & 5 == 1
    clock.cycles = frame - 1
    assert get(ltdc, "SRCR") == 2 and 88 not in clock.lines
    clock.cycles = frame
    assert get(ltdc, "SRCR") == 0 and get(ltdc, "ISR") == 8 and 88 in clock.lines
    assert get(ltdc, "CDSR") & 5 == 4
    put(ltdc, ICR=8, SRCR=1)
    assert get(ltdc, "ISR") == 8  # at once


def test_the_clock_s_initialisation_and_synchronisation() -> None:
    clock = Clock()
    rtc = block("RTC", clock)
    put(rtc, ISR=0x80)
    clock.cycles = 60
    assert get(rtc, "ISR") & 0x60 == 0
    clock.cycles = 61
    assert get(rtc, "ISR") & 0x60 == 0x40
    clock.cycles = 62
    assert get(rtc, "ISR") & 0x60 == 0x60
    put(rtc, ISR=0)
    assert get(rtc, "ISR") & 0xE0 == 0


def test_rcc_resets_blocks_and_clears_its_flags(tmp_path: Path) -> None:
    ahb1rstr, csr, odr = 0x4002_3810, 0x4002_3874, 0x4002_0414
    steps = [store(odr, 5), store(ahb1rstr, 2), store(ahb1rstr, 0), load(odr)]
    steps += [load(csr), store(csr, 1 << 24), load(csr)]
    _, words = run(tmp_path, F4, steps)
    assert words == [0, 0x0E00_0000, 0]


def test_polling_another_block_while_one_works_is_endless_all_the_same(tmp_path: Path) -> None:
    """A timer that counts without an interrupt does not change RCC."""
    tim2, rcc = 0x4000_0000, 0x4002_3800
    result, _ = run(tmp_path, F4, [store(tim2, 1), poll(rcc, 1 << 25, 1 << 25)])
    fault = result.stop.fault
    assert fault is not None and fault.kind == "endless poll" and "RCC_CR" in fault.text
    result, words = run(tmp_path, F4, [store(tim2 + 0x2C, 99), store(tim2, 1), poll(tim2 + 0x10, 1, 1), load(tim2)])
    assert words == [1]

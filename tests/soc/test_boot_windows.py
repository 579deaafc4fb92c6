"""Addresses at which a part shows its memories as well."""

from __future__ import annotations

from pathlib import Path

from mcusim.machine import load_machine
from mcusim.soc.boot_windows import with_boot_windows
from tests.support.programs.register_script import FLASH, TOP, load, run, store

F4, F7 = load_machine("stm32f469i-disco"), load_machine("stm32f746g-disco")


def test_the_flash_of_an_f4_is_at_zero_too(tmp_path: Path) -> None:
    result, words = run(tmp_path, F4, [load(0), load(FLASH)])
    assert words == [TOP, TOP] and result.findings == ()
    result, _ = run(tmp_path, F4, [store(0x4001_3800, 3)])
    assert [one.rule for one in result.findings] == ["no-answer"] and "memory 3 at address 0" in result.findings[0].text


def test_windows_are_added_once_and_only_where_nothing_is() -> None:
    f4, f7 = with_boot_windows(F4), with_boot_windows(F7)
    assert f4.memory["flash"].aliases[-1:] == (0,) and f4.memory["sdram"].aliases == (0x6000_0000,)
    assert f7.memory["flash"].aliases == F7.memory["flash"].aliases and f7.memory["sdram"].aliases == (0xC000_0000,)
    assert with_boot_windows(f4).memory == f4.memory

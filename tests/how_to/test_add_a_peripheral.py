"""The peripheral that docs/pages/how-to/add-a-peripheral.md adds: its class and its table as they are on the page."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from mcusim.machine import load_machine
from mcusim.soc import machine_blocks as registry
from mcusim.soc.register_block import RegisterBlock
from tests.support.bare_clock import Clock
from tests.support.paths import REPOSITORY
from tests.support.programs.register_script import load, poll, run, store

PAGE = (REPOSITORY / "docs" / "pages" / "how-to" / "add-a-peripheral.md").read_text(encoding="utf-8")
BOARD, BASE = load_machine("stm32f469i-disco"), 0x4000_6000
CR, SR, DR = BASE, BASE + 4, BASE + 8


def block(title: str) -> str:
    found = re.search(rf'^```\w+ title="{title}"\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found[1]


@pytest.fixture(autouse=True)
def added(monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, Any] = {"__name__": "thermometer"}
    exec(block("mcusim/soc/peripherals/thermometer.py"), names)
    monkeypatch.setitem(registry.KINDS, "thermometer", names["Thermometer"])
    more, shipped = tomllib.loads(block("mcusim/soc/families/f4/blocks.toml")), registry.described

    def described(name: str) -> dict[str, Any]:
        whole = shipped(name)
        return {**whole, **{key: whole.get(key, {}) | table for key, table in more.items()}} if name == "f4" else whole

    monkeypatch.setattr(registry, "described", described)


def test_it_is_done_after_its_time_and_not_before() -> None:
    clock = Clock()
    found: RegisterBlock = next(one for one in registry.blocks_of(BOARD, clock) if one.name == "THERMOMETER")
    found.write(0, 4, 1)
    clock.cycles = 9
    assert found.read(4, 4) == 0 and found.waiting and 95 not in clock.lines
    clock.cycles = 10  # 10 us at 1 MHz
    assert (found.read(4, 4), found.read(8, 4)) == (1, 2150) and 95 in clock.lines
    found.write(4, 4, 1)
    assert found.read(4, 4) == 0 and 95 not in clock.lines


def test_a_program_polls_it(tmp_path: Path) -> None:
    result, words = run(tmp_path, BOARD, [store(CR, 1), poll(SR, 1, 1), load(DR)])
    assert words == [2150] and result.findings == ()
    result, _ = run(tmp_path, BOARD, [poll(SR, 1, 1)])
    assert result.stop.fault is not None and "THERMOMETER_SR" in result.stop.fault.text

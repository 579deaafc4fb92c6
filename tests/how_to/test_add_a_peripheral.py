"""The peripheral that docs/pages/how-to/add-a-peripheral.md adds: its file and its board as they are on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mcusim.commands.app import main
from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.soc.machine_blocks import blocks_of
from tests.support.bare_clock import Clock
from tests.support.errors import one_error
from tests.support.paths import REPOSITORY
from tests.support.programs.register_script import image, load, poll, run, store

PAGE = (REPOSITORY / "docs" / "pages" / "how-to" / "add-a-peripheral.md").read_text(encoding="utf-8")
BASE = 0x4000_6000
CR, SR, DR = BASE, BASE + 4, BASE + 8


def text_of(title: str) -> str:
    match = re.search(rf'^```\w+ title="{title}"\n(.*?)^```$', PAGE, re.DOTALL | re.MULTILINE)
    assert match is not None
    return match[1]


@pytest.fixture
def board(tmp_path: Path) -> Machine:
    for name in ("thermometer.py", "my-board.toml"):
        (tmp_path / name).write_text(text_of(name), encoding="utf-8")
    return load_machine(tmp_path / "my-board.toml")


def test_it_is_done_after_its_time_and_not_before(board: Machine) -> None:
    clock = Clock()
    block = next(block for block in blocks_of(board, clock) if block.name == "THERMOMETER")
    block.write(0, 4, 1)
    clock.cycles = 9
    assert block.read(4, 4) == 0 and block.waiting and 95 not in clock.lines
    clock.cycles = 10  # 10 us at 1 MHz
    assert (block.read(4, 4), block.read(8, 4)) == (1, 2150) and 95 in clock.lines
    block.write(4, 4, 1)
    assert block.read(4, 4) == 0 and 95 not in clock.lines


def test_a_program_polls_it(board: Machine, tmp_path: Path) -> None:
    result, words = run(tmp_path, board, [store(CR, 1), poll(SR, 1, 1), load(DR)])
    assert words == [2150] and result.findings == ()
    result, _ = run(tmp_path, board, [poll(SR, 1, 1)])
    assert result.stop.fault is not None and "THERMOMETER_SR" in result.stop.fault.text


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("BLOCK = ", "OTHER = ", "thermometer.py: has no BLOCK that is a class derived from"),
        ("LAYOUT = ", "OTHER = ", "LAYOUT is no table of registers: a mapping of names"),
        ('"offset": 0x04, ', "", "LAYOUT is no table of registers: 'offset' is missing"),
        ('"w1c"', '"wlc"', "LAYOUT is no table of registers: .*unexpected keyword argument 'wlc'"),
        ("0x08", "0x402", "DR has offset 1026: is a multiple of 4 below the block's 1,024 B"),
        ("0x08", "0x04", "LAYOUT: two registers have one offset"),
        ("START, DONE = 1, 1", "START = DONE", "thermometer.py:10: NameError: name 'DONE' is not defined"),
        ("return self[register]", "return self.nothing", "peripheral thermometer: thermometer.py:36: AttributeError"),
        ("return self[register]", "pass", "thermometer.py: on_read returns a NoneType, not a whole number"),
        ("return self[register]", "raise SystemExit(0)", "peripheral thermometer: thermometer.py:36: SystemExit: 0"),
        ('"writable": 0}', '"writable": -1}', "DR has -1: must be a whole number of 32 bits"),
        ("self.host.clock // 100_000", "self.nothing", "peripheral thermometer: thermometer.py:40: AttributeError"),
    ],
)
def test_a_broken_one_is_one_line(
    old: str, new: str, error: str, board: Machine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "thermometer.py"
    file.write_text(file.read_text().replace(old, new, 1))
    program = image(tmp_path, [store(CR, 1), poll(SR, 1, 1)])
    assert main(["emulate", program, "--machine", str(tmp_path / "my-board.toml")]) == 2
    assert re.search(error, one_error(capsys))

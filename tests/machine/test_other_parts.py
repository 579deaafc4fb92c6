"""Parts that do not ship: which board is named for one, and that the options that come near are taken."""

from __future__ import annotations

import shlex

import pytest

from mcusim import load_machine
from mcusim.commands.app import main
from mcusim.machine import machine_names
from mcusim.machine.other_parts import _table, board_part, differences, find_part, near_options, nearest_board
from tests.support.cases import sampled
from tests.support.errors import one_error

LINES = sorted(_table()["lines"])


@pytest.mark.parametrize("board", machine_names())
def test_the_table_has_the_figures_of_boards_that_ship(board: str) -> None:
    machine, part = load_machine(board), board_part(board)
    ram = sum(r.size for r in machine.memory.values() if r.kind in ("sram", "tcm") and r.name != "itcm")
    flash = sum(r.size for r in machine.memory.values() if r.kind == "flash")
    assert (part.core, part.ram, part.flash) == (machine.core.isa, ram // 1024, flash // 1024)
    assert machine.core.max_clock is None or part.mhz * 1_000_000 == machine.core.max_clock
    assert nearest_board(part) == board or differences(part, nearest_board(part)).startswith("the same core")


@pytest.mark.parametrize(
    ("text", "name", "flash"),
    [
        ("h753", "STM32H753", 2048),
        ("STM32H750VBT6", "STM32H750VB", 128),
        ("stm32f401rc", "STM32F401RC", 256),
        ("NUCLEO-F446RE", "STM32F446RE", 512),
        ("nucleo_l476rg", "STM32L476RG", 1024),
        ("Portenta H7", "STM32H747XI", 2048),
        ("stm32f769i-disco", "STM32F769I", 2048),
    ],
)
def test_names_of_parts_and_boards(text: str, name: str, flash: int) -> None:
    part = find_part(text)
    assert part is not None and (part.name, part.flash) == (name, flash)


@pytest.mark.parametrize("text", ["h7", "u575zi", "stm32", "", "my-board", "h799", "f4", "x" * 500])
def test_what_is_no_known_part(text: str) -> None:
    assert find_part(text) is None


def test_a_part_that_a_board_has_in_its_name_is_that_board() -> None:
    assert load_machine("STM32H743ZI").name == "nucleo-h743zi" and load_machine("stm32g474").name == "nucleo-g474re"


def test_what_is_said_of_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "ds-cnn", "-m", "STM32H753ZI"]) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and 'no machine "STM32H753ZI" ships; the nearest is nucleo-h743zi:' in captured.err
    assert "nucleo-h743zi has the same core, highest clock, data RAM and flash" in captured.err
    assert main(["memory", "ds-cnn", "-m", "f446re"]) == 2
    text = capsys.readouterr().err
    assert "clock 168 MHz instead of 180 MHz, data RAM 192 KiB instead of 128 KiB, flash 1 MiB instead of 512" in text
    assert main(["run", "ds-cnn", "-m", "nucleo-u575zi"]) == 2
    assert "its core is cortex-m33" in capsys.readouterr().err
    assert main(["run", "ds-cnn", "-m", "stm32f746g-disko"]) == 2
    assert 'did you mean "stm32f746g-disco"' in capsys.readouterr().err
    assert main(["run", "ds-cnn", "-m", "f746x.toml"]) == 2
    assert "f746x.toml" in one_error(capsys)


@pytest.mark.parametrize("line", sampled(LINES, 6))
def test_options_that_come_near_are_taken(line: str, capsys: pytest.CaptureFixture[str]) -> None:
    part = find_part(line)
    assert part is not None
    words = shlex.split(near_options(part, nearest_board(part)))
    assert main(["run", "figure-1", *words, "--json", "-"]) in (0, 1)
    assert "error" not in capsys.readouterr().err.partition("exceeds")[0]

"""A board of one's own: all that is wrong at once, names however they are written, a copy to change."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest

from mcusim.commands.app import main
from mcusim.errors import MachineError
from mcusim.machine import load_machine, machine_names, machine_toml
from mcusim.machine.catalog import find_name
from mcusim.machine.description import Machine

SMALL = """
[core]
isa = "cortex-m4"
clock = "100 MHz"
[memory.sram]
device = "sram"
base = 0x2000_0000
size = "100 KiB"
width = "32 bit"
read_latency = "0 cycles"
write_latency = "0 cycles"
[memory.flash]
device = "flash"
base = 0x0800_0000
size = "1 MiB"
line = "16 B"
wait_states = 5
read_latency = "0 cycles"
[power]
supply = "5 V"
run = "50 mA"
"""
BAD = """
[core]
isa = "cortex-m9"
[memory.sram]
device = "sram"
base = 0x2000_0000
size = "100 KB"
colour = 1
[memory.flash]
device = "flash"
base = "0x0"
"""


def own(folder: Path, text: str) -> Path:
    path = folder / "my.toml"
    path.write_text(text)
    return path


def test_all_that_is_missing_or_wrong_is_said_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = own(tmp_path, BAD)
    with pytest.raises(MachineError) as caught:
        load_machine(path)
    lines = [line.removeprefix(str(path)) for line in caught.value.lines]
    assert {re.sub(r": (must|a |\"100|unknown).*", "", line) for line in lines} == {
        ':3: core.isa = "cortex-m9"', ":2: [core]: the key clock is missing", ":8: memory.sram.colour = 1",
        ':7: memory.sram.size = "100 KB"', ":4: [memory.sram]: the key width is missing",
        ":4: [memory.sram]: the key read_latency is missing", ":4: [memory.sram]: the key write_latency is missing",
        ':11: memory.flash.base = "0x0"', ":9: [memory.flash]: the key size is missing",
        ":9: [memory.flash]: the key line is missing", ":9: [memory.flash]: the key wait_states is missing",
        ":9: [memory.flash]: the key read_latency is missing", ": [power]: the key supply is missing",
        ": [power]: the key run is missing", ": the file: the table [power] is missing",
    }  # fmt: skip
    assert ":2: [core]: the key clock is missing: a clock is a number and a unit (Hz, kHz, MHz, GHz) in quotes" in lines
    assert main(["run", "ds-cnn", "--machine", str(path)]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[0] == f"error: {path}: 15 keys are missing or wrong:"
    assert shown[1:] == [f"  {line}" for line in caught.value.lines]


def test_broken_rules_are_said_at_once(tmp_path: Path) -> None:
    text = SMALL.replace("0x0800_0000", "0x2000_0004").replace('"16 B"', '"32 B"').replace('"1 MiB"', '"1000 B"')
    with pytest.raises(MachineError, match=r"2 keys are missing or wrong") as caught:
        load_machine(own(tmp_path, text))
    assert "must not overlap" in caught.value.lines[0] and "multiple of the flash line" in caught.value.lines[1]


def test_currents_of_absent_devices_are_not_asked_for(tmp_path: Path) -> None:
    machine = load_machine(own(tmp_path, SMALL))
    assert (machine.power.sdram_active, machine.power.qspi_active, machine.power.dma_active) == (0, 0, 0)
    assert machine.figures["power.sdram_active"].source == "default: the machine has no SDRAM"
    dma = """
[dma.one]
streams = 1
beat = "4 B"
burst = 1
max_units = 65535
request_setup = "10 hclk"
completion_interrupt = "20 hclk"
"""
    with pytest.raises(MachineError, match=r"\[power\]: the key dma_active is missing: .*; the machine has a DMA$"):
        load_machine(own(tmp_path, SMALL + dma))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("STM32F746G-DISCO", "stm32f746g-disco"), ("stm32f746g", "stm32f746g-disco"), ("f469", "stm32f469i-disco"),
        ("H743", "nucleo-h743zi"), ("nucleo f746", "nucleo-f746zg"), ("F746G", "stm32f746g-disco"),
        ("f746", "stm32f746g-disco"), ("f7", None), ("", None), ("stm32f999", None),
    ],
)  # fmt: skip
def test_boards_are_found_however_they_are_written(text: str, name: str | None) -> None:
    assert find_name(text) == name
    if name is not None:
        assert load_machine(text) is load_machine(name)


def test_a_file_is_found_without_its_suffix_where_no_board_ships_under_the_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("mine", "f746"):
        (tmp_path / f"{name}.toml").write_text('extends = "stm32f469i-disco"\n', encoding="utf-8")
    assert load_machine("mine").name == "mine" and load_machine("f746").name == "stm32f746g-disco"
    with pytest.raises(MachineError, match="a board of your own: mcusim machines --new "):
        load_machine("mina")


def test_a_name_of_two_boards_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines", "disco"]) == 2
    first, *rest = capsys.readouterr().err.splitlines()
    assert first == 'error: machine "disco" may be one of 2:'
    assert [line.split()[0] for line in rest] == ["stm32f469i-disco", "stm32f746g-disco"]
    assert main(["machines", "unknown"]) == 2
    first, *rest = capsys.readouterr().err.splitlines()
    *boards, own = rest
    assert [line.split()[0] for line in boards] == list(machine_names()) and all("  " in one.strip() for one in boards)
    assert own.strip().startswith("a board of your own: mcusim machines --new ")


def alike(machine: Machine) -> tuple[Any, ...]:
    """All of a machine but its name and where its figures are written."""
    fields = {one.name: getattr(machine, one.name) for one in dataclasses.fields(machine) if one.init}
    figures = {key: (figure.text, figure.basis, figure.source) for key, figure in machine.figures.items()}
    own = ("name", "title", "path", "figures", "_raw", "_replace", "_readings", "changes")
    return tuple(value for name, value in fields.items() if name not in own), figures


@pytest.mark.parametrize("name", machine_names())
def test_a_copy_is_the_same_board(name: str, tmp_path: Path) -> None:
    machine = load_machine(name)
    copy = load_machine(own(tmp_path, text := machine_toml(machine, "my.toml")))
    assert "(value=" not in text and "Fraction" not in text, "what follows from another key is written as that"
    assert alike(copy) == alike(machine) and copy.name == "my"


def test_machines_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["machines", "--new", "my.toml", "--from", "f469", "--set", "core.clock=100 MHz"]) == 0
    assert load_machine("my.toml").core.clock == 100_000_000
    words = ["machines", "--new", "my.toml", "--from", "f469", "--clock", "200 MHz", "--force-clock", "--force"]
    assert main(words) == 0
    forced = load_machine("my.toml")
    assert (forced.core.clock, forced.core.force_clock, forced.moved) == (200_000_000, True, ())
    assert forced.memory == load_machine("f469", {"core.clock": "200 MHz", "core.force_clock": "true"}).memory
    typed = [
        "--set",
        "memory.flash.wait_states=3",
        "--set",
        "memory.sram1.dma=false",
        "--set",
        "memory.sdram.dividers=[2]",
    ]
    assert main(["machines", "--new", "my.toml", "--from", "f469", *typed, "--force"]) == 0
    assert load_machine("my.toml").figures["memory.flash.wait_states"].text == "3"
    text = Path("my.toml").read_text()
    assert "# A copy of stm32f469i-disco" in text and "# aliases = []" in text and text.count("# ") > 10
    assert main(["machines", "--new", "my.toml", "--from", "f469"]) == 2 and Path("my.toml").read_text() == text
    assert "--force overwrites it" in capsys.readouterr().err
    assert main(["machines", "--new", "my.toml", "--from", "my.toml", "--force"]) == 2
    capsys.readouterr()
    for wrong in (["--new", "x.toml"], ["--from", "f469"], ["--new", "x.txt", "--from", "f469"],
                  ["--new", "x.toml", "--from", "f469", "--json", "-"]):  # fmt: skip
        assert main(["machines", *wrong]) == 2
        assert not Path("x.toml").exists() and capsys.readouterr().err.count("\n") == 1


def test_the_short_option_of_the_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-V"]) == main(["--version"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == second and first.startswith("mcusim ")

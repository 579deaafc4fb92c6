"""A run on the machine that the firmware's register writes describe, and what a figure is worth."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import mcusim
from mcusim.emulator.register_config import SetUpRow
from mcusim.errors import UsageError
from mcusim.kernels.test_programs import FIRMWARE, program_path
from mcusim.report.firmware.json import emulation_json
from mcusim.report.firmware.table import emulation_table
from mcusim.results.emulation import EmulationResult

F4, F7 = "stm32f469i-disco", "stm32f746g-disco"
M4, M7 = program_path("clock", "cortex-m4"), program_path("clock", "cortex-m7")
WAITS, PREFETCH = "memory.flash.wait_states", "memory.flash.accelerator.prefetch"


def row(result: EmulationResult, key: str) -> SetUpRow:
    return next(one for one in result.set_up.rows if one.key == key)


def test_a_run_shows_values_next_to_the_machines_and_the_line_of_the_store() -> None:
    result = mcusim.emulate(M7, F7)
    found = row(result, WAITS)
    assert (found.value, found.machine, found.differs, found.register, found.word) == (
        "7",
        "5",
        True,
        "FLASH_ACR",
        0x307,
    )
    line = result.image.line_at(found.pc or 0)
    assert line is not None and line[0].endswith("clock.c")
    text = line[0].rpartition("/")[2] + f":{line[1]}"
    assert text in emulation_table(result)
    as_json = next(one for one in emulation_json(result)["set_up"]["figures"] if one["key"] == WAITS)
    assert (as_json["used"], as_json["cost"], as_json["line"]) == ("machine", None, line[1])
    assert row(result, "cache.data").value == "off"


def test_the_machine_from_the_firmware_is_the_machine_with_its_figures() -> None:
    shown: list[bytes] = []
    result = mcusim.emulate(M7, F7, machine_from_firmware=True, output=shown.append)
    by_hand = mcusim.emulate(M7, F7, overrides={WAITS: "7", PREFETCH: "true"})
    assert set(result.set_up.taken) == {WAITS, PREFETCH}
    assert result.profile.cycles == by_hand.profile.cycles != mcusim.emulate(M7, F7).profile.cycles
    assert b"".join(shown).count(b"clocks 0") == 1  # of the second run alone
    assert result.machine.figures[WAITS].basis == "measured" and "FLASH_ACR" in result.machine.figures[WAITS].source


def test_what_a_user_sets_goes_first() -> None:
    result = mcusim.emulate(M7, F7, machine_from_firmware=True, overrides={WAITS: "6"})
    assert result.set_up.taken == (PREFETCH,) and row(result, WAITS).machine == "6"
    text, branches = emulation_table(result), result.profile.branches
    missed = 100 * branches["mispredicted"] / branches["branches"]
    assert f"mispredicted {branches['mispredicted']:,} ({missed:.2f} %)" in text and missed > 0
    assert f"--set goes before the firmware's: {WAITS}" in text


def test_what_a_machine_cannot_take_is_named_and_the_rest_is_taken() -> None:
    """25 MHz / 25 x 432 / 2 is more than an STM32F469 can run at."""
    result = mcusim.emulate(M4, F4, machine_from_firmware=True, overrides={"core.external_clock": "25 MHz"})
    assert list(result.set_up.refused) == ["core.clock"] and "216 MHz" in result.set_up.refused["core.clock"]
    assert WAITS in result.set_up.taken and result.machine.core.clock == 180_000_000
    assert "not taken from the firmware: core.clock" in " ".join(emulation_table(result).split())


@pytest.mark.parametrize("taken", [False, True])
def test_a_figure_is_worth_the_difference_of_two_runs(taken: bool) -> None:
    names: list[str] = []
    result = mcusim.emulate(M7, F7, machine_from_firmware=taken, set_up_costs=True, stage=names.append)
    others = {PREFETCH: "true"} if taken else {}
    cycles = [mcusim.emulate(M7, F7, overrides={WAITS: n, **others}).profile.cycles for n in ("5", "7")]
    assert result.set_up.costs[WAITS] == cycles[1] - cycles[0] != 0
    assert set(result.set_up.costs) == {WAITS, PREFETCH} and len(names) == 2 + 2 * taken
    assert json.dumps(emulation_json(result))


def test_costs_need_an_end_that_is_a_place() -> None:
    with pytest.raises(UsageError, match="--until a time is not one"):
        mcusim.emulate(M7, F7, until="2000 cycles", set_up_costs=True)


def test_an_unknown_option_is_python_s_error() -> None:
    with pytest.raises(TypeError, match="unexpected keyword argument 'machine_from_file'"):
        mcusim.emulate(M7, F7, machine_from_file=True)  # type: ignore[call-arg]


def test_a_boards_start_up_makes_the_machine_of_its_writes(tmp_path: Path) -> None:
    """SDRAM, wait states and accelerator that are otherwise in the file: found, and taken, to the cycle."""
    board = tmp_path / "board.toml"
    board.write_text(
        'name = "board-f746"\ntitle = "STM32F746 with other figures"\nextends = "stm32f746g-disco"\n'
        "[memory.flash]\nwait_states = 7\naccelerator.prefetch = true\n"
        '[memory.sdram]\nread_burst = false\ntiming.CL = "3 sdclk"\ntiming.tRC = "8 sdclk"\ntiming.tWR = "3 sdclk"\n'
    )
    program, refresh = program_path("board", "cortex-m7", FIRMWARE), "memory.sdram.timing.refresh"
    plain = mcusim.emulate(program, board)
    differing = {row.key: row.value for row in plain.set_up.rows if row.differs and row.effect == "figure"}
    sdram = {f"memory.sdram.{key}": value for key, value in (
        ("read_burst", "true"), ("timing.CL", "2 sdclk"), ("timing.tRC", "6 sdclk"), ("timing.tWR", "2 sdclk"),
        ("timing.refresh", "1668 sdclk"),
    )}  # fmt: skip
    assert differing == {WAITS: "5", PREFETCH: "false", **sdram}
    taken = mcusim.emulate(program, board, machine_from_firmware=True)
    shipped = mcusim.emulate(program, F7, overrides={refresh: "1668 sdclk"})
    assert taken.profile.cycles == shipped.profile.cycles != plain.profile.cycles
    found = {row.key: row.value for row in plain.set_up.rows if row.effect == "followed"}
    assert found["cache.data"] == "on" and found["MPU region 0"].startswith("0x60000000 8 MiB write-back")

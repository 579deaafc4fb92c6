"""SDRAM before its command sequence, in runs from reset: which step is missing, where, and who is not asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.machine import Machine, load_machine
from tests.support.programs.register_script import STORE, load, run, store

F4, F7 = load_machine("stm32f469i-disco"), load_machine("stm32f746g-disco")
SDRAM, SWAPPED = 0xC000_0000, 0x6000_0000
RCC, FMC, MEMRMP = 0x4002_3830, 0xA000_0150, 0x4001_3800
COMMANDS = [store(FMC, 0x10 | mode) for mode in (1, 2, 3, 4)]
REFRESH = store(FMC + 4, 0x0569 << 1)
STEPS = ["clock enable", "precharge all", "auto-refresh", "load mode register", "refresh rate (FMC_SDRTR)"]


@pytest.mark.parametrize("machine", [F4, F7])
def test_the_missing_step_is_named_with_its_place(machine: Machine, tmp_path: Path) -> None:
    for done, missing in enumerate(STEPS):
        steps = [*COMMANDS[:done], store(SDRAM, 7), load(SDRAM)]
        result, _ = run(tmp_path, machine, [store(RCC, 1), *steps])
        fault = result.stop.fault
        assert result.exit_status == 1 and fault is not None and fault.kind == "SDRAM not ready"
        assert (fault.pc, fault.address) == (STORE, SDRAM) and fault.text.endswith(f"missing is {missing}")
        result, words = run(tmp_path, machine, [store(RCC, 1), *steps], peripherals="lenient")
        [found] = result.findings
        assert (result.exit_status, words) == (0, [7])
        assert (found.rule, found.pc, found.address) == ("sdram-not-ready", STORE, SDRAM)


def test_after_the_whole_sequence_it_answers(tmp_path: Path) -> None:
    result, words = run(tmp_path, F4, [store(RCC, 1), *COMMANDS, REFRESH, store(SDRAM, 7), load(SDRAM)])
    assert (result.exit_status, result.findings, words) == (0, (), [7])


def test_commands_out_of_order_do_not_count(tmp_path: Path) -> None:
    result, _ = run(tmp_path, F4, [COMMANDS[0], COMMANDS[3], COMMANDS[1], COMMANDS[2], REFRESH, store(SDRAM, 7)])
    assert result.stop.fault is not None and result.stop.fault.text.endswith("load mode register")


def test_a_program_that_sets_nothing_up_is_not_asked(tmp_path: Path) -> None:
    """Until it does: then its first access is the finding."""
    result, _ = run(tmp_path, F4, [store(SDRAM, 7)])
    assert (result.exit_status, result.findings) == (0, ())
    for later in (store(RCC, 1), COMMANDS[0]):
        result, _ = run(tmp_path, F4, [store(SDRAM, 7), later])
        assert result.stop.fault is not None and result.stop.fault.pc == STORE


def test_what_has_loaded_the_sdram_has_set_it_up(tmp_path: Path) -> None:
    """But for a program that commands the FMC itself."""
    data = tmp_path / "data.bin"
    data.write_bytes(b"data")
    images = [f"{data}@{SDRAM:#x}"]
    result, _ = run(tmp_path, F4, [store(RCC, 1), load(SDRAM)], images=images)
    assert (result.exit_status, result.findings) == (0, ())
    result, _ = run(tmp_path, F4, [load(SDRAM), COMMANDS[0]], images=images)
    assert result.stop.fault is not None and "clock enable" in result.stop.fault.text


@pytest.mark.parametrize(("at", "other"), [(SDRAM, SWAPPED), (SWAPPED, SDRAM)])
def test_the_bank_swap_decides_where_it_is(at: int, other: int, tmp_path: Path) -> None:
    """Both windows show the same bytes, each when SWP_FMC maps it."""
    ready = [*COMMANDS, REFRESH, store(MEMRMP, (at == SWAPPED) << 10), store(at, 9)]
    result, words = run(tmp_path, F7, [*ready, load(at)])
    assert (result.exit_status, words) == (0, [9])
    result, words = run(tmp_path, F7, [*ready, load(other)], peripherals="lenient")
    assert words == [9] and "SWP_FMC" in result.findings[0].text and result.findings[0].address == other


def test_a_reset_of_the_fmc_takes_it_back(tmp_path: Path) -> None:
    ahb3rstr = 0x4002_3818
    result, _ = run(tmp_path, F4, [*COMMANDS, REFRESH, store(ahb3rstr, 1), store(ahb3rstr, 0), store(SDRAM, 7)])
    assert result.stop.fault is not None and "clock enable" in result.stop.fault.text

"""The firmware that ships, from reset: what it prints, which exceptions it takes, what it takes in time."""

from __future__ import annotations

import pytest

import mcusim
from mcusim.kernels.test_programs import BROKEN, FIRMWARE, program_names, program_path
from tests.support.cases import few, sampled

BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}


@pytest.mark.parametrize("isa", BOARDS)
def test_a_preemptive_kernel_with_floats_in_both_tasks(isa: str) -> None:
    shown = bytearray()
    result = mcusim.emulate(program_path("rtos", isa, FIRMWARE), BOARDS[isa], output=shown.extend)
    *numbers, verdict = shown.decode().splitlines()
    assert result.exit_status == 0 and verdict == "kernel: ok"
    printed = {line.split()[1]: int(line.split()[2]) for line in numbers}
    assert printed["values"] == 200
    taken = {count.name: count.count for count in result.profile.exceptions}
    assert taken["SysTick"] == printed["ticks"] == result.profile.cycles // 20_000  # a tick is that many cycles
    # 200 values sent, the last of them received; 28 sleeps of the sender, 12 of the receiver
    assert taken["SVCall"] == 200 + 200 + 28 + 12
    assert printed["switches"] < taken["PendSV"] <= taken["SVCall"] + taken["SysTick"] + 1


PARTS = (
    ("cortex-m4", "nucleo-l4r5zi", 3, 27),
    ("cortex-m4", "nucleo-g474re", 4, 112),
    ("cortex-m7", "nucleo-h743zi", 6, 138),
)


@pytest.mark.parametrize(("isa", "board", "checks", "interrupt"), PARTS)
def test_clocks_of_a_part_and_copies_by_its_controllers(isa: str, board: str, checks: int, interrupt: int) -> None:
    shown = bytearray()
    result = mcusim.emulate(program_path("parts", isa, FIRMWARE), board, output=shown.extend)
    step, *rest = shown.decode().splitlines()
    assert step == "clock step that failed 0" and len(rest) == checks
    assert all(line.endswith(": ok") for line in rest) and result.exit_status == 0
    assert result.findings == ()
    taken = {count.number: count.count for count in result.profile.exceptions}
    assert taken[interrupt] == 1 and taken[15] >= 2


@pytest.mark.parametrize("isa", BOARDS)
def test_a_board_starts_as_a_vendor_starts_it(isa: str) -> None:
    """Clock tree, tick by a timer, caches, SDRAM; 1 ms for the SDRAM, 10 on both ticks, the rest for oscillators."""
    shown = bytearray()
    result = mcusim.emulate(program_path("board", isa, FIRMWARE), BOARDS[isa], output=shown.extend)
    assert result.exit_status == 0 and shown.count(b": ok\n") == 5
    assert result.findings == ()
    assert 12e-3 < result.seconds < 17e-3


# as the transfers come here, the result is right all the same
RIGHT = {(isa, fault) for isa in BOARDS for fault in ("race", "wrong-flag")} | {("cortex-m7", "output-reused")}
CASES = [(isa, name) for isa in BOARDS for name in program_names(isa, BROKEN)]


@few(1)
@pytest.mark.parametrize(("isa", "fault"), sampled(CASES, 4))
def test_a_broken_overlay_shows_in_its_result_or_by_chance_does_not(isa: str, fault: str) -> None:
    shown = bytearray()
    result = mcusim.emulate(program_path(fault, isa, BROKEN), BOARDS[isa], output=shown.extend)
    verdict = shown.decode().splitlines()[-1].removeprefix("overlay: ")
    assert verdict == ("ok" if (isa, fault) in RIGHT else "a transfer failed" if fault == "unreachable" else "WRONG")
    assert result.exit_status == (verdict != "ok")

"""Where a run begins and ends: entries, --until, a main that returns to nothing; what semihosting reads."""

from __future__ import annotations

import struct
from itertools import pairwise
from pathlib import Path

import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import UsageError
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from tests.support.errors import one_error

F746 = "stm32f746g-disco"
FLASH, STACK, SRAM = 0x0800_0000, 0x2005_0000, 0x2001_0000
BL_MAIN, BX_LR, MAIN, CALLED = 0x40, 0x44, 0x48, 0x54
# bl main; bx lr; udf; main: push {lr}; bl called; movs r0, #5; pop {pc}; nop; called: bx lr
VENDOR = struct.pack("<11H", 0xF000, 0xF802, 0x4770, 0xDE00, 0xB500, 0xF000, 0xF803, 0x2005, 0xBD00, 0xBF00, 0x4770)


def vendor(folder: Path) -> str:
    """A binary with the start-up code of a vendor, whose main returns."""
    path = folder / "vendor.bin"
    path.write_bytes(struct.pack("<16I", STACK, *[FLASH + BL_MAIN + 1] * 15) + VENDOR)
    return f"{path}@{FLASH:#x}"


def test_the_run_ends_where_main_returns_to_the_end_of_reset_code(tmp_path: Path) -> None:
    result = mcusim.emulate(vendor(tmp_path), F746)
    assert (result.stop.kind, result.exit_status) == ("main", 0)
    assert result.registers["r0"] == 5 and result.registers["pc"] == FLASH + BX_LR
    assert result.profile.issued == 6
    asked = mcusim.emulate(vendor(tmp_path), F746, until=FLASH + BX_LR)
    assert asked.stop.kind == "reached" and asked.profile.cycles == result.profile.cycles


def test_until_an_address_stops_before_it_and_after_what_came_first(tmp_path: Path) -> None:
    file = vendor(tmp_path)
    found = [mcusim.emulate(file, F746, until=FLASH + at) for at in (BL_MAIN, MAIN, MAIN + 2, CALLED, MAIN + 6)]
    assert [result.profile.issued for result in found] == [0, 1, 2, 3, 4]
    assert [result.registers["pc"] - FLASH for result in found] == [BL_MAIN, MAIN, MAIN + 2, CALLED, MAIN + 6]
    cycles = [result.profile.cycles for result in found]
    assert all(before < after for before, after in pairwise(cycles))
    assert all(result.exit_status == 0 and result.until for result in found)


def test_until_a_symbol_of_a_program_that_ships() -> None:
    path = program_path("conv", "cortex-m7")
    result = mcusim.emulate(path, F746, until="main")
    assert result.registers["pc"] == load_image(path).symbol("main").address
    assert mcusim.emulate(path, F746, until="main", entry="Reset_Handler").profile.cycles == result.profile.cycles


@pytest.mark.parametrize(("until", "cycle"), [("1000 cycles", 1000), ("5 us", 1080), ("1001 cycles", 1001)])
def test_until_a_time_stops_at_the_first_block_from_there_on(until: str, cycle: int) -> None:
    path = program_path("conv", "cortex-m7")
    result = mcusim.emulate(path, F746, until=until)
    assert result.stop.kind == "horizon" and result.until == until and cycle <= result.profile.cycles < cycle + 100
    before = mcusim.emulate(path, F746, until=f"{cycle - 100} cycles")
    assert before.profile.cycles < result.profile.cycles


def test_one_cycle_is_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", vendor(tmp_path), "--until", "1 cycles", "--top", "0"]) == 0
    assert "stopped after 1 cycle\n" in capsys.readouterr().out


def test_an_end_that_is_not_reached_is_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", vendor(tmp_path), "--until", f"{FLASH:#x}", "--top", "0"]) == 1
    captured = capsys.readouterr()
    assert "main returned, and the reset code has nothing after it, before --until 0x8000000" in captured.out
    assert "before --until" in captured.err


def test_a_run_begins_at_a_second_vector_table_or_at_code(tmp_path: Path) -> None:
    second = tmp_path / "second.bin"
    second.write_bytes(struct.pack("<16I", STACK - 256, *[FLASH + 0x1000 + 0x41] * 15) + VENDOR)
    images = [f"{second}@{FLASH + 0x1000:#x}"]
    at_table = mcusim.emulate(vendor(tmp_path), F746, images=images, entry=FLASH + 0x1000)
    assert at_table.started == "reset" and at_table.pc == FLASH + 0x1000 + BL_MAIN and at_table.stack.top == STACK - 256
    at_code = mcusim.emulate(vendor(tmp_path), F746, images=images, entry=FLASH + MAIN)
    assert at_code.pc == FLASH + MAIN and at_code.stop.kind == "returned" and not at_code.caches


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (["--until", "1000"], "an address begins with 0x, a time has a unit"),
        (["--until", "0 cycles"], "from 1 cycle on"),
        (["--until", "5 parsec"], '--until: "5 parsec" has the wrong unit'),
        (["--until", "5 ms s"], '--until: "5 ms s"'),
        (["--until", "-3 ms"], '--until: "-3 ms"'),
        (["--until", "mian"], "near names are main"),
        (["--until", "0x100000000"], "0xffffffff"),
        (["--entry", "0x20000000"], "in no executable segment"),
        (["--entry", "main", "--call", "main"], "give one of them"),
        (["--stdin", "/no/such/input"], "/no/such/input"),
        (["--semihosting-args", "x" * 5000], "at most 4,096 B"),
    ],
)
def test_what_cannot_be_used_is_one_error(options: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["emulate", str(program_path("conv", "cortex-m7")), *options]) == 2
    assert text in one_error(capsys)


CALL_HOST = struct.pack("<2H", 0xBEAB, 0x4770)  # bkpt 0xab; bx lr


@pytest.mark.parametrize(("operation", "block", "result", "held"), [
    (7, (), ord("h"), b""),  # SYS_READC
    (6, (1, SRAM + 16, 8), 5, b"hi\n"),  # SYS_READ: to the end of the line; returns how many are missing
    (6, (1, SRAM + 16, 2), 0, b"hi"),
    (0x15, (SRAM + 16, 16), 0, b"host.bin one 2\0"),  # SYS_GET_CMDLINE
    (0x15, (SRAM + 16, 14), 0xFFFF_FFFF, b"\0"),  # the terminating zero does not fit
])  # fmt: skip
def test_semihosting_reads_input_and_command_line(
    operation: int, block: tuple[int, ...], result: int, held: bytes, tmp_path: Path
) -> None:
    (tmp_path / "host.bin").write_bytes(CALL_HOST)
    (tmp_path / "block").write_bytes(struct.pack(f"<{len(block)}I", *block) or b"\0")
    ran = mcusim.emulate(
        f"{tmp_path}/host.bin@{FLASH:#x}",
        F746,
        call=FLASH,
        arguments=(operation, SRAM),
        loads=[f"{tmp_path}/block@{SRAM:#x}"],
        dumps=[f"{SRAM + 16:#x}:16"],
        stdin=b"hi\nthere\n",
        semihosting_args="one 2",
    )
    assert ran.result == result and ran.dumps[0].data.startswith(held)


def test_input_and_arguments_are_of_their_types() -> None:
    path = program_path("conv", "cortex-m7")
    with pytest.raises(UsageError, match="stdin"):
        mcusim.emulate(path, F746, stdin="text")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="until"):
        mcusim.emulate(path, F746, until=1.5)  # type: ignore[arg-type]

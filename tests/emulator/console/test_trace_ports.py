"""What a program prints by the ITM's ports and by RTT: which ports, in which form, whole and in order."""

from __future__ import annotations

from pathlib import Path

import pytest

import mcusim
from mcusim.emulator.console.trace_ports import port_mask
from mcusim.errors import UsageError
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import FIRMWARE, program_path

F4 = "stm32f469i-disco"
PROGRAM = program_path("printing", "cortex-m4", FIRMWARE)
LINES = [f"line {n:02}" for n in range(20)]


def printed(path: str | Path, itm: str = "0") -> tuple[list[str], float]:
    """Its lines, and cycles."""
    shown = bytearray()
    result = mcusim.emulate(path, F4, itm=itm, output=shown.extend, max_instructions=2_000_000)
    assert result.exit_status == 0
    return shown.decode().splitlines(), result.profile.cycles


def test_the_ports_that_are_on_and_rtt_through_a_buffer_of_64_bytes() -> None:
    plain, cycles = printed(PROGRAM)
    assert plain == ["terminal", *LINES]
    ports = ["[itm 3] port three", "[itm 5] 0x0000002a", "[itm 5] 0xbeef"]
    lines, all_cycles = printed(PROGRAM, "all")
    assert sorted(lines) == sorted(["terminal", *ports, *LINES, "[itm 4] no end of line"])
    assert [line for line in lines if line in LINES] == LINES and lines[-1] == "[itm 4] no end of line"
    assert all_cycles == cycles
    assert [line for line in printed(PROGRAM, "3,5-6")[0] if line not in LINES] == ports
    assert printed(PROGRAM, "none")[0] == LINES


def test_rtt_of_a_program_without_symbols(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(load_image(PROGRAM).segments[0].data)
    assert printed(f"{path}@0x08000000") == printed(PROGRAM)


def test_ports_as_text() -> None:
    assert (port_mask("all"), port_mask("none"), port_mask("0,3-5"), port_mask("31")) == (2**32 - 1, 0, 0x39, 1 << 31)


@pytest.mark.parametrize("text", ["", "32", "-1", "5-3", "0,,1", "0-", "a", "1-2-3", "٣"])
def test_ports_that_are_none(text: str) -> None:
    with pytest.raises(UsageError, match="ports are numbers from 0 to 31"):
        port_mask(text)

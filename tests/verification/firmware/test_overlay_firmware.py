"""The overlay firmware: nothing is found in the correct one, and each of the broken ones with the line of its fault."""

from __future__ import annotations

import pytest

from mcusim.api.firmware.verify import FirmwareCase, firmware_case, fuzz_firmware, watch_firmware
from mcusim.kernels.test_programs import BROKEN, FIRMWARE, FOLDER, program_names, program_path
from tests.support.cases import few, sampled

BOARDS = {"cortex-m4": "stm32f469i-disco", "cortex-m7": "stm32f746g-disco"}
SOURCES = FOLDER.parent / "src" / "firmware" / "overlay"
START, KERNEL, OUTPUT = (
    "s->at->CR |= EN;",
    "return (int)cmsis_conv(&call);",
    "transfer_request(OUT, output_buffer(tile)",
)
FAULTS = {  # the rule that finds it, and what is on a line that the finding names
    "chunk-overlap": ("parts-misaligned", "transfers.c", START),
    "clean-after": ("missing-clean", "overlay.c", OUTPUT),
    "early-start": ("never-transferred", "transfers.c", "while (s->at->CR & EN);"),
    "half-line": ("shared-line", "overlay.c", "    TILE_DONE;"),
    "input-reused": ("read-early", "overlay.c", "if (FAULT == INPUT_REUSED"),
    "missing-clean": ("missing-clean", "overlay.c", OUTPUT),
    "missing-input-clean": ("missing-clean", "network.c", "while (bytes--)"),
    "missing-invalidate": ("missing-invalidate", "overlay.c", KERNEL),
    "missing-wait": ("read-early", "overlay.c", KERNEL),
    "ndtr-short": ("never-transferred", "transfers.c", START),
    "output-reused": ("source-overwritten", "overlay.c", KERNEL),
    "race": ("race", "transfers.c", "s->waiting++;"),
    "stream-order": ("read-early", "overlay.c", KERNEL),
    "unreachable": ("transfer-error", "transfers.c", START),
    "wrong-flag": ("read-early", "overlay.c", KERNEL),
    "wrong-half": ("read-early", "overlay.c", KERNEL),
}
BUILT = [(isa, name) for isa in BOARDS for name in program_names(isa, BROKEN)]


def case(name: str, isa: str, broken: bool) -> FirmwareCase:
    return firmware_case(program_path(name, isa, BROKEN if broken else FIRMWARE), BOARDS[isa])


def line_of(file: str, text: str) -> str:
    lines = (SOURCES / file).read_text().splitlines()
    (number,) = (n for n, line in enumerate(lines, 1) if text in line)
    return f"{file}:{number}"


@few(2)
@pytest.mark.parametrize(("isa", "name"), sampled(BUILT, 4), ids=lambda value: value)
def test_each_fault_is_found_with_its_line(isa: str, name: str) -> None:
    rule, file, text = FAULTS[name]
    result = watch_firmware(case(name, isa, broken=True))
    found = [one for one in result.findings if one.rule == rule]
    assert found, result.findings
    assert line_of(file, text) in {line for one in found for line in one.lines}
    assert all(one.transfer is None or one.transfer.registers["NDTR"] for one in found)


def test_every_fault_is_built() -> None:
    assert {name for _, name in BUILT} == FAULTS.keys()
    assert len(FAULTS) >= 12


@few(1)
@pytest.mark.parametrize("isa", BOARDS)
def test_nothing_is_found_in_the_correct_one_under_disturbed_timing(isa: str) -> None:
    """A sample of scripts/evidence/firmware/disturbed_overlay, which does so with 1,000 seeds."""
    one = case("overlay", isa, broken=False)
    result = fuzz_firmware(watch_firmware(one), one, range(1, 3))
    assert (result.wrong, result.run.status, result.run.transfers) == ([], 0, 54)

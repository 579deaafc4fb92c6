"""Firmware that waits for what cannot come, and transfers that were set up wrong: rules that need no wrong byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.api.firmware.verify import firmware_case, watch_firmware
from mcusim.emulator import emulator
from mcusim.verification.firmware.firmware_verification import FirmwareVerification
from tests.support.boards.dma_bench import CR, EN, F469, FCR, M0AR, M2M, MINC, NDTR, PAR, PINC, sizes, stream
from tests.support.programs.register_script import CODE, POLL, Step, code_at, image, load, poll, store

DMA2, LIFCR, FLAG, AT = 0x4002_6400, 0x4002_6408, 0x2000_2000, 0x2000_4000
CLOCK, ISER, TCIE = store(0x4002_3830, 1 << 22), 0xE000_E104, 1 << 4
ENABLE, ENDED, WAITS, READ = store(ISER, 1 << 24), poll(DMA2, 1 << 5, 1 << 5), poll(FLAG, 5, 5), load(AT + 0x13FC)
RETURNS = (0x4770_4770,) * 4  # BX LR
SETS_FLAG = (0x2105_4803, 0x4803_6001, 0x6001_213D, 0x4770), (FLAG, LIFCR, 0, 0)  # and clears the stream's flags


@pytest.fixture(autouse=True)
def short_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emulator, "SLICE", 20_000)


def copy(interrupts: int = 0, number: int = 0, words: int = 256, moves: int = PINC | MINC) -> list[Step]:
    registers = ((PAR, AT), (M0AR, AT + 0x1000), (NDTR, words), (FCR, 7), (CR, M2M | moves | sizes(4, 4) | interrupts))
    steps = [store(DMA2 + stream(number, register), value) for register, value in registers]
    return [*steps, store(DMA2 + stream(number, CR), registers[-1][1] | EN)]


def watched(folder: Path, steps: list[Step], *handler: Step) -> FirmwareVerification:
    """``handler``: words of the code of interrupt 56, that of DMA2's stream 0; it is an endless loop without."""
    at = code_at(len(CODE) + 16 * (len(steps) + 1)) | 1
    program = image(folder, [*steps, (0, 0, 0, 0), *handler], {72: at} if handler else None)
    return watch_firmware(firmware_case(program, F469, max_instructions=400_000))


def rules(result: FirmwareVerification) -> list[str]:
    return [one.rule for one in result.findings]


def test_a_handler_that_goes_round_for_ever_is_named_with_its_interrupt(tmp_path: Path) -> None:
    result = watched(tmp_path, [CLOCK, ENABLE, *copy(TCIE), WAITS])
    (found,) = result.findings
    assert found.rule == "stuck-handler" and "IRQ 56 (DMA2_Stream0)" in found.text


def test_a_handler_that_clears_nothing_comes_again_and_again(tmp_path: Path) -> None:
    result = watched(tmp_path, [CLOCK, ENABLE, *copy(TCIE), WAITS], RETURNS)
    assert result.run.fault is not None and "IRQ 56 (DMA2_Stream0) is taken again" in result.run.fault


@pytest.mark.parametrize("enabled", [False, True])
def test_a_wait_for_an_interrupt_that_the_nvic_does_not_let_through(tmp_path: Path, enabled: bool) -> None:
    result = watched(tmp_path, [CLOCK, *([ENABLE] if enabled else []), *copy(TCIE), WAITS], *SETS_FLAG)
    assert rules(result) == ([] if enabled else ["not-enabled"])
    assert (result.run.fault is None) == enabled
    if not enabled:
        assert result.run.place is not None and result.run.place.pc == POLL
        assert "IRQ 56 (DMA2_Stream0), which is not enabled" in result.findings[0].text


@pytest.mark.parametrize(("steps", "rule"), [([load(FLAG)], ["kept-in-register"]), ([WAITS, load(FLAG)], [])])
def test_a_loop_that_does_not_load_what_a_handler_has_changed_since(
    tmp_path: Path, steps: list[Step], rule: list[str]
) -> None:
    assert rules(watched(tmp_path, [CLOCK, ENABLE, *copy(TCIE), *steps], *SETS_FLAG)) == rule


@pytest.mark.parametrize("clears", [False, True])
def test_a_flag_that_an_earlier_transfer_left_set_tells_nothing_of_the_next(tmp_path: Path, clears: bool) -> None:
    clear = [store(LIFCR, 0x3D)] if clears else []
    result = watched(tmp_path, [CLOCK, *copy(), ENDED, *clear, *copy(words=1024), ENDED, READ])
    assert rules(result) == ([] if clears else ["read-early"])
    assert any("while HTIF, TCIF were set" in note for note in result.notes) != clears


def test_a_controller_without_its_clock(tmp_path: Path) -> None:
    result = watched(tmp_path, [*copy(), ENDED, READ])
    assert rules(result) == ["not-clocked"]
    assert "bit 22 of RCC_AHB1ENR" in result.findings[0].text

"""The ADC of the L4 and H7: what a driver waits for, a cycle before and at the cycle."""

from __future__ import annotations

import pytest

from tests.soc.peripherals.test_behaviours import block, load, store
from tests.soc.peripherals.test_outside import run_to
from tests.support.bare_clock import Clock

BOARDS = pytest.mark.parametrize("board", ["nucleo-l4r5zi", "nucleo-h743zi"])
ENABLE, START, STOP, CALIBRATE = 1, 1 << 2, 1 << 4, 1 << 31
CONVERSION = 260  # cycles, where the core has the ADC's clock
ON = 1 << 28 | ENABLE


class AdcClock(Clock):
    clock = core_clock = 36_000_000


@pytest.fixture
def clock() -> Clock:
    return AdcClock()


CALIBRATIONS = [("nucleo-l4r5zi", 0, 116), ("nucleo-h743zi", 0, 1_280), ("nucleo-h743zi", 1 << 16, 16_384)]


@pytest.mark.parametrize(("board", "linearity", "clocks"), CALIBRATIONS)
def test_calibration_and_enabling_take_their_time(clock: Clock, board: str, linearity: int, clocks: int) -> None:
    adc = block("ADC1", clock, board)
    store(adc, CR=1 << 28)
    store(adc, CR=1 << 28 | CALIBRATE | linearity)
    run_to(clock, clocks - 1)
    assert load(adc, "CR") & CALIBRATE and adc.waiting
    run_to(clock, clocks)
    assert not load(adc, "CR") & CALIBRATE and not adc.waiting
    store(adc, CR=ON)
    assert not load(adc, "ISR") & 1
    run_to(clock, clocks + 1)
    assert load(adc, "ISR") & 1
    store(adc, CR=1 << 28 | 1 << 1)
    assert not load(adc, "CR") & 3  # ADDIS


@BOARDS
def test_a_sequence_ends_with_its_last_conversion(clock: Clock, board: str) -> None:
    adc = block("ADC1", clock, board)
    store(adc, CR=ON, SQR1=1, IER=1 << 3)
    store(adc, CR=ON | START)
    run_to(clock, CONVERSION - 1)
    assert not load(adc, "ISR") & 0xC
    run_to(clock, CONVERSION)
    assert load(adc, "ISR") & 0xC == 1 << 2 and load(adc, "DR") == 0 and not load(adc, "ISR") & 1 << 2
    run_to(clock, 2 * CONVERSION)
    assert load(adc, "ISR") & 0xC == 0xC and not load(adc, "CR") & START and clock.lines == {18}
    store(adc, ISR=0x7FF)
    assert not clock.lines and not load(adc, "ISR") & 0x7FF
    run_to(clock, 9 * CONVERSION)
    assert not load(adc, "ISR") & 0xC


def test_continuous_conversions_ask_the_dma_until_they_are_stopped(clock: Clock) -> None:
    adc = block("ADC1", clock, "nucleo-h743zi")
    store(adc, CR=ON, CFGR=1 << 13 | 3)
    store(adc, CR=ON | START)
    for n in (1, 2, 3):
        assert not adc.dma_request("DR")
        run_to(clock, n * CONVERSION)
        assert adc.dma_request("DR")
        adc.dma_ack("DR")
    store(adc, CR=ON | STOP)
    run_to(clock, 9 * CONVERSION)
    assert not adc.dma_request("DR") and not load(adc, "CR") & (START | STOP)


def test_what_nobody_reads_is_overrun(clock: Clock) -> None:
    adc = block("ADC1", clock, "nucleo-l4r5zi")
    store(adc, CR=ON, CFGR=1 << 13)
    store(adc, CR=ON | START)
    run_to(clock, CONVERSION)
    assert not load(adc, "ISR") & 1 << 4
    run_to(clock, 2 * CONVERSION)
    assert load(adc, "ISR") & 1 << 4


@pytest.mark.parametrize(("board", "kib"), [("nucleo-l4r5zi", 2048), ("nucleo-h743zi", 2048)])
def test_the_signature_has_the_size_of_the_flash(clock: Clock, board: str, kib: int) -> None:
    signature = block("SIGNATURE", clock, board)
    assert load(signature, "FLASHSIZE") == kib
    store(signature, UID0=0)
    assert load(signature, "UID0")

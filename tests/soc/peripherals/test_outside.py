"""Blocks to which nothing is connected: what a driver finds when no device answers, and when."""

from __future__ import annotations

import pytest

from tests.soc.peripherals.test_behaviours import block, load, store
from tests.support.bare_clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def run_to(clock: Clock, cycle: int) -> None:
    """Move the clock and make the calls that are due."""
    clock.cycles = cycle
    due = [call for call in clock.calls if call[0] <= cycle]
    clock.calls[:] = [call for call in clock.calls if call[0] > cycle]
    for _, callback in due:
        callback()


def test_an_address_on_an_older_i2c_is_not_acknowledged(clock: Clock) -> None:
    i2c = block("I2C1", clock, "stm32f469i-disco")
    bit = 2 * 80 * 2  # twice CCR, of an APB1 clock at half the core's
    store(i2c, CCR=80, CR2=3 << 8, CR1=1)
    store(i2c, CR1=1 | 1 << 8)
    run_to(clock, bit - 1)
    assert not load(i2c, "SR1") and i2c.waiting
    run_to(clock, bit)
    assert (load(i2c, "SR1"), load(i2c, "SR2"), load(i2c, "CR1")) == (1, 3, 1) and clock.lines == {31}
    store(i2c, DR=0x84)
    run_to(clock, 10 * bit - 1)
    assert not load(i2c, "SR1") and not clock.lines
    run_to(clock, 10 * bit)
    assert load(i2c, "SR1") == 1 << 10 and clock.lines == {32}
    store(i2c, SR1=0, CR1=1 | 1 << 9)
    assert (load(i2c, "SR1"), load(i2c, "SR2"), load(i2c, "CR1"), clock.lines) == (0, 0, 1, set())
    assert clock.findings == ["I2C1: nothing answers at address 0x42"]


def test_a_reset_of_an_i2c_lowers_its_lines_and_ends_what_is_under_way(clock: Clock) -> None:
    i2c = block("I2C1", clock, "stm32f469i-disco")
    store(i2c, CCR=80, CR2=3 << 8, CR1=1)
    store(i2c, CR1=1 | 1 << 8)
    run_to(clock, 320)
    store(i2c, DR=0x84)
    run_to(clock, 3200)
    assert clock.lines == {32} and set(i2c.lines) == {31, 32}
    assert block("I2C4", clock, "nucleo-l4r5zi").lines == (84, 83)  # the other way round there
    store(i2c, CR1=1 | 1 << 8)
    i2c.reset()
    run_to(clock, 6400)
    assert not clock.lines and not load(i2c, "SR1") and not i2c.waiting


def test_an_address_on_a_newer_i2c_is_not_acknowledged(clock: Clock) -> None:
    i2c = block("I2C1", clock)
    bit = 2 * 3 * (10 + 20)  # APB1 divider, PRESC + 1, SCLL + 1 and SCLH + 1
    store(i2c, TIMINGR=2 << 28 | 19 << 8 | 9, CR1=1 | 1 << 4)
    store(i2c, CR2=1 << 25 | 1 << 13 | 0x84)
    run_to(clock, 11 * bit - 1)
    assert load(i2c, "ISR") == 1 | 1 << 15 and load(i2c, "CR2") >> 13 & 1
    run_to(clock, 11 * bit)
    assert load(i2c, "ISR") == 1 | 1 << 4 | 1 << 5 and not load(i2c, "CR2") >> 13 & 1 and clock.lines == {31}
    store(i2c, ICR=1 << 4 | 1 << 5)
    assert load(i2c, "ISR") == 1 and not clock.lines
    assert clock.findings == ["I2C1: nothing answers at address 0x42"]


@pytest.mark.parametrize("board", ["stm32f469i-disco", "stm32f746g-disco"])
def test_an_spi_receives_ones_after_a_frame(clock: Clock, board: str) -> None:
    spi = block("SPI1", clock, board)
    frame = 8 * 8
    store(spi, CR1=1 << 6 | 2 << 3)
    spi.write(spi._at["DR"], 1, 0x55)
    assert load(spi, "SR") == 1 << 7 | 1 << 1  # the shift register has it, DR is free
    spi.write(spi._at["DR"], 1, 0xAA)
    assert load(spi, "SR") == 1 << 7
    run_to(clock, frame - 1)
    assert not load(spi, "SR") & 1
    run_to(clock, frame)
    assert load(spi, "SR") == 1 << 7 | 1 << 1 | 1
    assert spi.read(spi._at["DR"], 1) == 0xFF and not load(spi, "SR") & 1
    store(spi, CR2=load(spi, "CR2") | 1 << 6)
    assert 35 not in clock.lines
    run_to(clock, 2 * frame)
    assert load(spi, "SR") == 1 << 1 | 1 and 35 in clock.lines
    spi.read(spi._at["DR"], 1)
    assert 35 not in clock.lines


def test_conversions_commands_and_mode_changes_end(clock: Clock) -> None:
    """Events of outside.toml, at 1 MHz: EOC, a card's time-out, INAK, the forced host mode."""
    adc, sdio, can = (block(name, clock, "stm32f469i-disco") for name in ("ADC", "SDIO", "CAN1"))
    usb = block("USB_OTG_FS", clock, "stm32f469i-disco")
    store(adc, CR2_1=1 | 1 << 30)
    store(sdio, CMD=1 << 10 | 1 << 6 | 8)
    store(can, MCR=1)
    store(usb, GUSBCFG=1 << 29, GRSTCTL=1)
    waits = [(adc, "SR_1", 2, 1 << 1), (sdio, "STA", 160, 1 << 2), (can, "MSR", 1, 1), (usb, "GINTSTS", 25_000, 1)]
    for one, register, after, bit in sorted(waits, key=lambda wait: wait[2]):
        clock.cycles = after - 1
        assert not load(one, register) & bit, register
        clock.cycles = after
        assert load(one, register) & bit, register
    assert load(adc, "CR2_1") == 1 and load(usb, "GRSTCTL") == 1 << 31
    store(adc, SR_1=~(1 << 1) & 0xFFFF_FFFF)
    store(sdio, ICR=1 << 2)
    assert load(adc, "SR_1") == 0 and not load(sdio, "STA") & 1 << 2

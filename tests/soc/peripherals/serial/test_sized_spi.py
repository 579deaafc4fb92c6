"""The SPI of the H7: transfers of TSIZE frames to which nothing answers, and the DMA requests of both SPIs."""

from __future__ import annotations

import pytest

from tests.soc.peripherals.test_behaviours import block, load, store
from tests.soc.peripherals.test_outside import run_to
from tests.support.bare_clock import Clock

H7 = "nucleo-h743zi"
FRAME = 8 * 2  # cycles: 8 bits at half of APB2's clock
RXP, TXP, EOT, TXTF, TXC = 1 << 0, 1 << 1, 1 << 3, 1 << 4, 1 << 12
SPE, CSTART, CSUSP = 1 << 0, 1 << 9, 1 << 10


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_a_transfer_of_two_frames_ends_with_the_second(clock: Clock) -> None:
    spi = block("SPI1", clock, H7)
    store(spi, CFG1=7, CFG2=1 << 22, CR2=2, IER=EOT, CR1=SPE)
    store(spi, CR1=SPE | CSTART)
    assert load(spi, "SR") & (TXP | RXP | TXTF) == TXP
    for _ in range(2):
        spi.write(spi._at["TXDR"], 1, 0xA5)
    assert load(spi, "SR") & (TXP | TXTF) == TXTF and spi.waiting
    run_to(clock, FRAME - 1)
    assert not load(spi, "SR") & (RXP | EOT)
    run_to(clock, FRAME)
    assert load(spi, "SR") & (RXP | EOT) == RXP and load(spi, "SR") >> 16 == 1
    run_to(clock, 2 * FRAME - 1)
    assert not load(spi, "SR") & EOT and not clock.lines
    run_to(clock, 2 * FRAME)
    assert load(spi, "SR") & (EOT | TXC) == EOT | TXC and not load(spi, "CR1") & CSTART and clock.lines == {35}
    assert [spi.read(spi._at["RXDR"], 1) for _ in range(2)] == [0xFF, 0xFF] and not load(spi, "SR") & RXP
    store(spi, IFCR=EOT | TXTF)
    assert load(spi, "SR") & (EOT | TXTF | TXP) == TXP and not clock.lines


def test_without_a_size_frames_go_on_until_the_transfer_is_suspended(clock: Clock) -> None:
    spi = block("SPI1", clock, H7)
    store(spi, CFG1=7, CFG2=1 << 22 | 2 << 17, CR1=SPE)  # receives only
    store(spi, CR1=SPE | CSTART)
    run_to(clock, FRAME)
    run_to(clock, 2 * FRAME)
    store(spi, CR1=SPE | CSTART | CSUSP)
    assert load(spi, "SR") & 1 << 11 and not load(spi, "CR1") & (CSTART | CSUSP)
    store(spi, CR1=0)
    run_to(clock, 9 * FRAME)
    assert not load(spi, "SR") & (RXP | 1 << 11)


def test_both_fifos_ask_the_dma(clock: Clock) -> None:
    spi = block("SPI1", clock, H7)
    store(spi, CFG1=7 | 3 << 14, CFG2=1 << 22, CR2=1)
    assert not spi.dma_request("TX")
    store(spi, CR1=SPE)
    store(spi, CR1=SPE | CSTART)
    assert spi.dma_request("TX") and not spi.dma_request("RX")
    spi.write(spi._at["TXDR"], 1, 0)
    assert not spi.dma_request("TX")  # the last one has come
    run_to(clock, FRAME)
    assert spi.dma_request("RX")
    spi.read(spi._at["RXDR"], 1)
    assert not spi.dma_request("RX")


def test_an_older_spi_asks_the_dma(clock: Clock) -> None:
    spi = block("SPI1", clock, "nucleo-l4r5zi")
    store(spi, CR2=0x700 | 3, CR1=1 << 2 | 1 << 6)
    assert spi.dma_request("TX") and not spi.dma_request("RX")
    spi.write(spi._at["DR"], 1, 0)
    run_to(clock, FRAME)
    assert spi.dma_request("RX")
    spi.read(spi._at["DR"], 1)
    assert not spi.dma_request("RX")

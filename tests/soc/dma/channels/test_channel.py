"""Channels of the STM32L4's DMA and of the H7's BDMA by their registers: copies, flags, requests through a DMAMUX."""

from __future__ import annotations

import pytest

from tests.support.boards.dma_machine import H743, L4R5, DmaMachine

DMA1, DMA2, DMAMUX1 = 0x4002_0000, 0x4002_0400, 0x4002_0800
BDMA, DMAMUX2 = 0x5802_5400, 0x5802_5800
ISR, IFCR, CCR, CNDTR, CPAR, CMAR, CM1AR = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x18
EN, TCIE, HTIE, TEIE, OUT, CIRC, PINC, MINC, M2M = 1, 2, 4, 8, 16, 32, 64, 128, 1 << 14
GIF, TCIF, HTIF, TEIF = 1, 2, 4, 8
SRAM1, SRAM2, SRAM4, AXI = 0x2000_0000, 0x2003_0000, 0x3800_0000, 0x2400_0000
DATA = bytes(n * 7 % 251 for n in range(1024))
LPUART1, USART1, TIM6 = 0x5800_0C00, 0x4001_3800, 0x4000_1000


def sizes(peripheral: int, memory: int) -> int:
    beats = {1: 0, 2: 1, 4: 2}
    return beats[peripheral] << 8 | beats[memory] << 10


class Channels(DmaMachine):
    """Channels of one controller; ``n`` counts from 0."""

    def __init__(self, board: str = L4R5, base: int = DMA1) -> None:
        super().__init__(board)
        self.base = base

    def set(self, n: int, register: int, value: int) -> None:
        self.store(self.base + 0x14 * n + register, value)

    def get(self, n: int, register: int) -> int:
        return self.load(self.base + 0x14 * n + register)

    def flags(self, n: int) -> int:
        return self.load(self.base + ISR) >> 4 * n & 15

    def begin(self, n: int, near: int, far: int, units: int, ccr: int) -> None:
        for register, value in ((CNDTR, units), (CPAR, near), (CMAR, far), (CCR, ccr | EN)):
            self.set(n, register, value)


@pytest.mark.parametrize(
    ("base", "name", "n", "irq"), [(DMA1, "DMA1", 0, 11), (DMA1, "DMA1", 6, 17), (DMA2, "DMA2", 6, 69)]
)
@pytest.mark.parametrize("beat", [1, 2, 4])
def test_any_channel_copies_in_the_time_of_a_transfer(base: int, name: str, n: int, irq: int, beat: int) -> None:
    bench = Channels(base=base)
    bench.emulator.write(SRAM1, DATA)
    bench.begin(n, SRAM1, SRAM2, 256 // beat, M2M | PINC | MINC | TCIE | sizes(beat, beat))
    assert bench.until_raised(irq) == bench.alone(name, SRAM1, SRAM2, 256, beat)
    assert bench.emulator.read(SRAM2, 257) == DATA[:256] + b"\0"
    assert (bench.flags(n), bench.get(n, CCR) & EN, bench.get(n, CNDTR)) == (GIF | TCIF | HTIF, EN, 0)
    bench.store(base + IFCR, GIF << 4 * n)
    assert bench.flags(n) == 0 and not bench.lines
    (transfer,) = bench.emulator.dma.log.transfers
    assert (transfer.controller, transfer.stream, transfer.moved) == (name, n + 1, 256)


def test_the_other_direction_goes_from_cmar_to_cpar() -> None:
    bench = Channels()
    bench.emulator.write(SRAM2, DATA)
    bench.begin(0, SRAM1, SRAM2, 16, M2M | OUT | PINC | MINC | sizes(4, 4))
    bench.run(1000)
    assert bench.emulator.read(SRAM1, 64) == DATA[:64]


@pytest.mark.parametrize(
    ("peripheral", "memory", "expected"),
    [
        (1, 4, b"\x01\0\0\0\x02\0\0\0"),
        (4, 1, b"\x01\x05\x09\x0d"),
        (2, 4, b"\x01\x02\0\0\x03\x04\0\0"),
        (4, 2, b"\x01\x02\x05\x06"),
    ],
)
def test_units_of_two_sizes_are_cut_or_filled_with_zeros(peripheral: int, memory: int, expected: bytes) -> None:
    bench = Channels()
    bench.emulator.write(SRAM1, bytes(range(1, 65)))
    bench.begin(2, SRAM1, SRAM2, 8, M2M | PINC | MINC | sizes(peripheral, memory))
    bench.run(1000)
    assert bench.emulator.read(SRAM2, len(expected)) == expected
    assert bench.flags(2) == GIF | TCIF | HTIF


def test_it_does_nothing_more_until_its_count_is_written() -> None:
    bench = Channels()
    bench.begin(0, SRAM1, SRAM2, 4, M2M | PINC | MINC)
    bench.run(1000)
    bench.store(DMA1 + IFCR, GIF)
    bench.set(0, CNDTR, 4)  # protected while EN is set
    assert bench.get(0, CNDTR) == 0
    bench.set(0, CCR, 0)
    bench.set(0, CCR, M2M | EN)
    bench.run(2000)
    assert bench.flags(0) == 0
    bench.set(0, CCR, 0)
    bench.begin(0, SRAM1, SRAM2, 4, M2M)
    bench.run(3000)
    assert bench.flags(0) & TCIF


def test_a_channel_that_is_disabled_stops_without_a_flag_and_keeps_the_rest() -> None:
    bench = Channels()
    bench.emulator.write(SRAM1, DATA)
    bench.begin(0, SRAM1, SRAM2, 200, M2M | PINC | MINC)
    bench.run(300)
    bench.set(0, CCR, M2M | PINC | MINC)
    bench.run(400)
    rest = bench.get(0, CNDTR)
    assert 0 < rest < 200 and not bench.flags(0) & TCIF
    assert bench.emulator.read(SRAM2, 200) == DATA[: 200 - rest] + bytes(rest)
    assert bench.emulator.dma.log.transfers[0].outcome == "stopped"


def test_an_error_clears_en_until_its_flag_is_cleared() -> None:
    bench = Channels()
    bench.begin(0, SRAM1, 0x0800_0000, 4, M2M | TEIE)
    assert bench.flags(0) == GIF | TEIF and bench.lines == {11} and not bench.get(0, CCR) & EN
    bench.set(0, CCR, M2M | EN)
    assert not bench.get(0, CCR) & EN
    bench.store(DMA1 + IFCR, TEIF)
    bench.begin(0, SRAM1, SRAM2, 4, M2M)
    bench.run(1000)
    assert bench.flags(0) & TCIF


def test_a_more_urgent_channel_ends_first_and_of_equal_ones_the_lower() -> None:
    for urgent, other, level in ((3, 1, 1 << 12), (1, 3, 0)):
        bench = Channels()
        bench.begin(other, SRAM1, SRAM2, 200, M2M | PINC | MINC | TCIE)
        bench.begin(urgent, SRAM1, SRAM2 + 0x1000, 200, M2M | PINC | MINC | TCIE | level)
        assert bench.until_raised(11 + urgent) < bench.until_raised(11 + other)


def test_a_usart_asks_through_the_dmamux() -> None:
    bench = Channels()
    bench.emulator.write(SRAM1, b"by DMAMUX")
    bench.store(DMAMUX1 + 4 * 3, 25)  # USART1_TX to channel 4 of DMA1
    bench.store(USART1 + 0x0C, 100)
    bench.store(USART1 + 0x08, 1 << 7)
    bench.store(USART1, 1 | 1 << 3)
    bench.begin(3, USART1 + 0x28, SRAM1, 9, OUT | MINC | TCIE)
    bench.until_raised(14)
    bench.run(bench.now + 5000)
    assert b"".join(bench.printed) == b"by DMAMUX"
    bench.set(3, CCR, 0)
    bench.store(DMAMUX1 + 4 * 3, 24)  # another request: nothing asks
    bench.begin(3, USART1 + 0x28, SRAM1, 9, OUT | MINC)
    bench.run(bench.now + 20_000)
    assert bench.get(3, CNDTR) == 9


def test_each_update_of_a_timer_moves_one_unit() -> None:
    bench = Channels()
    bench.emulator.write(SRAM1, DATA)
    bench.store(DMAMUX1, 8)  # TIM6_UP
    bench.begin(0, SRAM2, SRAM1, 5, OUT | MINC | CIRC | sizes(1, 1))  # a byte of memory stands for a register
    bench.store(TIM6 + 0x2C, 999)
    bench.store(TIM6 + 0x0C, 1 << 8)
    bench.store(TIM6, 1)
    seen = []
    for cycle in range(500, 8000, 1000):
        bench.run(cycle)
        seen.append((bench.get(0, CNDTR), bench.emulator.read(SRAM2, 1)[0]))
    assert seen == [
        (5, 0),
        (4, DATA[0]),
        (3, DATA[1]),
        (2, DATA[2]),
        (1, DATA[3]),
        (5, DATA[4]),
        (4, DATA[0]),
        (3, DATA[1]),
    ]


@pytest.mark.parametrize(
    ("source", "target", "flags"),
    [(SRAM4, SRAM4 + 0x1000, GIF | TCIF | HTIF), (SRAM4, AXI, GIF | TEIF), (AXI, SRAM4, GIF | TEIF)],
)
def test_the_bdma_reaches_its_domain_only(source: int, target: int, flags: int) -> None:
    bench = Channels(H743, BDMA)
    bench.emulator.write(source, DATA)
    bench.begin(7, source, target, 64, M2M | PINC | MINC | sizes(4, 4) | TCIE | TEIE)
    assert bench.until_raised(136) >= 0 and bench.flags(7) == flags
    assert (bench.emulator.read(target, 256) == DATA[:256]) == (flags != GIF | TEIF)


def test_the_bdma_has_two_buffers_and_its_own_dmamux() -> None:
    bench = Channels(H743, BDMA)
    bench.emulator.write(SRAM4, b"abcxyz")
    bench.store(DMAMUX2 + 4 * 1, 10)  # LPUART1_TX
    bench.store(LPUART1 + 0x08, 1 << 7)
    bench.store(LPUART1, 1 | 1 << 3)
    bench.set(1, CM1AR, SRAM4 + 3)
    bench.begin(1, LPUART1 + 0x28, SRAM4, 3, OUT | MINC | 1 << 15)
    bench.run(100_000)
    assert b"".join(bench.printed)[:9] == b"abcxyzabc"
    assert bench.emulator.peripherals.label(BDMA + 0x14 + CM1AR) == "BDMA_CM1AR1"

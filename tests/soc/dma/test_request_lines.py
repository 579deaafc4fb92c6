"""A text that a stream sends by a USART, a character for each request."""

from __future__ import annotations

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from tests.support.boards.dma_bench import (
    CR,
    EN,
    F469,
    F746,
    FCR,
    HTIF,
    M0AR,
    M2M,
    M2P,
    MINC,
    NDTR,
    PAR,
    PINC,
    TCIF,
    sizes,
    stream,
)
from tests.support.boards.dma_machine import H743, DmaMachine

TEXT = 0x2001_0000
USART1, DMA2 = 0x4001_1000, 0x4002_6400
CHANNEL4, DMAT = 4 << 25, 1 << 7
# board: offsets of CR1, CR3, BRR and the data register, CR1's UE and TE
PLACES = {F469: (0x0C, 0x14, 0x08, 0x04, 1 << 13 | 1 << 3), F746: (0x00, 0x08, 0x0C, 0x28, 1 | 1 << 3)}


@pytest.mark.parametrize("board", [F469, F746])
def test_a_stream_sends_a_text_at_the_rate_of_the_line(board: str) -> None:
    printed: list[bytes] = []
    emulator = Emulator(load_machine(board), printed.append)
    emulator.write(TEXT, b"sent by DMA")
    store, now = emulator.peripherals.store, emulator.memory.state
    cr1, cr3, brr, data, enable = PLACES[board]
    for offset, value in ((brr, 100), (cr3, DMAT), (cr1, enable)):
        store(USART1 + offset, 4, value)
    for register, value in ((PAR, USART1 + data), (M0AR, TEXT), (NDTR, 11), (CR, CHANNEL4 | MINC | M2P | EN)):
        store(DMA2 + stream(7, register), 4, value)
    sent = []
    for cycle in range(0, 12_000, 10):
        now.now = cycle * L.TICK
        emulator.events.run()
        sent.append(len(b"".join(printed)))
    assert b"".join(printed) == b"sent by DMA"
    assert sent[100 * 5 + 50] == pytest.approx(5 + 2, abs=1)  # a frame is 1,000 cycles; one is sent and one waits
    assert emulator.dma[1].word(4) >> 22 == HTIF | TCIF
    assert (emulator.dma[1].streams[7].transfers, emulator.dma[1].streams[7].bytes) == (1, 11)


TIM2, COUNT_REGISTER = 0x4000_0000, 0x4000_0424  # of TIM3, which stands still: any word
DMAMUX1 = 0x4002_0800
CIRC, DMEIF = 1 << 8, 4


# board: DMA1, the memory that is read, and CHSEL of stream 1 for TIM2_UP
@pytest.mark.parametrize(
    ("board", "dma1", "memory", "channel"), [(F469, 0x4002_6000, 0x2001_0000, 3), (H743, 0x4002_0000, 0x2400_0000, 0)]
)
def test_each_update_of_a_timer_moves_one_unit_by_a_stream(board: str, dma1: int, memory: int, channel: int) -> None:
    bench = DmaMachine(board)
    bench.emulator.write(memory, bytes(range(1, 33)))
    if board == H743:
        bench.store(DMAMUX1 + 4, 22)  # TIM2_UP to stream 1
    for register, value in ((PAR, COUNT_REGISTER), (M0AR, memory), (NDTR, 4)):
        bench.store(dma1 + stream(1, register), value)
    bench.store(dma1 + stream(1, CR), channel << 25 | MINC | M2P | CIRC | sizes(2, 2) | EN)
    for offset, value in ((0x2C, 999), (0x0C, 1 << 8), (0x00, 1)):
        bench.store(TIM2 + offset, value)
    seen = []
    for cycle in range(500, 6000, 1000):
        bench.run(cycle)
        seen.append((bench.load(dma1 + stream(1, NDTR)), bench.load(COUNT_REGISTER)))
    assert seen == [(4, 0), (3, 0x201), (2, 0x403), (1, 0x605), (4, 0x807), (3, 0x201)]


@pytest.mark.parametrize(("period", "flag"), [(4, DMEIF), (20, 0)])
def test_a_timer_that_asks_too_fast_in_direct_mode_is_an_error(period: int, flag: int) -> None:
    bench = DmaMachine(F469)
    dma1 = 0x4002_6000
    for register, value in ((PAR, COUNT_REGISTER), (M0AR, 0x2001_0000), (NDTR, 100)):
        bench.store(dma1 + stream(1, register), value)
    bench.store(dma1 + stream(1, CR), 3 << 25 | sizes(2, 2) | EN)
    for offset, value in ((0x2C, period - 1), (0x0C, 1 << 8), (0x00, 1)):
        bench.store(TIM2 + offset, value)
    bench.run(400)
    assert bench.load(dma1) >> 6 & DMEIF == flag


@pytest.mark.parametrize("board", [F469, "nucleo-l4r5zi"])
def test_a_copy_feeds_the_crc_unit(board: str) -> None:
    """A copy between memories whose target is a register, as drivers of the CRC unit do it."""
    bench = DmaMachine(board)
    memory, data_register = 0x2001_0000, 0x4002_3000
    words = [0x1234_5678, 0x9ABC_DEF0, 0x0F1E_2D3C]
    bench.emulator.write(memory, b"".join(word.to_bytes(4, "little") for word in words))
    for word in words:
        bench.store(data_register, word)
    expected = bench.load(data_register)
    bench.store(data_register + 8, 1)
    if board == F469:
        for register, value in ((PAR, memory), (M0AR, data_register), (NDTR, 3), (FCR, 3)):
            bench.store(DMA2 + stream(0, register), value)
        bench.store(DMA2 + stream(0, CR), M2M | PINC | sizes(4, 4) | EN)
    else:
        for offset, value in ((0x0C, 3), (0x10, memory), (0x14, data_register), (0x08, 1 << 14 | 0x40 | 0xA00 | 1)):
            bench.store(0x4002_0000 + offset, value)
    bench.run(500)
    assert bench.load(data_register) == expected
    assert [one.outcome for one in bench.emulator.dma.log.transfers] == ["complete"]


# RCC's reset register, the controller's bit, its first CR, and what that is after the reset
@pytest.mark.parametrize(
    ("board", "register", "bit", "control"),
    [
        (F469, 0x4002_3810, 22, 0x4002_6410),
        ("nucleo-l4r5zi", 0x4002_1028, 0, 0x4002_0008),
        (H743, 0x5802_4480, 1, 0x4002_0410),
        (H743, 0x5802_447C, 0, 0x5200_004C),
    ],
)
def test_a_reset_by_rcc_clears_a_controller(board: str, register: int, bit: int, control: int) -> None:
    bench = DmaMachine(board)
    bench.store(control, 0x10)
    assert bench.load(control) == 0x10
    bench.store(register, 1 << bit)
    assert bench.load(control) == 0

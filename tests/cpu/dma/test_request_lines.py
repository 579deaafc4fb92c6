"""A text that a stream sends by a USART, a character for each request."""

from __future__ import annotations

import pytest

from mcusim.cpu.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from tests.support.boards.dma_bench import CR, EN, F469, F746, HTIF, M0AR, M2P, MINC, NDTR, PAR, TCIF, stream

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
        now[L.NOW] = cycle * L.TICK
        emulator.events.run()
        sent.append(len(b"".join(printed)))
    assert b"".join(printed) == b"sent by DMA"
    assert sent[100 * 5 + 50] == pytest.approx(5 + 2, abs=1)  # a frame is 1,000 cycles; one is sent and one waits
    assert emulator.dma[1].word(4) >> 22 == HTIF | TCIF
    assert (emulator.dma[1].streams[7].transfers, emulator.dma[1].streams[7].bytes) == (1, 11)

"""QUADSPI and the flash behind it: what drivers poll, a cycle before and at the cycle, and what is read and written."""

from __future__ import annotations

import pytest

from mcusim.machine import load_machine
from mcusim.soc.machine_blocks import blocks_of
from mcusim.soc.peripherals.serial.nor_flash import PROGRAM_S
from mcusim.soc.peripherals.serial.quadspi import Quadspi
from tests.support.bare_clock import Clock

TCF, FTF, SMF, TOF, BUSY = 2, 4, 8, 16, 32
ONE_LINE, ADDRESS, DATA, QUAD = 1 << 8, 1 << 10 | 2 << 12, 1 << 24, 3 << 24
WRITE, READ, POLL, MAPPED = (mode << 26 for mode in range(4))
FSIZE = 23 << 16


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def qspi(clock: Clock) -> Quadspi:
    board = load_machine("stm32f746g-disco")
    block = next(one for one in blocks_of(board, clock) if isinstance(one, Quadspi))
    put(block, CR=1 << 24 | 1, DCR=FSIZE)  # two core cycles a clock
    return block


def put(block: Quadspi, **words: int) -> None:
    for name, word in words.items():
        block.write(block._at[name], 4, word)


def get(block: Quadspi, name: str, size: int = 4) -> int:
    return block.read(block._at[name], size)


def send(block: Quadspi, clock: Clock, instruction: int) -> None:
    put(block, FCR=0x1B, CCR=ONE_LINE | instruction)
    clock.cycles += 1000
    assert get(block, "SR") & TCF
    put(block, FCR=0x1B)


def test_an_instruction_takes_its_bits(qspi: Quadspi, clock: Clock) -> None:
    put(qspi, CCR=ONE_LINE | 0x06)
    clock.cycles = 15
    assert get(qspi, "SR") == BUSY
    clock.cycles = 16
    assert get(qspi, "SR") == TCF
    assert qspi.flash.status(16) == 2
    put(qspi, FCR=2)
    assert get(qspi, "SR") == 0


def test_a_read_fills_the_fifo_byte_by_byte(qspi: Quadspi, clock: Clock) -> None:
    clock.flash[0x1234:0x1238] = b"data"
    put(qspi, CR=1 << 24 | 3 << 8 | 1, DLR=3, CCR=READ | QUAD | 8 << 18 | ADDRESS | ONE_LINE | 0x6B, AR=0x1234)
    head, byte = 2 * (8 + 24 + 8), 2 * 2
    clock.cycles = head + 3 * byte - 1
    assert get(qspi, "SR") == BUSY | 2 << 8
    clock.cycles = head + 4 * byte - 1
    assert get(qspi, "SR") == BUSY | 3 << 8
    clock.cycles = head + 4 * byte
    assert get(qspi, "SR") == BUSY | TCF | FTF | 4 << 8
    assert get(qspi, "DR").to_bytes(4, "little") == b"data"
    assert get(qspi, "SR") == TCF


def test_a_full_fifo_stops_the_read(qspi: Quadspi, clock: Clock) -> None:
    put(qspi, DLR=39, CCR=READ | DATA | ADDRESS | ONE_LINE | 0x03, AR=0)
    clock.cycles = 100_000
    assert get(qspi, "SR") == BUSY | FTF | 32 << 8 and not qspi.waiting
    for _ in range(8):
        get(qspi, "DR")
    assert not get(qspi, "SR") & TCF
    clock.cycles += 16 * 8
    assert get(qspi, "SR") & (TCF | BUSY) == TCF | BUSY
    for _ in range(2):
        get(qspi, "DR")
    assert not get(qspi, "SR") & BUSY


def test_identification_has_the_size_of_the_region(qspi: Quadspi, clock: Clock) -> None:
    put(qspi, DLR=2, CCR=READ | DATA | ONE_LINE | 0x9F)
    clock.cycles = 1000
    assert bytes(get(qspi, "DR", 1) for _ in range(3)) == b"\x20\xba\x18"


def program(qspi: Quadspi, address: int, data: bytes) -> None:
    put(qspi, DLR=len(data) - 1, CCR=WRITE | DATA | ADDRESS | ONE_LINE | 0x02, AR=address)
    assert get(qspi, "SR") & FTF
    for byte in data:
        qspi.write(qspi._at["DR"], 1, byte)


def test_program_needs_write_enable_and_clears_bits_in_its_page(qspi: Quadspi, clock: Clock) -> None:
    program(qspi, 0x1FE, b"\x0f\x11\x22")
    clock.cycles += 10_000
    assert get(qspi, "SR") & (TCF | BUSY) == TCF and clock.flash[0x1FE] == 0xFF  # no write enable
    send(qspi, clock, 0x06)
    program(qspi, 0x1FE, b"\x0f\x11\x22")
    clock.cycles += 10_000
    get(qspi, "SR")
    assert clock.flash[0x1FE:0x201] == b"\x0f\x11\xff" and clock.flash[0x100] == 0x22  # round to the page's beginning
    clock.cycles += 600  # of 500 us at 1 MHz
    send(qspi, clock, 0x06)
    put(qspi, CCR=ADDRESS | ONE_LINE | 0xD8, AR=0x1FE)
    clock.cycles += 1000
    get(qspi, "SR")
    assert clock.flash[0x1FE] == 0xFF


def test_polling_matches_when_the_work_is_done(qspi: Quadspi, clock: Clock) -> None:
    """The first poll at or behind the flash's end; the one before does not match."""
    send(qspi, clock, 0x06)
    program(qspi, 0, b"\x00")
    clock.cycles += 2 * 40
    assert get(qspi, "SR") & TCF
    ready = clock.cycles + int(PROGRAM_S * clock.clock)
    assert qspi.flash.ready_at == ready
    put(qspi, FCR=0x1B, PSMKR=1, PSMAR=0, PIR=16, DLR=0, CR=1 << 24 | 1 << 22 | 1 << 19 | 1)
    start, frame, step = clock.cycles, 2 * 16, 2 * 16 + 2 * 16
    put(qspi, CCR=POLL | DATA | ONE_LINE | 0x05)
    match = next(start + frame + n * step for n in range(1000) if start + frame + n * step >= ready)
    assert match - step < ready
    clock.cycles = match - 1
    assert get(qspi, "SR") & (SMF | BUSY) == BUSY and 92 not in clock.lines and qspi.waiting
    clock.cycles = match
    assert get(qspi, "SR") & (SMF | BUSY) == SMF and 92 in clock.lines
    put(qspi, FCR=8)
    assert 92 not in clock.lines


def test_polling_for_what_never_comes_waits_for_nothing(qspi: Quadspi, clock: Clock) -> None:
    put(qspi, PSMKR=2, PSMAR=2, CCR=POLL | DATA | ONE_LINE | 0x05)  # write enable, without the instruction
    clock.cycles = 1_000_000
    assert get(qspi, "SR") == BUSY and not qspi.waiting
    put(qspi, CR=1 << 24 | 3)  # abort
    assert get(qspi, "SR") == TCF and not get(qspi, "CR") & 2


def test_memory_mapped_mode_is_busy_until_aborted_or_reset(qspi: Quadspi, clock: Clock) -> None:
    put(qspi, CR=1 << 24 | 1 | 8, LPTR=50, CCR=MAPPED | QUAD | ADDRESS | ONE_LINE | 0x6B)
    clock.cycles = 99
    assert get(qspi, "SR") == BUSY
    clock.cycles = 100
    assert get(qspi, "SR") == BUSY | TOF
    qspi.reset()
    assert (get(qspi, "SR"), get(qspi, "CCR"), get(qspi, "CR")) == (0, 0, 0)


def test_an_unknown_instruction_is_a_finding(qspi: Quadspi, clock: Clock) -> None:
    send(qspi, clock, 0xC1)
    assert "0xc1" in clock.findings[0]


DMAEN, FOUR_BYTES = 1 << 2, 3 << 8


def test_a_read_asks_the_dma_at_the_threshold_and_for_the_rest(qspi: Quadspi, clock: Clock) -> None:
    asked: list[int] = []
    qspi.served_by = lambda: asked.append(clock.cycles)
    put(qspi, CR=1 << 24 | FOUR_BYTES | DMAEN | 1, DLR=4, CCR=READ | DATA | ADDRESS | ONE_LINE | 0x03, AR=0x1234)
    first = 2 * (8 + 24 + 8)  # the cycle of the first byte: instruction, address, eight clocks
    clock.cycles = first + 3 * 16 - 1
    assert get(qspi, "SR") & FTF == 0
    assert not asked
    assert not qspi.dma_request("FIFO")
    clock.cycles += 1
    assert get(qspi, "SR") & FTF
    assert asked == [clock.cycles]
    get(qspi, "DR")
    assert not qspi.dma_request("FIFO")
    clock.cycles = first + 4 * 16
    get(qspi, "SR")
    assert qspi.dma_request("FIFO")
    get(qspi, "DR", 1)
    assert not qspi.dma_request("FIFO")
    assert get(qspi, "SR") & (TCF | BUSY) == TCF


def test_a_write_asks_the_dma_while_its_fifo_has_room(qspi: Quadspi, clock: Clock) -> None:
    qspi.served_by = lambda: None
    send(qspi, clock, 0x06)
    put(qspi, CR=1 << 24 | FOUR_BYTES | DMAEN | 1, DLR=39, CCR=WRITE | DATA | ADDRESS | ONE_LINE | 0x02, AR=0)
    begins = clock.cycles + 2 * (8 + 24)
    written = 0
    while qspi.dma_request("FIFO"):
        put(qspi, DR=0)
        written += 4
    assert written == 32
    clock.cycles = begins + 4 * 16 - 1  # four bytes of 16 cycles have not left yet
    assert not qspi.dma_request("FIFO")
    clock.cycles += 1
    assert qspi.dma_request("FIFO")
    put(qspi, CR=1 << 24 | FOUR_BYTES | 1)
    assert not qspi.dma_request("FIFO")

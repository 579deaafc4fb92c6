"""Blocks with behaviour next to a core that only has a clock: what is read a cycle before and at the cycle."""

from __future__ import annotations

import zlib

import pytest

from mcusim.machine import load_machine
from mcusim.soc.machine_blocks import blocks_of
from mcusim.soc.register_block import RegisterBlock
from tests.support.bare_clock import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


def block(name: str, clock: Clock, board: str = "stm32f746g-disco") -> RegisterBlock:
    return next(one for one in blocks_of(load_machine(board), clock) if one.name == name)


def store(block: RegisterBlock, **words: int) -> None:
    for name, word in words.items():
        block.write(block._at[name], 4, word)


def load(block: RegisterBlock, name: str) -> int:
    return block.read(block._at[name], 4)


def test_a_timer_counts_and_updates(clock: Clock) -> None:
    timer = block("TIM1", clock)
    store(timer, PSC=9, ARR=99, EGR=1)
    assert load(timer, "SR") == 1  # by EGR.UG
    store(timer, SR=0, CR1=1)
    clock.cycles = 999
    assert (load(timer, "CNT"), load(timer, "SR")) == (99, 0)
    clock.cycles = 1000
    assert (load(timer, "CNT"), load(timer, "SR")) == (0, 0x1F)  # the counter is at every CCR, which are 0
    store(timer, SR=~1)
    clock.cycles = 2000
    assert load(timer, "SR") & 1
    store(timer, CR1=0)
    clock.cycles = 5000
    assert load(timer, "CNT") == 0


def test_a_timer_s_interrupt_comes_with_each_update(clock: Clock) -> None:
    timer = block("TIM6", clock)
    store(timer, ARR=49, DIER=1, CR1=1)
    for tick in (50, 100, 150):
        assert clock.calls[-1][0] == tick and 54 not in clock.lines
        clock.cycles = tick
        clock.calls[-1][1]()
        assert 54 in clock.lines
        store(timer, SR=0)


@pytest.mark.parametrize(("name", "line"), [("TIM2", 28), ("TIM1", 27)])
@pytest.mark.parametrize(("down", "first"), [(0, 40), (1 << 4, 59)])
def test_a_timer_s_channel_asks_when_the_counter_is_there(
    clock: Clock, name: str, line: int, down: int, first: int
) -> None:
    timer = block(name, clock)
    store(timer, ARR=99, CCR2=40, CCR3=100, DIER=1 << 2 | 1 << 3, CR1=down | 1 << 2, EGR=1)
    store(timer, CR1=1 | down)
    for due in (first, first + 100):
        assert clock.calls[-1][0] == due
        clock.cycles = due - 1
        assert not load(timer, "SR") & 4
        clock.cycles = due
        assert load(timer, "CNT") == 40 and load(timer, "SR") & 4  # whoever looks first
        clock.calls[-1][1]()
        assert clock.lines == {line}
        store(timer, SR=~4)
        assert not clock.lines
    assert not load(timer, "SR") & 8  # a CCR behind ARR is never reached
    store(timer, EGR=8)
    assert clock.lines == {line} and line in timer.lines
    timer.reset()
    assert not clock.lines


def test_a_timer_counts_down_from_what_is_stored(clock: Clock) -> None:
    timer = block("TIM2", clock)
    store(timer, ARR=99, CR1=1 << 4, EGR=1)
    assert load(timer, "CNT") == 99
    store(timer, SR=0, CNT=30, CR1=1 << 4 | 1)
    clock.cycles = 30
    assert (load(timer, "CNT"), load(timer, "SR") & 1) == (0, 0)
    clock.cycles = 31
    assert (load(timer, "CNT"), load(timer, "SR") & 1) == (99, 1)
    store(timer, CR1=1)  # up from there
    clock.cycles = 32
    assert load(timer, "CNT") == 0


def test_a_timer_in_one_pulse_mode_stops(clock: Clock) -> None:
    timer = block("TIM2", clock)
    store(timer, ARR=9, CR1=1 | 8)
    clock.cycles = 10
    assert load(timer, "SR") & 1 and not load(timer, "CR1") & 1
    clock.cycles = 25
    assert load(timer, "CNT") == 0


@pytest.mark.parametrize(
    ("board", "data", "status", "enable"),
    [("stm32f746g-disco", "TDR", "ISR", 1 | 8), ("stm32f469i-disco", "DR", "SR", 1 << 13 | 8)],
)
def test_a_usart_sends_characters_in_their_time(board: str, data: str, status: str, enable: int, clock: Clock) -> None:
    usart = block("USART1", clock, board)
    store(usart, **{data: 65})
    assert clock.shown == b""  # not enabled
    store(usart, BRR=16, CR1=enable, **{data: 65})
    assert load(usart, status) & 0xC0 == 0x80
    store(usart, **{data: 66})
    assert load(usart, status) & 0xC0 == 0
    clock.cycles = 159
    assert load(usart, status) & 0xC0 == 0
    clock.cycles = 160
    assert load(usart, status) & 0xC0 == 0x80
    clock.cycles = 320
    assert load(usart, status) & 0xC0 == 0xC0 and clock.shown == b"AB"


def test_an_sdram_needs_its_commands_in_their_order(clock: Clock) -> None:
    fmc = block("FMC", clock)
    for command, missing in ((2, "clock enable"), (1, "precharge all"), (3, "precharge all"), (2, "auto-refresh")):
        store(fmc, SDCMR=1 << 4 | command)
        assert fmc.missing(1) == missing  # type: ignore[attr-defined]
    assert load(fmc, "SDSR") & 1 << 5
    clock.cycles = 16
    assert not load(fmc, "SDSR") & 1 << 5
    store(fmc, SDCMR=1 << 4 | 3)
    store(fmc, SDCMR=1 << 4 | 4)
    assert fmc.missing(1) == "refresh rate (FMC_SDRTR)"  # type: ignore[attr-defined]
    store(fmc, SDRTR=1539 << 1)
    assert (fmc.missing(1), fmc.missing(2)) == ("", "clock enable")  # type: ignore[attr-defined]


def test_exti_by_software(clock: Clock) -> None:
    exti = block("EXTI", clock)
    store(exti, SWIER=1)
    assert load(exti, "PR") == 0
    store(exti, SWIER=0, IMR=1 | 1 << 7)
    store(exti, SWIER=1 | 1 << 7)
    assert load(exti, "PR") == 0x81 and clock.lines == {6, 23}
    store(exti, PR=1)
    assert load(exti, "PR") == 0x80 and clock.lines == {23}


def test_a_fill_of_the_dma2d_ends_after_a_cycle_for_each_pixel(clock: Clock) -> None:
    dma2d = block("DMA2D", clock)
    store(dma2d, NLR=48 << 16 | 10, CR=3 << 16 | 1)
    clock.cycles = 479
    assert not load(dma2d, "ISR") & 2 and dma2d.waiting
    clock.cycles = 480
    assert load(dma2d, "ISR") & 2 and not load(dma2d, "CR") & 1
    store(dma2d, IFCR=2)
    assert load(dma2d, "ISR") == 0


def test_gpio(clock: Clock) -> None:
    port = block("GPIOB", clock)
    store(port, MODER=1 << 6, PUPDR=1 << 8, BSRR=1 << 3 | 1 << 5)
    assert load(port, "ODR") == 0x28 and load(port, "IDR") == 1 << 3 | 1 << 4
    store(port, BSRR=1 << 19)
    assert load(port, "IDR") == 1 << 4


@pytest.mark.parametrize(("board", "others"), [("stm32f469i-disco", 0xF8), ("stm32f746g-disco", 0)])
def test_crc_is_that_of_the_reversed_bits_in_zlib(clock: Clock, board: str, others: int) -> None:
    crc, words = block("CRC", clock, board), (0x1234_5678, 0, 0xFFFF_FFFF)
    if others:  # an F4 has no other setting
        crc.write(0x14, 4, 0x1EDC_6F41)
        crc.write(0x10, 4, 0)
    store(crc, CR=1 | others)
    assert load(crc, "CR") == 0
    for word in words:
        store(crc, DR=word)
    reverse = [int(f"{word:032b}"[::-1], 2).to_bytes(4, "little") for word in words]
    expected = ~zlib.crc32(b"".join(reverse)) & 0xFFFF_FFFF
    assert load(crc, "DR") == int(f"{expected:032b}"[::-1], 2)


# by its name: POLYSIZE, POL, INIT, CR, what it is XORed with, and the catalogue's check value, of "123456789"
CHECKSUMS = {
    "CRC-32/ISO-HDLC": (0, 0x04C1_1DB7, 0xFFFF_FFFF, 1 << 5 | 1 << 7, 0xFFFF_FFFF, 0xCBF4_3926),
    "CRC-32/BZIP2": (0, 0x04C1_1DB7, 0xFFFF_FFFF, 0, 0xFFFF_FFFF, 0xFC89_1918),
    "CRC-32/ISCSI": (0, 0x1EDC_6F41, 0xFFFF_FFFF, 1 << 5 | 1 << 7, 0xFFFF_FFFF, 0xE306_9283),
    "CRC-16/MODBUS": (1, 0x8005, 0xFFFF, 1 << 5 | 1 << 7, 0, 0x4B37),
    "CRC-16/XMODEM": (1, 0x1021, 0, 0, 0, 0x31C3),
    "CRC-8/SMBUS": (2, 0x07, 0, 0, 0, 0xF4),
    "CRC-8/MAXIM-DOW": (2, 0x31, 0, 1 << 5 | 1 << 7, 0, 0xA1),
    "CRC-7/MMC": (3, 0x09, 0, 0, 0, 0x75),
}


@pytest.mark.parametrize("name", CHECKSUMS)
@pytest.mark.parametrize("board", ["stm32f746g-disco", "nucleo-h743zi", "nucleo-l4r5zi"])
def test_checksums_of_the_catalogue(clock: Clock, board: str, name: str) -> None:
    size, polynomial, start, setting, last, check = CHECKSUMS[name]
    crc = block("CRC", clock, board)
    store(crc, CR=size << 3 | setting, POL=polynomial, INIT=start)
    for again in range(2):
        store(crc, CR=size << 3 | setting | 1)
        for byte in b"123456789":
            crc.write(0, 1, byte)
        assert load(crc, "DR") ^ last == check, again
    assert load(crc, "CR") == size << 3 | setting


@pytest.mark.parametrize(("reverse", "size"), [(0, 4), (3, 4), (0, 2), (2, 2), (0, 1), (1, 1)])
def test_input_of_a_size_is_that_of_its_bytes(clock: Clock, reverse: int, size: int) -> None:
    """A word reversed as a whole is its bytes from the last on, each reversed."""
    data = bytes(range(0x11, 0xF1, 0x1C))
    crc = block("CRC", clock)
    store(crc, CR=reverse << 5)
    for at in range(0, 8, size):
        crc.write(0, size, int.from_bytes(data[at : at + size], "little" if reverse else "big"))
    whole = load(crc, "DR")
    store(crc, CR=int(reverse > 0) << 5 | 1)
    for byte in data:
        crc.write(0, 1, byte)
    assert load(crc, "DR") == whole


def test_flags_that_come_between_a_load_and_a_store_are_lost(clock: Clock) -> None:
    timer = block("TIM2", clock)
    store(timer, ARR=999, CCR1=500, CCR2=2000, DIER=1 | 1 << 1, CR1=1 << 2, EGR=1)
    store(timer, CR1=1)
    clock.cycles = 1001
    seen = load(timer, "SR")
    store(timer, SR=seen & ~1)  # at once
    assert not clock.noted_rules
    clock.cycles = 1499
    load(timer, "SR")
    clock.cycles = 2001
    seen = load(timer, "SR")
    clock.cycles = 2600
    store(timer, SR=~1)  # ones to all others
    assert load(timer, "SR") & 2 and not clock.noted_rules
    store(timer, SR=0)
    clock.cycles = 3001
    seen = load(timer, "SR")
    clock.cycles = 3501
    store(timer, SR=seen & ~1)
    assert clock.noted_rules == ["flag-read-modify-write"] and not load(timer, "SR") & 2


def test_random_numbers_are_the_same_again_and_differ(clock: Clock) -> None:
    found = []
    for _ in range(2):
        rng, numbers = block("RNG", clock), set()
        store(rng, CR=1 << 2)
        for _ in range(8):
            assert not load(rng, "SR") & 1
            clock.cycles += 40
            assert load(rng, "SR") & 1
            numbers.add(load(rng, "DR"))
        found.append(numbers)
    assert found[0] == found[1] and len(found[0]) == 8

"""Transfers with a peripheral, a unit for each request: circular, double buffer, FIFO, half and end."""

from __future__ import annotations

import pytest

from mcusim.memory.ports import core_data
from mcusim.memory.state_layout import AddressRange
from tests.support.boards.dma_bench import (
    CR,
    DMEIE,
    DMEIF,
    EN,
    F469,
    F746,
    FCR,
    HTIE,
    HTIF,
    M0AR,
    M1AR,
    M2P,
    MINC,
    NDTR,
    PAR,
    TCIE,
    TCIF,
    TEIE,
    TEIF,
    Bench,
    sizes,
)

SRAM, DTCM, CCM, PERIPHERAL = 0x2001_0000, 0x2000_0000, 0x1000_0000, 0x4001_1004
CHANNEL = 4 << 25
PFCTRL, CIRC, DBM, CT = 1 << 5, 1 << 8, 1 << 18, 1 << 19
DIRECT, THROUGH_FIFO = 0x00, 0x05


def begin(bench: Bench, cr: int, units: int, memory: int = SRAM, second: int = 0, fcr: int = DIRECT) -> None:
    for register, value in ((PAR, PERIPHERAL), (M0AR, memory), (M1AR, second), (NDTR, units), (FCR, fcr)):
        bench.set(5, register, value)
    bench.set(5, CR, CHANNEL | MINC | cr | EN)


@pytest.mark.parametrize("controller", ["dma1", "dma2"])
def test_each_request_sends_one_unit(controller: str) -> None:
    bench = Bench(controller=controller)
    irq = {"dma1": 16, "dma2": 68}[controller]
    bench.emulator.write(SRAM, b"text")
    begin(bench, M2P | TCIE, 4)
    bench.run(10_000)
    assert bench.sent == []
    for n, byte in enumerate(b"text"):
        assert bench.get(5, NDTR) == 4 - n
        bench.line.asked = 1
        bench.dma.serve()
        begun = bench.now
        while len(bench.sent) == n:
            bench.run(bench.now + 1)
        assert bench.now - begun == 7  # AHB clocks: 2 of a port and 1 of the data on each side, 1 of the matrix
        assert bench.sent[-1] == byte
    assert (bench.flags(5), bench.get(5, CR) & EN, bench.lines) == (HTIF | TCIF, 0, {irq})


def test_a_request_that_is_there_before_the_stream_is_enabled_is_served() -> None:
    bench = Bench()
    bench.line.asked = 3
    begin(bench, 0, 3)
    bench.run(1000)
    assert bench.emulator.read(SRAM, 4) == b"per\0"
    assert bench.flags(5) == HTIF | TCIF


def test_a_channel_without_a_peripheral_waits() -> None:
    bench = Bench()
    begin(bench, 1 << 25, 3)
    bench.ask(3)
    assert (bench.get(5, NDTR), bench.flags(5), bench.get(5, CR) & EN) == (3, 0, EN)
    assert len(bench.findings) == 1 and "waits for channel 5" in bench.findings[0]
    bench.set(5, CR, 0)
    assert not bench.get(5, CR) & EN


def test_circular_begins_again() -> None:
    bench = Bench()
    begin(bench, CIRC | HTIE, 4)
    bench.ask(2)
    assert bench.lines == {68} and bench.flags(5) == HTIF
    bench.ask(4)
    assert bench.get(5, CR) & EN and bench.get(5, NDTR) == 2
    assert bench.emulator.read(SRAM, 4) == b"phri"
    bench.set(5, CR, CHANNEL)
    bench.ask(2)
    assert bench.get(5, NDTR) == 2 and bench.dma.streams[5].bytes == 6


def test_two_buffers_take_turns_and_the_idle_one_may_be_moved() -> None:
    bench = Bench()
    begin(bench, DBM, 3, SRAM, DTCM)
    bench.ask(3)
    assert bench.get(5, CR) & CT and bench.flags(5) & TCIF
    bench.set(5, M0AR, SRAM + 32)
    bench.ask(6)
    assert [bench.emulator.read(at, 4) for at in (SRAM, DTCM, SRAM + 32)] == [
        b"per\0", b"iph\0", b"era\0"
    ]  # fmt: skip


def test_a_store_to_the_address_in_use_is_an_error_that_disables_the_stream() -> None:
    bench = Bench()
    begin(bench, DBM | TEIE, 3, SRAM, DTCM)
    bench.ask(4)
    bench.set(5, M1AR, SRAM + 64)
    assert bench.flags(5) & TEIF and not bench.get(5, CR) & EN and bench.lines == {68}
    bench.ask(1)
    assert bench.emulator.read(SRAM + 64, 4) == bytes(4) and bench.get(5, M1AR) == DTCM


@pytest.mark.parametrize(("after", "flags"), [(2, DMEIF), (3, 0)])  # the second port takes 3 cycles
def test_a_request_before_the_last_unit_is_written_is_an_error_of_direct_mode(after: int, flags: int) -> None:
    bench = Bench()
    for register, value in ((PAR, PERIPHERAL), (M0AR, SRAM), (NDTR, 9), (FCR, DIRECT)):
        bench.set(5, register, value)
    bench.set(5, CR, CHANNEL | DMEIE | EN)
    bench.line.asked = 1
    bench.dma.serve()
    while bench.line.asked:
        bench.run(bench.now + 1)
    bench.run(bench.now + after)
    bench.line.asked = 1
    bench.dma.serve()
    assert bench.flags(5) & DMEIF == flags and bench.get(5, CR) & EN
    assert bench.lines == ({68} if flags else set())


def test_a_peripheral_that_ends_the_transfer_makes_ndtr_count_from_the_most() -> None:
    bench = Bench()
    begin(bench, M2P | PFCTRL | CIRC, 4)
    bench.ask(2)
    assert bench.get(5, NDTR) == 0xFFFF - 2


def test_the_fifo_keeps_bytes_until_its_threshold_or_the_end() -> None:
    bench = Bench()
    begin(bench, sizes(1, 4), 10, fcr=THROUGH_FIFO)
    bench.ask(7)
    assert bench.emulator.read(SRAM, 8) == bytes(8)
    bench.ask(1)
    assert bench.emulator.read(SRAM, 9) == b"peripher\0"
    bench.ask(1)
    bench.set(5, CR, CHANNEL)
    assert bench.emulator.read(SRAM, 10) == b"periphera\0"
    assert bench.flags(5) & TCIF and bench.get(5, NDTR) == 1


@pytest.mark.parametrize("cr", [0, M2P])
def test_memory_that_the_dma_does_not_reach_is_an_error(cr: int) -> None:
    bench = Bench(F469)
    begin(bench, cr | TEIE, 4, CCM)
    bench.ask(1)
    assert (bench.flags(5), bench.get(5, CR) & EN, bench.lines) == (TEIF, 0, {68})


def test_what_a_line_of_the_cache_holds_the_core_does_not_see() -> None:
    bench = Bench(F746)
    state = bench.emulator.memory.state

    core_data.load(state, AddressRange(state, core_data.find(state, SRAM)), SRAM, 4)
    begin(bench, 0, 40)
    bench.ask(40, 20)
    assert bench.emulator.read(SRAM, 4) == bytes(4)
    assert bench.emulator.read(SRAM + 32, 2) != bytes(2)

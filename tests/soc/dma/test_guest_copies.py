"""Programs that copy with DMA2 by its registers, on the emulated core: when bytes come, how long a copy takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mcusim.emulator.emulator import Emulator
from mcusim.image.image import load_image
from mcusim.kernels.test_programs import program_path
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.state_builder import WritingSide
from mcusim.memory.system import MemorySystem

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
SRAM1 = {F469: 0x2000_8000, F746: 0x2001_0000}
SRAM2 = {F469: 0x2002_8000, F746: 0x2004_C000}
WORDS, BYTES = 2 << 11 | 2 << 13, 0
FULL, TEIF, ENDED = 3, 8, 0x30
DATA = bytes(n * 11 % 253 for n in range(4096))


class Guest:
    """The program ``dma`` on a board; :meth:`call` runs one of its functions."""

    def __init__(self, board: str) -> None:
        self.machine = load_machine(board)
        self.emulator = Emulator(self.machine)
        self.image = load_image(program_path("dma", self.machine.core.isa))
        self.emulator.load(self.image, as_started=True)
        self.emulator.set_stack(0x2000_4000, 0)
        self.stream = self.emulator.dma[1].streams[0]

    def call(self, function: str, *arguments: int) -> int:
        self.emulator.call(self.image.symbol(function).address & ~1, arguments)
        stop = self.emulator.run(1_000_000)
        assert stop.kind == "returned", stop
        return self.emulator.registers()["r0"]


@pytest.mark.parametrize("board", [F469, F746])
def test_the_program_finds_all_as_it_should_be(board: str) -> None:
    printed: list[bytes] = []
    machine = load_machine(board)
    emulator = Emulator(machine, printed.append, caches=False)
    emulator.load(load_image(program_path("dma", machine.core.isa)))
    emulator.begin()
    stop = emulator.run()
    assert (stop.kind, stop.status) == ("exit", 0), b"".join(printed)
    assert [(count.name, count.count) for count in emulator.interrupts.counts()] == [("IRQ 56", 1)]


@pytest.mark.parametrize("board", [F469, F746])
@pytest.mark.parametrize(("fields", "beat"), [(WORDS, 4), (BYTES, 1)])
def test_a_copy_takes_as_long_as_the_same_transfer_of_a_program(board: str, fields: int, beat: int) -> None:
    guest = Guest(board)
    guest.emulator.write(SRAM1[board], DATA)
    assert guest.call("copy_polled", SRAM1[board], SRAM2[board], 1024 // beat, fields, FULL) == ENDED
    dma = replace(guest.machine.dma["dma2"], beat=beat, burst=1, threshold="full")
    fresh = MemorySystem(guest.machine)
    ticks = fresh.transfer(dma, SRAM1[board], SRAM2[board], 1024, WritingSide(beat, 1))
    begin, end = guest.stream.last
    assert end - begin == -(-ticks // L.TICK)
    assert guest.emulator.read(SRAM2[board], 1024) == DATA[:1024]


@pytest.mark.parametrize("board", [F469, F746])
def test_the_core_sees_a_word_from_its_beat_on_and_not_before(board: str) -> None:
    """Two-sided: of two reads a loop apart the earlier finds the old word, the later the new one."""

    def seen(spins: int) -> bytes:
        guest = Guest(board)
        guest.emulator.memory.enable_caches(data=False, instruction=False)
        guest.emulator.write(SRAM1[board], DATA)
        watched = SRAM2[board] + 64
        word = guest.call("copy_watched", SRAM1[board], SRAM2[board], 256, WORDS, watched, spins)
        return word.to_bytes(4, "little")

    early, late = 1, 120
    assert (seen(early), seen(late)) == (bytes(4), DATA[64:68])
    while late - early > 1:
        middle = (early + late) // 2
        found = seen(middle)
        assert found in (bytes(4), DATA[64:68])
        early, late = (early, middle) if found == DATA[64:68] else (middle, late)
    assert 5 < early < 110


def test_a_line_that_the_cache_holds_shows_the_old_bytes_after_the_copy() -> None:
    guest = Guest(F746)
    guest.emulator.write(SRAM1[F746], DATA)
    assert guest.call("copy_watched", SRAM1[F746], SRAM2[F746], 256, WORDS, SRAM2[F746], 0) == 0  # and keeps the line
    guest.emulator.memory.advance(guest.emulator.cycles + 10_000)
    assert guest.emulator.read(SRAM2[F746], 64) == bytes(32) + DATA[32:64]


def test_itcm_is_out_of_reach() -> None:
    guest = Guest(F746)
    assert guest.call("copy_polled", 0x100, SRAM1[F746], 16, WORDS, FULL) == TEIF


@pytest.mark.parametrize("apart", [1, 7, 1000])
def test_cutting_the_run_changes_nothing(apart: int) -> None:
    whole, cut = Guest(F469), Guest(F469)
    whole.call("copy_polled", SRAM1[F469], SRAM2[F469], 256, WORDS, FULL)
    cut.emulator.call(cut.image.symbol("copy_polled").address & ~1, (SRAM1[F469], SRAM2[F469], 256, WORDS, FULL))
    while cut.emulator.run_until(cut.emulator.cycles + apart).kind == "horizon":
        pass
    assert cut.emulator.cycles == whole.emulator.cycles
    assert cut.stream.last == whole.stream.last

"""What the native side notes of the core's accesses and of beats, each with the operation that makes it right."""

from __future__ import annotations

import pytest

from mcusim.cpu.hooks import race_detector
from mcusim.cpu.hooks.accesses import begin
from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory import state_layout as L
from mcusim.memory.ports import core_data
from mcusim.memory.ports.maintenance import maintain_line, maintain_set_way
from mcusim.memory.race_detector import layout as W
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange
from mcusim.verification.firmware.memory_shadow import Shadow

SOURCE, TARGET = 0x2001_0000, 0x2001_1000
CLEAN, INVALIDATE, BOTH = (1, 0), (0, 1), (1, 1)


class Board:
    """An STM32F746 whose core loads, stores and maintains lines by the test's own hand; transfers have number 1."""

    def __init__(self) -> None:
        self.emulator = Emulator(load_machine("stm32f746g-disco"))
        self.memory, self.shadow = self.emulator.memory, Shadow(self.emulator)
        self.s = self.memory.state
        self.memory.on_transfer = lambda *_: (1, 0, 0)
        watch = self.shadow.watch
        watch.sources[1], watch.source_ends[1] = SOURCE, SOURCE + 64
        watch.target_lows[1], watch.target_ends[1] = TARGET, TARGET + 64

    def access(self, address: int, write: int) -> None:
        addresses = AddressRange(self.s, find(self.s, address))
        core_data.access(self.s, addresses, address, 4, write)
        begin(self.emulator.state, address, 4, write, 0x0800_0100)
        race_detector.accessed(self.emulator.state, self.s, addresses)

    def load(self, address: int) -> None:
        self.access(address, 0)

    def store(self, address: int) -> None:
        self.access(address, 1)

    def maintain(self, address: int, how: tuple[int, int]) -> None:
        maintain_line(self.s, address, *how)

    def copy(self, size: int = 64) -> None:
        now = int(self.s.now) // L.TICK
        self.memory.begin_transfer(self.memory.machine.dma["dma2"], 0, SOURCE, TARGET, size, 0, now)
        self.memory.advance(now + 10_000)
        self.s.now += 10_000 * L.TICK

    @property
    def kinds(self) -> list[int]:
        return [report.kind for report in self.shadow.reports]


def test_a_line_held_from_before_the_transfer_is_stale_until_it_is_invalidated() -> None:
    board = Board()
    board.load(TARGET)
    board.copy()
    board.load(TARGET)
    assert board.kinds == [W.STALE]
    board.maintain(TARGET, INVALIDATE)
    board.load(TARGET)
    assert board.kinds == [W.STALE]


@pytest.mark.parametrize(("when", "kinds"), [("never", [W.MAYBE_STALE]), ("before", [W.MAYBE_STALE]), ("after", [])])
def test_a_line_is_invalidated_after_the_transfer_or_only_luck_helps(when: str, kinds: list[int]) -> None:
    board = Board()
    if when == "before":
        board.maintain(TARGET, INVALIDATE)
    board.copy()
    if when == "after":
        board.maintain(TARGET, INVALIDATE)
    board.load(TARGET)
    assert board.kinds == kinds


def test_a_loop_over_all_sets_and_ways_invalidates_too() -> None:
    board = Board()
    board.copy()
    for value in (1 << 5, 1 << 30, 0):
        maintain_set_way(board.s, value, 0, 1)
        board.load(TARGET) if value == 0 else None
    assert board.kinds == []


def test_stored_bytes_are_read_by_the_dma_once_they_are_cleaned() -> None:
    board = Board()
    board.store(SOURCE + 4)
    board.copy()
    assert board.kinds == [W.UNCLEANED]
    (report,) = board.shadow.reports
    assert (report.low, report.high, report.times, report.other) == (SOURCE + 4, SOURCE + 8, 4, 0x0800_0100)
    clean = Board()
    clean.store(SOURCE + 4)
    clean.maintain(SOURCE, CLEAN)
    clean.copy()
    assert clean.kinds == []


def test_a_line_that_the_cache_wrote_back_by_itself_is_noted_all_the_same() -> None:
    board = Board()
    board.store(SOURCE)
    ways = 0x1000 // 4  # of 4 KiB in 4 ways: lines so far apart are of one set
    for line in range(1, 6):
        board.load(SOURCE + 0x4000 + line * ways)
    board.copy()
    assert board.kinds == [W.MAYBE_UNCLEANED]


@pytest.mark.parametrize(("how", "kinds"), [((0, 0), [W.DIRTY]), (CLEAN, []), (INVALIDATE, []), (BOTH, [])])
def test_a_dirty_target(how: tuple[int, int], kinds: list[int]) -> None:
    board = Board()
    board.store(TARGET + 32)
    if any(how):
        board.maintain(TARGET + 32, how)
    board.copy()
    assert board.kinds == kinds


def test_a_dirty_neighbour_in_the_last_line_is_another_byte_than_the_transfers() -> None:
    board = Board()
    board.shadow.watch.target_ends[1] = TARGET + 48
    board.store(TARGET + 48)
    board.copy(48)
    assert [(r.kind, r.low) for r in board.shadow.reports] == [(W.DIRTY, TARGET + 51)]


def test_a_store_that_an_invalidate_destroyed_is_missed_when_it_is_loaded() -> None:
    board = Board()
    board.store(SOURCE)
    board.maintain(SOURCE, INVALIDATE)
    board.load(SOURCE)
    assert [(r.kind, r.wanted & W.BY_CORE) for r in board.shadow.reports] == [(W.STALE, W.BY_CORE)]

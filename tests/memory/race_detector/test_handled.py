"""Which words the main program and a handler race for: the core's accesses and exceptions by the test's own hand."""

from __future__ import annotations

import ctypes

import pytest

from mcusim.cpu import state_layout as C
from mcusim.cpu.hooks import race_detector
from mcusim.cpu.hooks.accesses import begin
from mcusim.cpu.system import exception_layout as X
from mcusim.emulator.emulator import Emulator
from mcusim.machine import load_machine
from mcusim.memory.race_detector import layout as W
from mcusim.memory.range_lookup import find
from mcusim.memory.state_layout import AddressRange
from mcusim.verification.firmware.memory_shadow import Shadow

WORD, LOCK, TASK = 0x2001_0000, 0x2001_0100, 0x2001_0800


class Core:
    """An STM32F469's core: in the main program, or in the handler of ``place``."""

    def __init__(self) -> None:
        self.emulator = Emulator(load_machine("stm32f469i-disco"))
        self.shadow = Shadow(self.emulator)
        self.s, self.c, self.x = self.emulator.memory.state, self.emulator.state, self.emulator.interrupts.state

    def runs(self, place: int) -> None:
        self.x.current = place
        self.x.since += 1

    def access(self, address: int, write: int, value: int = 0) -> None:
        addresses = AddressRange(self.s, find(self.s, address))
        if write:
            ctypes.memmove(addresses.core_view + address, value.to_bytes(4, "little"), 4)
        begin(self.c, address, 4, write, 0x0800_0100)
        self.c.access.value = value
        race_detector.accessed(self.c, self.s, addresses)

    def load(self, address: int) -> None:
        self.access(address, 0)

    def store(self, address: int, value: int) -> None:
        self.access(address, 1, value)

    def handler(self, *stores: int, loads: tuple[int, ...] = (), place: int = X.SYSTICK) -> None:
        """A handler comes: it loads, and stores each value to WORD."""
        self.runs(place)
        for address in loads:
            self.load(address)
        for value in stores:
            self.store(WORD, value)
        self.runs(0)

    def races(self, value: int = 0) -> bool:
        """Whether a load and a store, of the main program's or of the handler that runs, may be a race."""
        self.c.fault = C.NO_FAULT
        self.load(WORD)
        self.store(WORD, value)
        asks = bool(self.c.fault == C.WATCHED)
        return asks and any(race_detector.asked(self.s, i) for i in range(race_detector.PROBES))


@pytest.mark.parametrize(("place", "race"), [(X.SYSTICK, True), (X.PENDSV, True), (X.SVCALL, False)])
def test_a_handler_counts_what_the_main_program_counts(place: int, race: bool) -> None:
    """An SVC comes when the main program asks for it."""
    core = Core()
    core.handler(1, loads=(WORD,), place=place)
    assert core.races(2) == race


def test_a_flag_that_is_seen_and_cleared_is_no_race_and_one_that_is_not_seen_is() -> None:
    core = Core()
    core.handler(1)
    assert not core.races(0)
    assert core.races(0)
    core.handler(2)  # not always the same
    assert core.races(0)


def test_a_word_is_not_raced_for_while_a_word_of_the_main_programs_keeps_the_handler_off() -> None:
    core = Core()
    core.store(LOCK, 0)
    core.handler(1, loads=(LOCK, WORD))
    core.store(LOCK, 1)
    assert not core.races(2)
    core.store(LOCK, 0)
    assert core.races(3)


def test_a_word_that_the_handler_stores_to_whatever_another_has_is_not_kept_from_it() -> None:
    core = Core()
    for value in (0, 1):
        core.store(LOCK, value)
        core.handler(1, loads=(LOCK, WORD))
    core.store(LOCK, 2)
    assert core.races(2)


def test_registers_that_a_switch_saves_below_a_tasks_frame_are_no_words_of_the_handlers() -> None:
    core = Core()
    addresses = AddressRange(core.s, find(core.s, TASK))
    for at in range(WORD + 32, WORD + 64, 4):
        race_detector.pushed(core.c, core.s, addresses, at)
    core.handler(5, place=X.PENDSV)
    assert not core.races()
    for at in range(TASK, TASK + 32, 4):  # another task's
        race_detector.pushed(core.c, core.s, addresses, at)
    core.handler(5, loads=(WORD,), place=X.PENDSV)
    assert core.races()


def test_a_handler_races_with_another_one_and_not_with_itself() -> None:
    core = Core()
    core.handler(1, loads=(WORD,), place=X.PENDSV)
    core.runs(X.PENDSV)
    assert not core.races(2)
    core.handler(1, loads=(WORD,), place=X.SYSTICK)
    core.runs(X.PENDSV)
    assert core.races(2)


def test_of_two_handlers_that_store_to_a_word_the_one_that_does_so_blindly_is_no_excuse_for_the_other() -> None:
    core = Core()
    core.handler(1, place=X.SYSTICK)
    core.handler(1, loads=(WORD,), place=X.PENDSV)
    core.handler(1, place=X.SYSTICK)
    assert core.races(0)  # PendSV counts


def test_a_state_that_the_handler_reads_and_sets_back_is_a_race_only_if_that_is_no_constant() -> None:
    core = Core()
    for value, kind in ((1, W.MAYBE_RACE), (2, W.RACE)):  # the main program loads 1: READY
        core.shadow.watch.report_count = 0
        core.handler(1, loads=(WORD,))
        core.handler(value, loads=(WORD,))
        core.handler(1, loads=(WORD,))
        assert core.races(5)
        probe = next(i for i in range(race_detector.PROBES) if race_detector.asked(core.s, i))
        race_detector.raced(core.c, core.s, probe)
        (report,) = core.shadow.reports
        assert report.kind == kind
        assert core.shadow.constant_stores(report.held) == ([0x0800_0100] if kind == W.MAYBE_RACE else [])

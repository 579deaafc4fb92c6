"""An exception between a load and a store exclusive makes the store fail; without one it succeeds."""

from __future__ import annotations

from typing import Any

import pytest

from mcusim.cpu import unicorn_selftest
from mcusim.cpu.unicorn_selftest import monitor_place
from tests.support.programs.exception_code import ISAS, PENDSV, prepared

WORD = 0x2000_0800
PAIR = "ldrex r0, [r9]; str r7, [r11]; isb; adds r0, #1; strex r1, r0, [r9]; bx lr"
STORE, LOADS, NOTHING = "str r7, [r11]; isb; strex r1, r0, [r9]; bx lr", "ldrex r0, [r9]; bx lr", "adds r5, #1; bx lr"


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize(("pended", "failed"), [(0, 0), (PENDSV, 1)])
def test_an_exception_between_load_and_store_makes_the_store_fail(isa: str, pended: int, failed: int) -> None:
    """The handler does not touch the word, so that its value is the one that was loaded."""
    emulator = prepared(isa, PAIR, {14: NOTHING}, r9=WORD, r7=pended, r5=0)
    assert emulator.run(1000).kind == "returned"
    registers = emulator.registers()
    assert (registers["r1"], registers["r5"]) == (failed, failed)
    assert emulator.read(WORD, 4) == (1 - failed).to_bytes(4, "little")


@pytest.mark.parametrize("isa", ISAS)
def test_what_a_handler_has_marked_is_not_marked_for_what_it_interrupted(isa: str) -> None:
    emulator = prepared(isa, STORE, {14: LOADS}, r9=WORD, r7=PENDSV, r1=7)
    assert emulator.run(1000).kind == "returned"
    assert emulator.registers()["r1"] == 1 and emulator.read(WORD, 4) == bytes(4)


def test_the_monitor_is_found() -> None:
    assert monitor_place() is not None


def test_nothing_is_written_where_the_marked_address_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some process had the mark behind another pointer too, by chance, in the cores that were looked at and not in the
    next: -1 was written into its heap."""
    place = monitor_place()
    assert place is not None
    value_of_the_mark = place[0], place[1] + 8  # a store exclusive fails where -1 is there
    assert not unicorn_selftest._clears(value_of_the_mark)
    found, looked = unicorn_selftest._words_with, []

    def by_chance(uc: Any, value: int, among: Any = None) -> set[tuple[int, int]]:
        looked.append(uc)
        return found(uc, value, among) | ({(0, 8)} if len(looked) < 3 else set())

    monkeypatch.setattr(unicorn_selftest, "_words_with", by_chance)
    assert monitor_place.__wrapped__() == place and len({id(uc) for uc in looked}) > 4

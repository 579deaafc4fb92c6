"""Records: slots that cannot overlap, and the layouts that are made of them."""

from __future__ import annotations

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.cpu import state_layout as core_layout
from mcusim.cpu.pipeline import branch_predictor
from mcusim.cpu.system import exception_layout
from mcusim.memory.cache import shadow
from mcusim.memory.film import record as film_layout
from mcusim.memory.race_detector import layout as watch_layout
from mcusim.native.records import Record, Slot

LAYOUTS = (core_layout, branch_predictor, exception_layout, shadow, watch_layout, film_layout)
RECORDS = [(module, record) for module in LAYOUTS for record in vars(module).values() if isinstance(record, Record)]


def assert_one_behind_the_other(slots: list[Slot], size: int) -> None:
    """Every word of ``size`` is in exactly one slot."""
    words = [word for slot in slots for word in range(slot.offset, slot.offset + slot.length)]
    assert words == list(range(size))


@given(st.lists(st.integers(1, 40), max_size=50))
def test_slots_are_one_behind_the_other(lengths: list[int]) -> None:
    record = Record("any")
    offsets = [record.array(f"SLOT_{n}", length) for n, length in enumerate(lengths)]
    assert offsets == [sum(lengths[:n]) for n in range(len(lengths))]
    assert record.freeze() == sum(lengths)
    assert_one_behind_the_other(record.slots, sum(lengths))


def test_fields_are_words() -> None:
    record = Record("region")
    first, second = record.fields("KIND", "WAIT")
    assert (first, second, record.array("OPEN", 16), record.field("BUSY"), record.freeze()) == (0, 1, 2, 18, 19)
    assert record.slots == [Slot("KIND", 0, 1), Slot("WAIT", 1, 1), Slot("OPEN", 2, 16), Slot("BUSY", 18, 1)]


def test_a_wrong_declaration_names_the_slot() -> None:
    record = Record("region")
    record.field("KIND")
    with pytest.raises(ValueError, match="record region: the slot KIND is declared twice"):
        record.fields("WAIT", "KIND")
    with pytest.raises(ValueError, match="record region: the slot OPEN has 0 words: at least 1"):
        record.array("OPEN", 0)
    assert record.freeze() == 2
    with pytest.raises(ValueError, match=r"record region: the slot BUSY comes after freeze\(\)"):
        record.field("BUSY")
    with pytest.raises(ValueError, match="record region is frozen twice"):
        record.freeze()


@pytest.mark.parametrize(("module", "record"), RECORDS, ids=lambda one: getattr(one, "name", ""))
def test_every_slot_of_a_layout_has_words_of_its_own(module: ModuleType, record: Record) -> None:
    """... and the name that native code uses is the slot's."""
    assert [getattr(module, slot.name) for slot in record.slots] == [slot.offset for slot in record.slots]
    size = record.slots[-1].end
    assert_one_behind_the_other(record.slots, size)
    assert size in vars(module).values()  # what freeze() gave


def test_the_records_above_are_all() -> None:
    names = {record.name for _, record in RECORDS}
    assert {"core", "block", "access", "violation"} < names
    assert len(RECORDS) == len(names) == 24

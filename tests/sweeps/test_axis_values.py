"""Ranges of an axis written out, in work that grows with the values."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from mcusim.errors import UsageError
from mcusim.sweeps.axis_values import MOST_VALUES, axis_values, distinct


@pytest.mark.parametrize(
    ("table", "values"),
    [
        ({"low": 1, "high": 7, "step": 3}, (1, 4, 7)),
        ({"low": 1, "high": 2, "step": 0.5}, (1.0, 1.5, 2.0)),
        ({"low": 0.5, "high": 2.5, "step": 1}, (0.5, 1.5, 2.5)),
        ({"low": "1 MHz", "high": "2.5 MHz", "step": "0.5 MHz"}, ("1 MHz", "1.5 MHz", "2 MHz", "2.5 MHz")),
    ],
)
def test_a_range_is_of_one_kind_of_number(table: dict[str, Any], values: tuple[object, ...]) -> None:
    found = axis_values("core.clock", table)
    assert found == values and {type(value) for value in found} == {type(values[0])}


def calls(count: int) -> int:
    """Functions called to write a range of ``count`` values out."""
    seen = 0

    def count_one(_frame: object, event: str, _argument: object) -> None:
        nonlocal seen
        seen += event == "call"

    sys.setprofile(count_one)
    try:
        assert len(axis_values("core.clock", {"low": 1, "high": count, "step": 1})) == count
    finally:
        sys.setprofile(None)
    return seen


def test_twice_the_values_are_twice_the_work() -> None:
    few, more = calls(500), calls(1000)
    assert few > 500 and more < 2.1 * few


def test_the_most_values() -> None:
    found = axis_values("core.clock", {"low": 1, "high": MOST_VALUES, "step": 1})
    assert len(found) == MOST_VALUES and distinct(found)
    with pytest.raises(UsageError, match="has 10,001 values; at most 10,000"):
        axis_values("core.clock", {"low": 0, "high": MOST_VALUES, "step": 1})


def test_how_the_arena_is_planned_is_an_axis() -> None:
    assert axis_values("order", ["default", "optimal"]) == ("default", "optimal")
    assert axis_values("allocator", ["none", "greedy", "offline"]) == (None, "greedy", "offline")
    assert axis_values("in_place", [False, True]) == (False, True)
    assert axis_values("variant", [2022, "2023"]) == ("2022", "2023")
    for key, value, text in (
        ("order", "best", 'the value "best": unknown order "best"; there are default, optimal'),
        ("allocator", "dynamic", 'the value "dynamic": the dynamic allocator moves tensors'),
        ("in_place", 1, "the value 1: in_place = 1: must be true or false"),
        ("variant", 2024, 'the value 2024: unknown variant "2024"; there are 2022, 2023'),
    ):
        with pytest.raises(UsageError, match=text):
            axis_values(key, [value])

"""Which operators of two runs belong together, that the parts sum to the whole, and what is beyond a limit."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim import simulate
from mcusim.api.diff import diff
from mcusim.errors import InputError, UsageError
from mcusim.results import to_json
from mcusim.results.difference import explain
from mcusim.results.saved.fail_if import parse_limit
from mcusim.results.saved.run_difference import matched
from mcusim.results.saved.saved_run import SavedOperator, saved_run

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"


def operators(text: str, names: str = "") -> list[SavedOperator]:
    """One for each letter, which is its type; ``names`` are those of their outputs."""
    return [SavedOperator(i, c, i, 10 + i, 0, None, names[i : i + 1], {}) for i, c in enumerate(text)]


def pairs(a: list[SavedOperator], b: list[SavedOperator]) -> str:
    """``0-0 1-2``: indices of both, a dot for none."""
    return " ".join(f"{'.' if x is None else x.index}-{'.' if y is None else y.index}" for x, y in matched(a, b))


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        ("CDCD", "CDCD", "0-0 1-1 2-2 3-3"),
        ("CDS", "CPDS", "0-0 .-1 1-2 2-3"),  # one more
        ("CPDS", "CDS", "0-0 1-. 2-1 3-2"),  # one less
        ("CD", "AB", "0-. 1-. .-0 .-1"),
        ("", "A", ".-0"),
        ("PCD", "CD", "0-. 1-0 2-1"),
    ],
)
def test_operators_are_matched_by_type(a: str, b: str, wanted: str) -> None:
    assert pairs(operators(a), operators(b)) == wanted


def test_another_order_is_matched_by_name() -> None:
    assert pairs(operators("CCDA", "wxyz"), operators("CDCA", "wyxz")) == "0-0 2-1 1-2 3-3"
    # names that do not say which: the longest stretch of equal types
    assert pairs(operators("CCD", "xxz"), operators("DCC", "zxx")) == "2-0 0-1 1-2"


@given(st.text("CDA", max_size=30), st.text("CDA", max_size=30))
def test_each_operator_is_in_one_pair(a: str, b: str) -> None:
    found = matched(operators(a), operators(b))
    assert sorted(x.index for x, _ in found if x is not None) == list(range(len(a)))
    assert [y.index for _, y in found if y is not None] == list(range(len(b)))
    assert all(x.type == y.type for x, y in found if x is not None and y is not None)


def test_very_long_lists_are_matched_in_time() -> None:
    assert len(matched(operators("CD" * 5000), operators("C" + "CD" * 4999))) < 20_000


def test_parts_are_those_of_the_results() -> None:
    """The saved runs give the same parts as the runs themselves, and operators sum to them."""
    a, b = simulate("ds-cnn", F746), simulate("ds-cnn", F469, policy="tinyops")
    found = diff(a, b)
    assert found.parts == explain(a, b)
    whole = sum((part.seconds for part in found.parts), Fraction(0))
    assert sum((pair.seconds for pair in found.operators), Fraction(0)) == whole
    for pair in found.operators:
        assert sum((part.seconds for part in pair.parts), Fraction(0)) == pair.seconds
    assert found.settings["machine"] == (F746, F469)


def test_a_replay_and_an_emulation() -> None:
    found = diff(simulate("ds-cnn", F746), simulate("ds-cnn", F746, fidelity="emulate"))
    assert found.unmatched == (0, 0) and found.settings["fidelity"] == ("replay", "emulate")


@pytest.mark.parametrize(
    ("limit", "first", "second", "over"),
    [
        ("latency +5 %", 100.0, 105.0, False),  # exactly at it
        ("latency +5 %", 100.0, 105.0000001, True),
        ("latency -5 %", 100.0, 94.9, True),
        ("latency -5 %", 100.0, 120.0, False),
        ("latency +250us", 1.0, 1.2, False),
        ("latency +250 µs", 1.0, 1.26, True),
        ("energy+1mJ", 1.0, 2.5, True),
        ("cycles +0", 7.0, 7.0, False),
        ("cycles +0", 7.0, 8.0, True),
        ("SRAM +1 KiB", 0.0, 1024.0, False),
        ("flash +10 %", 0.0, 1.0, True),  # of nothing, anything is more
    ],
)
def test_limits(limit: str, first: float, second: float, over: bool) -> None:
    assert parse_limit(limit).exceeded(first, second) is over


def test_arguments_that_cannot_be_used() -> None:
    result: Any = simulate("ds-cnn", F746)
    with pytest.raises(UsageError, match="first = 7: must be a Result or the path of a JSON file"):
        diff(7, result)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="fail_if = 5: must be a text such as"):
        diff(result, result, fail_if=[5])  # type: ignore[list-item]
    assert diff(result, result, fail_if="latency +1 %").exceeded == ()


def test_older_files_have_causes_alone() -> None:
    row = json.loads(json.dumps(to_json(simulate("ds-cnn", F746))))
    for operator in row["operators"]:
        for key in set(operator) - {"index", "type", "cycles", "tiles", "cycles_by_cause"}:
            del operator[key]
    for key in ("tensors", "buffers", "outside_operators", "options"):
        del row[key]
    run = saved_run(row, "old.json")
    assert run.cycles == row["cycles"] and run.operators[0].energy_mj is None
    assert {key[0] for key in run.operators[0].parts} >= {"compute", "flash"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cycles": 5}, "cycles = 5, and its operators take 6,730,250: not what mcusim wrote"),
        ({"clock_hz": 0}, "clock_hz = 0: must be a whole number from 1 to"),
        ({"latency_ms": -1}, "latency_ms = -1: must be a number from 0 to"),
        ({"policy": None}, "policy = null: must be a text"),
        ({"fits": "yes"}, 'fits = "yes": must be true or false'),
        ({"operators": {}}, "operators = an object: must be a list of at most"),
        ({"builds": [1e15]}, "interval.situation.builds = a list: must be a list of numbers from 1/1000 to 1000"),
        ({"peripherals": 0.5}, "interval.situation.peripherals = 0.5: must be a number from 1 to 1000"),
    ],
)
def test_files_that_do_not_add_up(change: dict[str, Any], message: str) -> None:
    row = to_json(simulate("ds-cnn", F746))
    situation = row["interval"]["situation"]
    (situation if change.keys() <= situation.keys() - row.keys() else row).update(change)
    with pytest.raises(InputError, match=f"^x.json: {message}"):
        saved_run(row, "x.json")


def test_names_are_printable() -> None:
    result = simulate("ds-cnn", F746)
    run = saved_run(to_json(replace(result, model="a\x1b[2J\u202e" + "b" * 500)), "x\x07.json")
    assert run.settings["model"].isprintable() and len(run.settings["model"]) < 250 and run.name == "x\\x07.json"

"""Expressions of filters and derived columns: values, missing ones, and nothing that is Python's alone."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.errors import UsageError
from mcusim.sweeps.expressions import parse

ROW: dict[str, Any] = {
    "cycles": 200,
    "latency_ms": 2.5,
    "policy": "internal",
    "core.clock": "200 MHz",
    "memory.sdram.timing.tRCD": "20 ns",
    "memory.my-ram.size": "8 KiB",
    "sram_budget": None,
    "on": True,
}


def value(text: str) -> Any:
    return parse(text, ROW)(ROW)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("cycles * latency_ms", 500.0),
        ("-cycles + 2 ** 3", -192),
        ("7 // 2 + 7 % 4 - 1 / 4", 5.75),
        ("cycles / core.clock * 1e6", 1.0),
        ("memory.sdram.timing.tRCD * 1e9", 20.0),
        ("core.clock >= '0.2 GHz'", True),
        ("core.clock == '0.2 GHz'", True),
        ("core.clock == 200e6", True),
        ("core.clock != '201 MHz'", True),
        ("1 < cycles < 201", True),
        ("1 < cycles < 200", False),
        ("policy == 'internal' and not on", False),
        ("policy in ['external', 'internal']", True),
        ("policy not in ('external',)", True),
        ("core.clock in ['0.2 GHz']", True),
        ("column('memory.my-ram.size') / 1024", 8.0),
        ("min(cycles, 3) + max(1, 2, cycles)", 203),
        ("sqrt(16) + log2(8) + round(1.6) + abs(-1)", 10.0),
        ("1 if cycles > 3 else 2", 1),
        ("true or cycles / 0 > 1", True),
        ("policy", "internal"),
    ],
)
def test_values(text: str, wanted: object) -> None:
    found = value(text)
    assert found == wanted
    assert isinstance(found, bool) is isinstance(wanted, bool)


@pytest.mark.parametrize(
    "text",
    [
        "sram_budget + 1",
        "sram_budget < 5",
        "not (sram_budget < 5)",
        "min(1, sram_budget)",
        "cycles / 0",
        "cycles % 0",
        "log(-1)",
        "log(0)",
        "(-8) ** 0.5",
        "1e200 * 1e200",
        "10 ** 400",
        "exp(1e9)",
        "none",
        "sram_budget > 1 and true",
    ],
)
def test_what_has_no_value(text: str) -> None:
    assert value(text) is None


def test_missing_values_can_be_asked_for() -> None:
    assert value("sram_budget == none") is True
    assert value("sram_budget != none") is False
    assert value("cycles == none") is False
    assert value("sram_budget < 5 and false") is False
    assert value("sram_budget < 5 or true") is True


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not an expression"),
        ("cycles +", "is not an expression"),
        ("a = 1", "is not an expression"),
        ("cycle", 'no column "cycle", did you mean "cycles"'),
        ("memory.sdram", "no column"),
        ("__import__('os')", "calls"),
        ("policy.upper()", "calls"),
        ("(lambda: 1)()", "calls"),
        ("[x for x in policy]", "cannot be in an expression"),
        ("policy[0]", "cannot be in an expression"),
        ("f'{cycles}'", "cannot be in an expression"),
        ("(cycles := 3)", "cannot be in an expression"),
        ("b'x'", "cannot be in an expression"),
        ("1j", "cannot be in an expression"),
        ("...", "cannot be in an expression"),
        ("cycles @ 2", "cannot be in an expression"),
        ("~cycles", "cannot be in an expression"),
        ("cycles << 99", "cannot be in an expression"),
        ("cycles is 1", 'compares with "is"'),
        ("policy in 'internal'", '"in" needs a list'),
        ("policy in column('a')", '"in" needs a list'),
        ("('a').b", "not a column"),
        ("column(policy)", "the name of one column"),
        ("min()", "min() takes two numbers or more, not 0"),
        ("max(1)", "max() takes two numbers or more, not 1: it is of one point"),
        ("min(cycles)", "not 1: it is of one point"),
        ("sqrt(1, 2)", "sqrt() takes one number, not 2"),
        ("max(*policy)", "starred"),
        ("round(1, ndigits=2)", "named"),
        ("9" * 400, "too large"),
        ("1e999", "too large"),
        ("-" * 60 + "1", "nested too deep"),
        ("(" * 240 + "1" + ")" * 240, "is not an expression"),
        ("1+" * 260 + "1", "longer than"),
    ],
)
def test_what_is_refused(text: str, reason: str) -> None:
    with pytest.raises(UsageError) as error:
        parse(text, ROW)
    assert reason in str(error.value)


@pytest.mark.parametrize("text", ["policy * 2", "policy < 3", "-policy", "sqrt(policy)", "core.clock < '20 ns'"])
def test_texts_that_are_no_numbers(text: str) -> None:
    with pytest.raises(UsageError):
        value(text)


@given(st.text(max_size=60))
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        found = value(text)
    except UsageError:
        return
    assert found is None or isinstance(found, str | int | float | bool)


OPERANDS = st.sampled_from(["cycles", "latency_ms", "0", "-1", "3", "2.5", "1e200", "core.clock", "sram_budget", "on"])
TREES = st.recursive(
    OPERANDS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([*"+-*/%", "//", "**", "<", "==", "and", "or"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        ),
        st.tuples(st.sampled_from(["abs", "sqrt", "log", "exp", "round", "floor"]), inner).map(
            lambda p: f"{p[0]}({p[1]})"
        ),
    ),
    max_leaves=12,
)


@given(TREES)
def test_arithmetic_never_raises_and_is_finite(text: str) -> None:
    if len(text) > 400:
        return
    found = value(text)
    assert found is None or isinstance(found, str) or math.isfinite(found)


def test_powers_of_whole_numbers_end_soon() -> None:
    """As numbers of Python they would fill the memory."""
    for text in ("9**9**9", "cycles**cycles", "cycles**cycles**cycles", "(-9)**(9**9)"):
        assert parse(text, ["cycles"])({"cycles": 10**9}) is None


def test_equal_numbers_of_other_units_differ() -> None:
    for text, wanted in (("clock == '1 MHz'", True), ("clock == '1000000 B'", False), ("clock != '1000000 B'", True)):
        assert parse(text, ["clock"])({"clock": "1000 kHz"}) is wanted

"""Why one run takes longer than another: parts that sum exactly, and that name what was changed."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim import load_machine, simulate
from mcusim.errors import DoesNotFit
from mcusim.results import Result
from mcusim.results.difference import (
    Difference,
    cycles_by_part,
    energy_sentence,
    explain,
    in_words,
    rounded_parts,
    sentence,
)
from tests.support.pages.made_results import make_result

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"


def ran(*arguments: str, **options: str) -> Result:
    return simulate(*arguments, **options)  # type: ignore[arg-type]


def seconds(result: Result) -> Fraction:
    assert result.run is not None
    return Fraction(result.run.cycles, result.run.clock)


PAIRS = [
    (("ds-cnn", F746, "internal"), ("ds-cnn", F746, "external")),
    (("ds-cnn", F469, "tinyops"), ("ds-cnn", F469, "external")),
    (("ds-cnn", F746, "tinyops"), ("ds-cnn", F469, "external")),
    (("ds-cnn", F746, "internal"), ("figure-1", F469, "tinyops")),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_parts_sum_exactly_and_turn_round(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    a, b = ran(*one), ran(*other)
    for first, second in ((a, b), (b, a)):
        parts = explain(first, second)
        assert sum((part.seconds for part in parts), Fraction(0)) == seconds(second) - seconds(first)
        assert all(part.seconds for part in parts)
        assert [abs(p.seconds) for p in parts] == sorted((abs(p.seconds) for p in parts), reverse=True)
        assert len({(p.cause, p.region, p.what) for p in parts}) == len(parts)
    if a.machine.core.clock == b.machine.core.clock:
        turned = {(p.cause, p.region, p.what): -p.seconds for p in explain(b, a)}
        assert {(p.cause, p.region, p.what): p.seconds for p in explain(a, b)} == turned


def test_equal_runs_have_no_difference() -> None:
    a = ran("ds-cnn", F746, "internal")
    assert explain(a, a) == () and sentence((), "a", "b") == "b takes as long as a"


def test_weights_in_sdram_are_what_it_says() -> None:
    a, b = ran("ds-cnn", F746, "internal"), ran("ds-cnn", F746, "internal", weights="sdram")
    parts = explain(a, b)
    waits = [p for p in parts if p.region == "sdram"]
    assert {p.what for p in waits} <= {"weights", "biases", "multipliers and shifts"} and waits[0].seconds > 0
    assert not [p for p in parts if p.cause in ("compute", "clock", "dma_wait", "runtime")]
    assert all(p.seconds < 0 for p in parts if p.region == "flash" and p.what != "code")


def test_a_slower_clock_is_the_clock() -> None:
    """Everything on chip without waits but flash: what the clock does not explain is flash alone."""
    fast = ran("ds-cnn", F746, "internal")
    slow = simulate("ds-cnn", load_machine(F746, {"core.clock": "108 MHz"}), "internal")
    parts = explain(fast, slow)
    assert parts[0].cause == "clock" and parts[0].seconds == seconds(fast)  # half the clock: as long again
    assert {p.cause for p in parts[1:]} <= {"flash"}


def test_overlays_trade_waits_for_the_memory_for_waits_for_the_dma() -> None:
    parts = explain(ran("ds-cnn", F469, "external"), ran("ds-cnn", F469, "tinyops"))
    least, dma = parts[0], [p for p in parts if p.cause == "dma_wait"]
    assert least.region == "sdram" and least.seconds < 0 and dma and all(p.seconds > 0 for p in dma)


def test_emulated_runs_are_explained_too() -> None:
    a, b = (ran("figure-1", F746, policy, fidelity="emulate") for policy in ("tinyops", "external"))
    parts = explain(a, b)
    assert sum((part.seconds for part in parts), Fraction(0)) == seconds(b) - seconds(a)
    assert parts[0].cause == "sdram" and parts[0].what in ("inputs", "weights", "scratch", "outputs")


def test_a_run_without_waits_by_operand_is_taken_apart_by_cause() -> None:
    a, b = make_result(), make_result(cycles=1_500_000)
    assert a.run is not None and cycles_by_part(a.run)["sram", "", ""] == 10
    parts = explain(a, b)
    assert sum((part.seconds for part in parts), Fraction(0)) == Fraction(500_000, 100_000_000)


def test_without_a_run_there_is_nothing_to_explain() -> None:
    failed = replace(make_result(), run=None, energy=None, does_not_fit=DoesNotFit("sram1", 2, 1, "arena"))
    with pytest.raises(ValueError, match="without a run"):
        explain(make_result(), failed)


@given(st.lists(st.fractions(-1000, 1000), max_size=20), st.integers(0, 4))
def test_rounded_parts_sum_to_the_rounded_sum(parts: list[Fraction], digits: int) -> None:
    found, unit = rounded_parts(parts, digits), Fraction(1, 10**digits)
    assert sum(found) == round(sum(parts, Fraction(0)) / unit) * unit
    assert all(abs(f - p) < unit and (f / unit).denominator == 1 for f, p in zip(found, parts, strict=True))


def test_the_sentence_s_numbers_sum() -> None:
    parts = [Difference("sdram", "sdram", "weights", Fraction(8204, 10_000))]
    parts += [
        Difference("sdram", "sdram", "inputs", Fraction(2901, 10_000)),
        Difference("compute", "", "ADD", -Fraction(1, 20)),
    ]
    parts += [Difference("dma_wait", "sdram", "outputs", Fraction(n, 10_000)) for n in (303, 302, 301, 5, 4)]
    text = sentence(parts, "internal", "external", most=3)
    assert text == (
        "external takes 1,152 ms longer than internal: 820 waiting for weights in sdram, 290 waiting for inputs in"
        " sdram, -50 computing ADD, 92 in 5 smaller parts"
    )
    assert 820 + 290 - 50 + 92 == 1152
    assert in_words(parts[3]) == "waiting for the DMA: outputs to sdram"
    assert sentence([Difference("bus", "", "", -Fraction(1, 100))], "a", "b") == (
        "b takes 10.0 ms less than a: -10.0 waiting for DMA beats"
    )


def test_the_energy_s_parts_sum_and_say_what_draws_it() -> None:
    a, b = ran("ds-cnn", F469, "internal"), ran("ds-cnn", F469, "external")
    assert a.energy is not None and b.energy is not None
    text = energy_sentence(a, b)
    whole, *parts = [float(n) for n in re.findall(r"(?<![\w])-?\d+\.\d+", text)]
    assert whole == pytest.approx(sum(parts)) == pytest.approx(b.energy.energy_mj - a.energy.energy_mj, abs=0.06)
    assert " mJ more: " in text and "SDRAM on" in text and energy_sentence(a, a) == ""
    assert energy_sentence(b, a).split(":")[0] == text.split(":")[0].replace("more", "less")

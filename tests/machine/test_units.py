"""Quantities: exact values, and the text of every refusal."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim import units
from mcusim.errors import UnitError
from mcusim.units import Duration

PARSERS = (
    units.parse_size,
    units.parse_clock,
    units.parse_bits,
    units.parse_current,
    units.parse_voltage,
    units.parse_energy,
    units.parse_duration,
)


@given(st.integers(0, 2**40), st.sampled_from([("B", 0), ("KiB", 10), ("MiB", 20), ("GiB", 30)]))
def test_sizes_are_binary_multiples(number: int, unit: tuple[str, int]) -> None:
    assert units.parse_size(f"{number} {unit[0]}") == number << unit[1]


@given(st.integers(0, 10**6), st.integers(0, 999))
def test_clocks_are_exact_to_the_hertz(whole: int, thousandths: int) -> None:
    assert units.parse_clock(f"{whole}.{thousandths:03} kHz") == whole * 1000 + thousandths


@given(st.decimals(0, 10**9, places=4))
def test_decimal_fractions_are_not_rounded(number: object) -> None:
    assert units.parse_duration(f"{number} ns").value == Fraction(str(number)) / 10**9
    assert units.parse_energy(f"{number} nJ") == Fraction(str(number)) / 10**9


@given(st.text(max_size=80))
def test_any_text_parses_or_is_a_unit_error(text: str) -> None:
    for parse in PARSERS:
        try:
            parse(text)
        except UnitError as error:
            assert str(error).isprintable()


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (units.parse_size, "8 MiB", 8 << 20),
        (units.parse_size, "32B", 32),
        (units.parse_size, " 1_024 B ", 1024),
        (units.parse_size, "0.5 KiB", 512),
        (units.parse_clock, "216 MHz", 216_000_000),
        (units.parse_clock, "32.768 kHz", 32_768),
        (units.parse_bits, "16 bit", 16),
        (units.parse_current, "96 mA", Fraction(96, 1000)),
        (units.parse_voltage, "3.3 V", Fraction(33, 10)),
        (units.parse_energy, "0.7 nJ", Fraction(7, 10**10)),
        (units.parse_duration, "15.6 us", Duration(Fraction(156, 10**7), "s")),
        (units.parse_duration, "15.6 µs", Duration(Fraction(156, 10**7), "s")),
        (units.parse_duration, "120 cycles", Duration(Fraction(120), "cycles")),
    ],
)
def test_values(parse: object, text: str, value: object) -> None:
    assert parse(text) == value  # type: ignore[operator]


def test_device_clocks_are_accepted_only_where_they_are_named() -> None:
    assert units.parse_duration("2 sdclk", ("sdclk",)) == Duration(Fraction(2), "clocks")
    with pytest.raises(UnitError, match=r"wrong unit sdclk: .*\(cycles, hclk, ps, ns, us, ms, s, min, h\)"):
        units.parse_duration("2 sdclk", ("hclk",))


@pytest.mark.parametrize(
    ("parse", "text", "rule"),
    [
        (units.parse_size, "8 KB", "KB, which may mean 1000 or 1024 bytes; write KiB"),
        (units.parse_size, "8 MB", "write MiB: a size is a number and a unit (B, KiB, MiB, GiB)"),
        (units.parse_size, "8 kb", "wrong unit kb"),
        (units.parse_size, "8 mib", "did you mean MiB"),
        (units.parse_size, "8", '"8" has no unit'),
        (units.parse_size, 8, "8 has no unit"),
        (units.parse_size, True, "true has no unit"),
        (units.parse_size, 10**400, "an integer of 1329 bits has no unit"),
        (units.parse_size, float("nan"), "nan has no unit"),
        (units.parse_size, "0.3 B", "not a whole number of bytes"),
        (units.parse_size, "-8 B", "must not be negative"),
        (units.parse_size, "1e9 B", "is not a size"),
        (units.parse_size, "1e999999999", "is not a size"),
        (units.parse_size, "9" * 100 + " B", "is not a size"),
        (units.parse_size, "٣ B", "is not a size"),
        (units.parse_size, "8 B\x1b[2J", r"\x1b"),
        (units.parse_clock, "216 mhz", "did you mean MHz"),
        (units.parse_clock, "0.0001 kHz", "not a whole number of Hz"),
        (units.parse_bits, "16 B", "a width is a number and a unit (bit)"),
        (units.parse_current, "5 V", "a current is a number and a unit (nA, uA, mA, A)"),
        (units.parse_voltage, "5 A", "a voltage is a number and a unit (mV, V)"),
        (units.parse_energy, "5 V", "an energy is a number and a unit (pJ, nJ, uJ, mJ, J)"),
    ],
)
def test_refusals_say_why(parse: object, text: object, rule: str) -> None:
    with pytest.raises(UnitError) as caught:
        parse(text)  # type: ignore[operator]
    assert rule in str(caught.value)


def test_durations_convert_to_core_cycles_without_rounding() -> None:
    assert Duration(Fraction(20, 10**9), "s").cycles(216_000_000) == Fraction(432, 100)
    assert Duration(Fraction(2), "clocks").cycles(216_000_000, 108_000_000) == 4
    assert Duration(Fraction(7), "cycles").cycles(1) == 7
    with pytest.raises(ValueError, match="device's clock"):
        Duration(Fraction(2), "clocks").cycles(216_000_000)

"""Texts of --period and --battery."""

from __future__ import annotations

from fractions import Fraction

import pytest

from mcusim.errors import UsageError
from mcusim.run_config.period import Battery, Period, batteries


def test_a_period_and_a_cell_are_read() -> None:
    assert Period.of(None) is None
    assert Period.of("20 ms") == Period(Fraction(1, 50))
    found = Period.of("1 s", "cr2032")
    assert found is not None and found.battery == batteries()["CR2032"]
    assert (found.battery.capacity_mah, found.battery.voltage, found.battery.most_ma) == (225, 3, 15)


@pytest.mark.parametrize(
    ("text", "charge", "volts"),
    [("1000 mAh 3.7 V", 1000, 3.7), ("1.2Ah 1500 mV", 1200, 1.5), ("1_000 mAh 3V", 1000, 3)],
)
def test_a_cell_may_be_its_charge_and_voltage(text: str, charge: float, volts: float) -> None:
    found = Battery.of(text)
    assert (found.name, found.capacity_mah, found.voltage, found.most_ma) == (text, charge, volts, None)


@pytest.mark.parametrize(
    ("period", "battery", "text"),
    [
        (None, "AA", "--battery needs --period: how often an inference is wanted"),
        ("5 cycles", None, '--period "5 cycles": must be a time above zero and at most a year, such as "1 s"'),
        ("0 s", None, "must be a time above zero"),
        ("40000000 s", None, "at most a year"),
        ("1", None, '--period "1" has no unit: a duration is a number and a unit'),
        ("1 s", "CR2033", '--battery "CR2033": must be one of CR2032, AA, AAA, 18650, or charge and voltage'),
        ("1 s", "1000 mAh", "must be one of"),
        ("1 s", "1000 mAh 3.7 W", "must be one of"),
        ("1 s", "0 mAh 3.7 V", "must be more than zero"),
        ("1 s", "1 mAh 2000 V", "at most 10^9 mAh and 1000 V"),
        ("1 s", "9" * 70 + " mAh 1 V", "must be one of"),
    ],
)
def test_what_cannot_be_used_is_refused(period: str | None, battery: str | None, text: str) -> None:
    with pytest.raises(UsageError) as caught:
        Period.of(period, battery)
    assert text in str(caught.value)


def test_every_named_cell_says_where_its_figures_are_from() -> None:
    assert all(cell.source and cell.capacity_mah > 0 and cell.most_ma for cell in batteries().values())

"""Energy for each period, mean power and battery life, as closed forms."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from mcusim.machine import load_machine
from mcusim.machine.description import Machine
from mcusim.results.duty import duty
from mcusim.results.energy import Usage, delivered
from mcusim.run_config.period import Battery, Period

# 5 V, 96 mA running, 30 mA asleep, 35 mA of SDRAM, 5 mA of QSPI flash, 4.8924 of them for reads
USAGE = Usage(seconds=0.1, waited=0.02)


@pytest.fixture(scope="module")
def machine() -> Machine:
    return load_machine("stm32f746g-disco")


@pytest.mark.parametrize(
    ("external", "asleep"),
    [([], 0.030), (["sdram"], 0.030 + 0.035), (["sdram", "qspi"], 0.030 + 0.035 + 0.005 - 0.0453e-3 * 108)],
)
def test_the_rest_of_a_period_is_asleep(machine: Machine, external: list[str], asleep: float) -> None:
    usage = replace(USAGE, external=external)
    found = duty(machine, usage, Period(Fraction(1)))
    run = delivered(machine, usage).energy_mj
    assert found.sleep_current_ma == pytest.approx(1e3 * asleep)
    assert found.sleep_mj == pytest.approx(1e3 * 5 * 0.9 * asleep)
    assert found.energy_mj == pytest.approx(run + 1e3 * 5 * 0.9 * asleep)
    assert found.mean_power_mw == pytest.approx(found.energy_mj) and found.battery is None
    assert found.mean_current_ma == pytest.approx(found.energy_mj / 5)


def test_a_period_as_long_as_the_run_has_no_sleep_and_a_shorter_one_is_not_met(machine: Machine) -> None:
    usage = replace(USAGE, seconds=0.125)
    found = duty(machine, usage, Period(Fraction(1, 8)))
    assert (found.met, found.sleep_mj, found.energy_mj) == (True, 0, delivered(machine, usage).energy_mj)
    late = duty(machine, usage, Period(Fraction(1, 8) - Fraction(1, 10**9), Battery("x", 1, 1)))
    assert (late.met, late.energy_mj, late.mean_power_mw, late.battery) == (False, None, None, None)
    assert (late.period_ms, late.latency_ms) == (pytest.approx(125 - 1e-6), 125)


def test_a_period_s_interval_is_that_of_the_run_and_of_sleep(machine: Machine) -> None:
    found = duty(machine, USAGE, Period(Fraction(1)))
    assert found.interval_mj is None and found.to_json()["interval_mj"] is None
    assert found.within((30.0, 60.0)).interval_mj == (pytest.approx(30 + 0.8 * 135), pytest.approx(60 + 3.7 * 135))
    late = duty(machine, USAGE, Period(Fraction(1, 100)))
    assert late.within((30.0, 60.0)) == late


@pytest.mark.parametrize(
    ("volts", "hours"),
    [
        (6.0, 1000 / 32),  # a linear regulator from 6 to 5 V: the cell's current is the supply's
        (5.0, 1000 / 32),
        (4.999, 1000 * 4.999 / (32 * 5)),  # a converter: the cell's power is the supply's
        (2.5, 1000 * 2.5 / (32 * 5)),
    ],
)
def test_a_cell_lasts_as_long_as_its_charge_or_energy(machine: Machine, volts: float, hours: float) -> None:
    power = replace(machine.power, run=0.05, stalled=0.05)  # 50 mA x 0.1 + 30 mA x 0.9 = 32 mAs
    found = duty(replace(machine, power=power), USAGE, Period(Fraction(1), Battery("cell", 1000, volts, 50.0)))
    assert found.mean_current_ma == pytest.approx(32)
    assert found.battery is not None and found.battery.hours == pytest.approx(hours)
    assert found.battery.overload == (volts < 5)  # 50 mA are drawn at 5 V, more from a cell of less

"""Currents of a machine at other clocks than the one that its figures hold at."""

from __future__ import annotations

from pathlib import Path

import pytest

from mcusim.errors import MachineError, UnitError
from mcusim.machine import load_machine, machine_names
from mcusim.machine.description import Machine
from mcusim.units import parse_current_at, parse_current_per_clock

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
OWN = """
[core]
isa = "cortex-m4"
clock = "100 MHz"
[regulator]
low = { max_clock = "50 MHz" }
high = { max_clock = "100 MHz" }
[memory.sram]
device = "sram"
base = 0x2000_0000
size = "100 KiB"
width = "32 bit"
read_latency = "0 cycles"
write_latency = "0 cycles"
[power]
supply = "3 V"
run = "30 mA at 100 MHz"
sleep = "12 mA at 100 MHz"
board = "5 mA"
[power.scale]
low = { run_static = "1 mA", run_per_mhz = "0.1 mA/MHz", sleep_static = "1 mA", sleep_per_mhz = "0.02 mA/MHz" }
high = { run_static = "2 mA", run_per_mhz = "0.18 mA/MHz", sleep_static = "2 mA", sleep_per_mhz = "0.05 mA/MHz" }
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    return path


def at(machine: Machine, clock: str) -> Machine:
    return machine.replace("core.clock", clock)


@pytest.mark.parametrize(
    ("clock", "run", "sleep"),
    [
        ("100 MHz", 30, 12),  # the figures themselves: the table's 20 and 7 mA are not theirs
        ("60 MHz", 5 + 25 * (2 + 0.18 * 60) / 20, 5 + 7 * (2 + 0.05 * 60) / 7),
        ("50.000001 MHz", 5 + 25 * (2 + 0.18 * 50.000001) / 20, 5 + 7 * (2 + 0.05 * 50.000001) / 7),
        ("50 MHz", 5 + 25 * (1 + 0.1 * 50) / 20, 5 + 7 * (1 + 0.02 * 50) / 7),  # one Hz less is the next setting
        ("1 MHz", 5 + 25 * 1.1 / 20, 5 + 7 * 1.02 / 7),
    ],
)
def test_the_microcontroller_s_part_follows_its_table(own: Path, clock: str, run: float, sleep: float) -> None:
    power = at(load_machine(own), clock).power
    assert (1e3 * power.run, 1e3 * (power.sleep or 0)) == (pytest.approx(run), pytest.approx(sleep))
    assert power.stalled == power.run  # not distinguished: no other line either


def test_a_setting_that_is_named_holds_at_every_clock(own: Path) -> None:
    slow = load_machine(own, {"core.clock": "40 MHz", "core.regulator": "high"})
    assert slow.power.run == pytest.approx((5 + 25 * (2 + 0.18 * 40) / 20) / 1000)
    assert load_machine(own, {"core.regulator": "high"}).power.followed == frozenset()  # which it has anyway
    own.write_text(
        OWN.replace('clock = "100 MHz"', 'clock = "40 MHz"\nregulator = "high"', 1).replace("at 100", "at 40")
    )
    assert load_machine(own).power.run == 0.03  # measured as the file is set
    lower = load_machine(own, {"core.regulator": "low"})
    assert lower.power.run == pytest.approx((5 + 25 * (1 + 0.1 * 40) / (2 + 0.18 * 40)) / 1000)
    again = own.parent / "again.toml"  # the inherited figure is still one of "high" at 100 MHz
    own.write_text(OWN)
    again.write_text("extends = 'own.toml'\nname = 'again'\ncore = { clock = '40 MHz', regulator = 'low' }\n")
    for changes, drawn in (({}, 1 + 0.1 * 40), ({"core.regulator": "high"}, 2 + 0.18 * 40)):
        assert load_machine(again, changes).power.run == pytest.approx((5 + 25 * drawn / 20) / 1000)
    assert "at 40 MHz by power.scale.low" in lower.figures["power.run"].source


def test_a_figure_says_what_it_comes_to_and_why(own: Path) -> None:
    figure = at(load_machine(own), "50 MHz").figures["power.run"]
    assert (figure.text, figure.basis) == ("12.5 mA", "assumed")
    assert figure.source.startswith("30 mA at 100 MHz (") and figure.source.endswith("at 50 MHz by power.scale.low")
    assert load_machine(own).figures["power.run"].text == "30 mA at 100 MHz"


def test_a_plain_current_stays(own: Path) -> None:
    own.write_text(OWN.replace("30 mA at 100 MHz", "30 mA"))
    assert at(load_machine(own), "50 MHz").power.run == 0.03
    pinned = load_machine(F746, {"core.clock": "108 MHz", "power.run": "50 mA"})
    assert pinned.power.run == 0.05 and pinned.figures["power.run"].source == "set by the user"
    assert at(load_machine(F746, {"power.run": "50 mA"}), "54 MHz").power.run == 0.05


@pytest.mark.parametrize("name", machine_names())
def test_shipped_currents_are_the_figures_at_the_shipped_clock(name: str) -> None:
    machine = load_machine(name)
    assert machine.power.followed == frozenset()
    written = float(machine.figures["power.run"].text.partition(" mA")[0])
    assert 1e3 * machine.power.run == pytest.approx(written, rel=1e-12)


@pytest.mark.parametrize(("name", "slope"), [(F746, 0.137), (F469, 0.148)])
def test_interfaces_have_a_static_part_and_one_per_mhz(name: str, slope: float) -> None:
    machine = load_machine(name)
    half = machine.replace("memory.sdram.clock", "54 MHz").replace("memory.qspi.clock", "27 MHz")
    sdclk, qclk = (machine.memory[name].device.clock / 1e6 for name in ("sdram", "qspi"))  # type: ignore[union-attr]
    assert 1e3 * (machine.power.sdram_active - half.power.sdram_active) == pytest.approx(slope * (sdclk - 54))
    assert half.power.qspi_idle == machine.power.qspi_idle < half.power.qspi_active
    left = machine.power.qspi_active - machine.power.qspi_idle
    assert half.power.qspi_active == pytest.approx(machine.power.qspi_idle + left * 27 / qclk)


def test_no_current_of_a_shipped_machine_falls_with_the_clock() -> None:
    """Nor does one vanish at the slowest clock; steps at a change of the regulator's setting go up."""
    for name in machine_names():
        machine = load_machine(name)
        top, bus = machine.core.clock // 10**6, min(machine.bus.clock // 10**6, 100)
        machine = machine.replace("bus.clock", f"{bus} MHz")
        found = [at(machine, f"{clock} MHz").power for clock in (*range(bus, top + 1, 10), top)]
        for current in ("run", "stalled", "sleep"):
            values = [getattr(power, current) for power in found]
            assert values[0] > 0 and values == sorted(values), (name, current)


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("[power.scale]", "[power.scalp]", "unknown key"),
        ("low = { run", "middle = { run", "[power.scale.middle]: is no setting of [regulator]: settings are low, high"),
        ("low = { run", "middle = { run", "[power.scale]: lacks low of [regulator]"),
        ('run_static = "1 mA", run_per_mhz = "0.1', 'run_static = "0 mA", run_per_mhz = "0', "draws nothing"),
        ("30 mA at 100 MHz", "30 mA at 100", "has no unit: a clock is a number and a unit"),
        ("30 mA at 100 MHz", "30 at 100 MHz", "has no unit: a current is a number and a unit"),
        ("30 mA at 100 MHz", "30 mA at 9 GHz", "a clock must be"),
        ("0.18 mA/MHz", "0.18 mA", "is no current per clock: a current per clock is a number and a unit"),
        ("0.18 mA/MHz", "0.18 mA/kHz", "is no current per clock"),
    ],
)
def test_what_is_wrong_is_said(own: Path, old: str, new: str, rule: str) -> None:
    own.write_text(OWN.replace(old, new))
    with pytest.raises(MachineError) as caught:
        load_machine(own)
    assert rule in "\n".join(getattr(caught.value, "lines", None) or [str(caught.value)])


def test_a_current_at_a_clock_needs_a_table(own: Path) -> None:
    own.write_text(OWN.partition("[power.scale]")[0])
    with pytest.raises(MachineError, match=r"a current at a clock needs \[power.scale\]: how it follows the clock"):
        load_machine(own)


def test_units() -> None:
    assert parse_current_at("96 mA at 216 MHz") == (pytest.approx(0.096), 216_000_000)
    assert parse_current_at("96 mA")[1] is None
    assert parse_current_per_clock("250 uA/MHz") == pytest.approx(0.00025)
    with pytest.raises(UnitError, match="must not be negative"):
        parse_current_per_clock("-1 mA/MHz")

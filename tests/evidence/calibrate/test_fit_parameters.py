"""What may be fitted: keys that a machine has, in the units of its file, within bounds that hold them."""

from __future__ import annotations

import pytest

from mcusim.evidence.calibrate.parameters import OVERHEAD, candidates, parameter_of
from mcusim.machine import load_machine, machine_names
from tests.support.cases import few

F746 = "stm32f746g-disco"
READ = "memory.sdram.read_overhead"


@few(3)
@pytest.mark.parametrize("name", machine_names())
def test_every_key_is_one_of_the_machine_and_takes_what_the_fit_writes(name: str) -> None:
    machine = load_machine(name)
    found = candidates(machine, 2000)
    assert len({p.key for p in found}) == len(found) > 10
    for p in found:
        assert p.low <= p.start <= p.high, p
        assert p.doubt > 0 and p.sees and "{" not in p.sees
        if p.key == OVERHEAD:
            continue
        assert p.stated is (machine.figures[p.key].basis in ("datasheet", "measured"))
        for value in (p.low, p.start, p.high):
            changed = machine.replace(p.key, p.text(value) if p.unit else int(p.text(value)))
            (again,) = (q for q in candidates(changed) if q.key == p.key)
            assert (again.unit, again.start) == (p.unit, pytest.approx(value, abs=1e-4))


def test_keys_of_the_devices_that_are_there() -> None:
    keys = {p.key for p in candidates(load_machine(F746))}
    assert {READ, "memory.itcm.read_latency", "memory.sram1.read_latency"} & keys == {READ, "memory.sram1.read_latency"}
    assert "memory.flash.accelerator.line_change" in keys
    assert OVERHEAD not in keys
    assert not {"core.clock", "memory.sdram.timing.CL", "power.supply", "memory.flash.line"} & keys


def test_a_stated_figure_is_fitted_only_by_name() -> None:
    """Its data sheet gives one board's current of the SDRAM, the other's is assumed."""
    stated, assumed = (
        parameter_of("power.sdram_active", candidates(load_machine(name))) for name in ("nucleo-f746zg", F746)
    )
    assert stated is not None and assumed is not None
    assert (stated.stated, stated.default, assumed.stated, assumed.default) == (True, False, False, True)


@pytest.mark.parametrize(
    ("text", "unit", "start", "high"),
    [
        ("6 cycles", "cycles", 6, 40),
        ("3 sdclk", "sdclk", 3, 40),
        ("20 ns", "ns", 20, 40e9 / 216e6),
        ("0.5us", "us", 0.5, 1),
    ],
)
def test_the_unit_is_the_file_s(text: str, unit: str, start: float, high: float) -> None:
    found = parameter_of(READ, candidates(load_machine(F746, {READ: text})))
    assert found is not None
    assert (found.unit, found.start, found.high) == (unit, pytest.approx(start), pytest.approx(high))
    assert found.text(1.23456) == f"1.2346 {unit}"


def test_a_current_keeps_the_clock_that_it_holds_at() -> None:
    """At another clock it is what it comes to there, and a fit makes it a figure of that clock alone."""
    found = parameter_of("power.run", candidates(load_machine(F746)))
    slower = parameter_of("power.run", candidates(load_machine(F746, {"core.clock": "108 MHz"})))
    assert found is not None and slower is not None
    assert (found.unit, found.start, found.text(90.5)) == ("mA", 96, "90.5 mA at 216 MHz")
    assert (slower.start, slower.text(40)) == (pytest.approx(44.8541), "40 mA")


def test_small_units_keep_their_digits() -> None:
    found = parameter_of(READ, candidates(load_machine(F746, {READ: "0.00002 ms"})))
    assert found is not None
    assert (found.unit, found.text(found.start), found.text(0)) == ("ms", "0.00002 ms", "0 ms")
    assert found.text(0.000012345678) == "0.00001235 ms"


def test_whole_numbers_stay_whole() -> None:
    known = candidates(load_machine(F746), 1800)
    states, setup, overhead = (
        parameter_of(key, known) for key in ("memory.flash.wait_states", "dma.dma2.request_setup", OVERHEAD)
    )
    assert states is not None and setup is not None and overhead is not None
    assert (states.text(5.4), setup.text(149.6), overhead.text(1800.2)) == ("5", "150 cycles", "1800 cycles")
    assert (states.stepped, setup.stepped, overhead.stepped) == (True, False, False)

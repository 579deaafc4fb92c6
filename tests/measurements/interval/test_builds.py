"""What nobody said of a run widens its interval: the build of its kernels, and the peripherals that are on."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

import mcusim
from mcusim.machine import load_machine
from mcusim.measurements.interval.intervals import interval, ratio_interval
from mcusim.results import Result
from mcusim.runtime.runtime import find_runtime

BUILDS = find_runtime("tflm").builds


@cache
def result(machine: str, kernels: str | None, fidelity: str = "replay") -> Result:
    return mcusim.simulate("ds-cnn", machine, kernels=kernels, fidelity=fidelity)


@pytest.mark.parametrize("machine", ["stm32f469i-disco", "stm32f746g-disco"])
def test_an_unknown_build_may_be_any_of_those_that_ship(machine: str) -> None:
    unnamed = result(machine, None)
    assert unnamed.interval is not None and unnamed.run is not None and unnamed.energy is not None
    low, high = unnamed.interval.latency_ms
    for build, factor in zip(BUILDS, unnamed.interval.situation.builds, strict=True):
        named = result(machine, build)
        assert named.run is not None and named.energy is not None and named.interval is not None
        assert factor == pytest.approx(named.run.cycles / unnamed.run.cycles, rel=0.04), build
        assert low < named.energy.latency_ms < high
        assert named.interval.situation.builds == ()
    named = result(machine, BUILDS[0])
    assert named.interval is not None
    first, last = named.interval.latency_ms
    assert high / low > 1.05 * last / first


def test_an_emulation_of_the_default_set_may_be_any_of_them_too() -> None:
    emulated, replayed = result("stm32f469i-disco", None, "emulate"), result("stm32f469i-disco", "cmsis-gcc12")
    assert emulated.interval is not None and emulated.run is not None and replayed.run is not None
    builds = emulated.interval.situation.builds
    assert builds[BUILDS.index("cmsis-gcc12")] == 1.0
    other = result("stm32f469i-disco", "cmsis-2020-os-gcc12")
    assert other.run is not None
    assert builds[-1] == pytest.approx(other.run.cycles / replayed.run.cycles, rel=0.03)


@pytest.mark.parametrize("code", ["flash", "sram1"])
def test_builds_count_what_their_code_waits_for_past_the_caches(code: str) -> None:
    machine = load_machine("nucleo-h743zi", {"cache.instruction.size": "0 B"})
    unnamed, other = (mcusim.simulate("ds-cnn", machine, kernels=name, code=code) for name in (None, BUILDS[-1]))
    assert unnamed.interval is not None and unnamed.run is not None and other.run is not None
    factor = unnamed.interval.situation.builds[-1]
    assert factor == pytest.approx(other.run.cycles / unnamed.run.cycles, rel=0.02)


def test_two_runs_of_one_unknown_build_differ_in_what_the_builds_differ_in() -> None:
    here, there = (result(machine, None) for machine in ("stm32f469i-disco", "stm32f746g-disco"))
    assert here.interval is not None and there.interval is not None
    first, second = here.interval.situation, there.interval.situation
    unnamed = ratio_interval(first, second, 2.0, "latency")
    named = ratio_interval(replace(first, builds=()), replace(second, builds=()), 2.0, "latency")
    half = ratio_interval(first, replace(second, builds=()), 2.0, "latency")
    assert named.high / named.low <= unnamed.high / unnamed.low * 1.001 < half.high / half.low


def test_energy_reaches_to_peripherals_that_are_on() -> None:
    run = result("nucleo-f746zg", BUILDS[0])
    assert run.interval is not None and run.energy is not None
    situation, energy = run.interval.situation, run.energy
    assert situation.peripherals == pytest.approx(155.3 / 90, rel=0.02)
    without = interval(replace(situation, peripherals=1.0), energy)
    assert run.interval.latency_ms == without.latency_ms
    assert run.interval.energy_mj[1] > 1.3 * without.energy_mj[1]
    assert run.interval.energy_mj[1] > energy.energy_mj * situation.peripherals
    silent = load_machine("nucleo-f746zg", {"power.peripherals_per_mhz": "0 mA/MHz"})
    quiet = mcusim.simulate("ds-cnn", silent, kernels=BUILDS[0]).interval
    assert quiet is not None and quiet.situation.peripherals == 1.0


def test_on_one_board_the_same_peripherals_are_on() -> None:
    run = result("nucleo-f746zg", BUILDS[0])
    assert run.interval is not None
    situation = run.interval.situation
    other = replace(situation, policy="external")
    alone = replace(situation, peripherals=1.0)
    same = ratio_interval(situation, other, 0.5, "energy")
    less = ratio_interval(situation, replace(other, peripherals=1.0), 0.5, "energy")
    assert less.high / less.low > 1.1 * same.high / same.low
    assert same == ratio_interval(alone, replace(other, peripherals=1.0), 0.5, "energy")
    apart = ratio_interval(situation, replace(other, machine="nucleo-f767zi", peripherals=1.0), 0.5, "energy")
    assert apart.high / apart.low > 1.2 * same.high / same.low

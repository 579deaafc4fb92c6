"""Each inference engine is judged by its own published rows."""

from __future__ import annotations

from dataclasses import replace
from math import exp, hypot, log

import pytest

import mcusim
from mcusim.evidence.validate.validate import stored_validation
from mcusim.measurements.interval.engine_models import EngineModels, engine_of, stored_models
from mcusim.measurements.interval.residuals import Residual
from mcusim.results.measurement.interval import RunFeatures

LEVEL = 0.9
CMSIS = RunFeatures("board", "cortex-m7", "cmsis", "replay", "internal", (("CONV_2D", 1.0),), "model")
REFERENCE, OURS = replace(CMSIS, code="reference"), replace(CMSIS, code="tinyengine")


def residual(of: RunFeatures, error: float, number: int, quantity: str = "latency") -> Residual:
    return Residual(quantity, replace(of, model=f"{number}", source=f"source {number % 3}"), error)


NEAR = [residual(CMSIS, error, n) for n, error in enumerate((0.05, -0.02, 0.08, 0.01, -0.04, 0.06))]
FAR = [residual(REFERENCE, error, n) for n, error in enumerate((1.0, -0.4))]


def half(ends: tuple[float, float]) -> float:
    return (ends[1] - ends[0]) / 2


def test_all_builds_of_cmsis_are_one_engine() -> None:
    codes = ("cmsis", "cmsis-nano", "cmsis-2020", "cmsis-2020-os", "cmsis-2021-gcc9")
    assert {engine_of(code) for code in codes} == {"TFLM CMSIS-NN"}
    assert [engine_of(code) for code in ("reference", "tinyengine", "tinyengine-mit", "mine/set")] == [
        "TFLM reference", "compiled", "TinyEngine", "mine/set",
    ]  # fmt: skip


def test_rows_of_another_engine_change_nothing() -> None:
    alone, both = EngineModels(NEAR, "latency"), EngineModels([*NEAR, *FAR], "latency")
    assert both.range(CMSIS, LEVEL) == alone.range(CMSIS, LEVEL)
    assert half(both.range(REFERENCE, LEVEL)) > 3 * half(both.range(CMSIS, LEVEL))
    low, high = both.range(REFERENCE, LEVEL)
    assert low < -0.4 and high > 1.0


def test_an_engine_without_rows_is_as_wide_as_the_widest_either_way() -> None:
    models = EngineModels([*NEAR, *FAR], "latency")
    low, high = models.range(OURS, LEVEL)
    assert low == pytest.approx(-high) and models.widest(OURS, LEVEL) == "TFLM reference"
    assert high >= half(models.range(REFERENCE, LEVEL))
    wider = models.range(OURS, LEVEL, (0.5, 2.0))
    assert wider[0] < low and wider[1] > high


def test_two_engines_have_both_errors_and_one_has_what_its_rows_share() -> None:
    models = EngineModels([*NEAR, *FAR], "latency")
    sides = [half(models.range(of, LEVEL)) for of in (CMSIS, REFERENCE)]
    assert half(models.difference(CMSIS, REFERENCE, LEVEL)) == pytest.approx(hypot(*sides), rel=1e-6)
    ours = half(models.difference(OURS, replace(OURS, clock=0.5), LEVEL))
    assert ours == pytest.approx(half(models.difference(CMSIS, replace(CMSIS, clock=0.5), LEVEL)), rel=0.2)
    other = replace(CMSIS, policy="external")
    assert half(models.difference(CMSIS, other, LEVEL)) < hypot(*(half(models.range(c, LEVEL)) for c in (CMSIS, other)))


def test_energy_of_an_engine_without_rows_is_no_better_known_than_its_time() -> None:
    joules = [residual(CMSIS, error, n, "energy") for n, error in enumerate((0.02, -0.03, 0.01))]
    energy, latency = (EngineModels([*NEAR, *FAR, *joules], quantity) for quantity in ("energy", "latency"))
    assert half(energy.range(REFERENCE, LEVEL)) > half(latency.range(REFERENCE, LEVEL))


def test_a_machine_without_rows_adds_what_the_same_engines_machines_differ_by() -> None:
    """Rows of three boards that differ by 20 % from board to board, by 2 % within."""
    offsets = {"a": 0.2, "b": -0.2, "c": 0.0}
    rows = [
        residual(replace(CMSIS, machine=name), offset + 0.02 * (n % 2), n)
        for n in range(4)
        for name, offset in offsets.items()
    ]
    models = EngineModels(rows, "latency")
    assert half(models.range(replace(CMSIS, machine="new"), LEVEL)) > 1.3 * half(
        models.range(replace(CMSIS, machine="a"), LEVEL)
    )


def test_rows_that_ship_are_inside_engine_by_engine() -> None:
    """From other sources: 85 to 98 % of all latencies. The two of TFLM's reference kernels are of builds that differ by
    a factor of four in cycles a MAC: of these one is outside."""
    (coverage,) = (one for one in stored_validation().coverage if (one.quantity, one.left_out) == ("latency", "source"))
    assert 0.85 <= coverage.covered / coverage.count <= 0.98
    inside = {engine: (inside, count) for engine, inside, count in coverage.engines}
    assert inside == {"TFLM CMSIS-NN": (26, 26), "TFLM reference": (1, 2), "TinyEngine": (2, 2)}


def test_a_run_of_an_engine_without_rows_says_whose_width_it_has() -> None:
    run = mcusim.simulate("ds-cnn", "stm32f746g-disco", runtime="tinyengine")
    assert run.interval is not None and run.energy is not None and run.interval.rows == 0
    (text,) = run.interval.not_measured
    assert text == "kernels tinyengine, so that it is as wide as that of the widest engine, TFLM reference"
    ends = stored_models("latency").range(run.interval.situation, LEVEL)
    assert run.interval.latency_ms[1] == pytest.approx(run.energy.latency_ms * exp(ends[1]), rel=1e-3)
    assert log(run.interval.latency_ms[1] / run.interval.latency_ms[0]) == pytest.approx(2 * half(ends), abs=0.01)

"""The intervals of runs: what they are made from, what they say, and that they keep their word on published rows."""

from __future__ import annotations

from dataclasses import replace
from math import log, sqrt
from statistics import mean
from typing import Any

import pytest

import mcusim
from mcusim.evidence.validate.validate import stored_validation
from mcusim.machine import load_machine
from mcusim.measurements.interval.coverage import coverage
from mcusim.measurements.interval.engine_models import engine_of, stored_models
from mcusim.measurements.interval.error_model import FLAGS
from mcusim.measurements.interval.published_errors import PublishedError, published_errors, stored_errors
from mcusim.measurements.interval.residuals import QUANTITIES, stored_residuals
from mcusim.measurements.published.stored import stored_outcomes, stored_rows
from mcusim.results import Result
from mcusim.results.measurement.interval import Interval
from tests.support.cases import only_with_all_cases
from tests.support.paths import shared_model

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"


def found(*arguments: Any, **options: Any) -> Interval:
    result = mcusim.simulate(*arguments, **options)
    assert result.interval is not None
    return result.interval


def test_the_figure_itself_is_inside_even_where_nearly_all_that_is_not_known_adds_to_it() -> None:
    model = shared_model("hello_world_int8.tflite")
    fast = mcusim.simulate(model, "nucleo-h743zi", "internal", operator_overhead=0)
    assert fast.interval is not None and fast.interval.energy_mj is not None
    energy = fast.energy.energy_mj
    assert fast.interval.energy_mj[0] == pytest.approx(energy, rel=1e-3) and fast.interval.energy_mj[1] > 3 * energy


def width(one: Interval) -> float:
    return one.latency_ms[1] / one.latency_ms[0]


def test_only_rows_that_nothing_was_fitted_to_count() -> None:
    """Residuals of a fit are no evidence: with other calibrate rows the intervals are the same."""
    figures = {run.command: outcome.figures for run, outcome in stored_outcomes().items()}
    fitted = [row for row in stored_rows() if row.use == "calibrate" and row.quantity in QUANTITIES]
    assert fitted and all(one.row.use == "validate" for one in stored_errors())
    worse = [replace(row, measured=9 * row.measured) if row in fitted else row for row in stored_rows()]
    before, after = (published_errors(rows, figures) for rows in (stored_rows(), worse))
    assert [(one.situation, one.error) for one in before] == [(one.situation, one.error) for one in after]
    assert {one.row.source for one in before} & {"Liberis & Lane 2019"} == set()  # context


def test_what_ships_is_of_the_published_rows() -> None:
    """Else scripts/evidence/validation has not been run."""
    assert [one.to_json() for one in stored_residuals()] == [one.to_json() for one in stored_errors()]


def test_it_is_about_this_run_and_says_what_it_rests_on() -> None:
    usual = found("ds-cnn", F746, "tinyops")
    assert usual.latency_ms[0] < mcusim.simulate("ds-cnn", F746, "tinyops").value("latency_ms") < usual.latency_ms[1]  # type: ignore[operator]
    latencies = [one for one in stored_errors() if one.row.quantity == "latency"]
    assert usual.rows == sum(engine_of(one.situation.code) == "TFLM CMSIS-NN" for one in latencies) < len(latencies)
    alike = [(one.row.machine, one.row.policy, one.row.variant) for one in latencies]
    assert usual.like == alike.count((F746, "tinyops", "")) >= 4
    assert found("ds-cnn", F746, "tinyops", variant=2023).like == alike.count((F746, "tinyops", "2023")) >= 1
    assert usual.level == 0.9 and usual.not_measured == ()


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("nucleo-f767zi", "internal"), {}, "machine nucleo-f767zi"),
        ((F746, "external"), {}, "policy external"),
        ((F746, "internal"), {"kernels": "tinyengine-gcc12", "runtime": "tinyengine"},
         "kernels tinyengine, so that it is as wide as that of the widest engine, TFLM reference"),
        ((F746, "tinyops"), {"weights": "qspi"}, "weights in qspi"),
        ((F746, "tinyops"), {"overlay": ["input", "bias"]}, "overlays of input, bias alone"),
        ((F746, "tinyops"), {"buffering": "single"}, "single buffering"),
        ((F746, "tinyops"), {"code": "sram1"}, "code in sram1"),
        ((F746, "tinyops"), {"operator_overhead": 50_000}, "an interpreter's overhead of 50,000 cycles"),
        ((F746, "tinyops"), {"overrides": {"cache.data.size": "8 KiB"}}, f"{F746} with changed keys"),
        ((F746, "tinyops"), {"overrides": {"core.clock": "108 MHz"}}, "0.5 times its clock"),
    ],
)  # fmt: skip
def test_what_was_not_measured_is_named_and_widens(
    arguments: tuple[str, str], options: dict[str, Any], words: str
) -> None:
    named = {"kernels": "cmsis-2021-gcc9"}
    other = found("figure-1", *arguments, **named | options)
    assert words in "; ".join(other.not_measured), other.not_measured
    assert width(other) > width(found("figure-1", F746, "tinyops", **named))


def test_a_board_of_ones_own_is_none_that_was_measured() -> None:
    mine = replace(load_machine(F746), name="my-board")
    assert "machine my-board" in found("ds-cnn", mine, "tinyops").not_measured
    slower = found("ds-cnn", load_machine(F746, {"core.clock": "54 MHz", "name": "my-board"}), "tinyops")
    assert slower.not_measured[:2] == ("machine my-board", "0.25 times its clock")


def test_rows_of_a_comparison_have_the_ratio_to_the_fastest() -> None:
    rows = {row.policy: row for row in mcusim.compare("ds-cnn", F469).rows}
    internal, external, tinyops = (rows[name] for name in ("internal", "external", "tinyops"))
    assert external.ratios is not None and external.ratios.latency.differs and external.ratios.latency.low > 1
    fast, slow = sorted((internal, tinyops), key=lambda row: row.value("latency_ms") or 0)
    assert fast.ratios is None and slow.ratios is not None
    simulated = slow.value("latency_ms") / fast.value("latency_ms")  # type: ignore[operator]
    assert slow.ratios.latency.simulated == pytest.approx(simulated, rel=1e-3)
    assert not slow.ratios.latency.differs
    text = " ".join(str(mcusim.compare("ds-cnn", F469)).split())
    assert "no difference can be claimed" in text and "external takes 2." in text


def test_a_difference_of_two_saved_runs_says_what_can_be_claimed(tmp_path: Any) -> None:
    slow, fast = (mcusim.simulate("ds-cnn", F469, policy) for policy in ("external", "internal"))
    paths = [tmp_path / "a.json", tmp_path / "b.json"]
    for result, path in zip((fast, slow), paths, strict=True):
        result.save_json(path)
    apart = mcusim.diff(*paths).ratios
    assert apart is not None and apart.latency.differs and apart == mcusim.diff(fast, slow).ratios
    same = mcusim.diff(paths[0], paths[0]).ratios
    assert same is not None and same.latency.low == pytest.approx(1.0, abs=1e-3)


def test_published_rows_of_other_sources_and_boards_are_inside() -> None:
    """The promise of the ledger, from the figures that ship."""
    by_kind = {(one.quantity, one.left_out): one for one in stored_validation().coverage}
    for kind in ("source", "board"):
        for quantity in QUANTITIES:
            one = by_kind[quantity, kind]
            assert one.covered >= 0.85 * one.count, one
    assert len(by_kind) == 6


def test_latency_of_measured_combinations_is_known_to_a_fifth() -> None:
    model = stored_models("latency")
    measured = [one for one in stored_errors() if one.row.quantity == "latency" and one.situation.flags_known]
    half = sorted(
        50 * (2.718281828 ** (high) - 2.718281828 ** (low))
        for low, high in (model.range(one.unmeasured, 0.9) for one in measured)
    )
    assert half[len(half) // 2] <= 20


@only_with_all_cases
def test_coverage_counts_what_is_outside() -> None:
    """A row that is ten times off is not covered, and makes intervals of others wider."""
    errors = stored_errors()
    before = {(one.quantity, one.left_out): one for one in coverage(errors)}
    first = next(one for one in errors if one.row.quantity == "latency")
    broken = [PublishedError(one.quantity, one.situation, 2.3, one.row) if one is first else one for one in errors]
    after = {(one.quantity, one.left_out): one for one in coverage(broken)}
    assert after["latency", "row"].covered < after["latency", "row"].count
    assert after["latency", "row"].half_width > before["latency", "row"].half_width
    assert after["energy", "row"] == before["energy", "row"]


def test_no_run_no_interval() -> None:
    result: Result = mcusim.simulate("mobilenet-v1-w1.0-r224", F746)
    assert not result.fits and result.interval is None


def test_a_build_of_unknown_flags_rests_on_code() -> None:
    """Kernels of 2020 by -O3 and by -Os: who simulates one where each is equally likely errs by FLAGS."""
    squares = []
    for name in ("ad01_int8", "kws_ref_model", "pretrainedResnet_quant", "vww_96_int8"):
        quick, small = (
            mcusim.simulate(shared_model(f"{name}.tflite"), "nucleo-l4r5zi", kernels=kernels).run.cycles
            for kernels in ("cmsis-2020", "cmsis-2020-os")
        )
        squares.append(log(small / quick) ** 2)
    assert sqrt(mean(squares) / 2) == pytest.approx(FLAGS, abs=0.03)

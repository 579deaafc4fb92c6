"""ST's engine as an estimate: whether the other families of networks predict each one, and what makes it wider."""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib.resources import files
from math import exp, expm1, log
from statistics import median

import pytest

from mcusim.measurements.vendors import st_engine
from mcusim.measurements.vendors.st_engine import Replayed, estimate, half_width, kind, left_out_errors, versions
from mcusim.model.geometry import Geometry

NETWORK = Replayed(50.0, 100_000, 400_000, {"CONV_2D 1x1": 0.6, "DEPTHWISE_CONV_2D 3x3": 0.4})
H7, F7 = st_engine.MEASURED_ON, "stm32f746g-disco"


def table() -> list[dict[str, str]]:
    text = files("mcusim.measurements.vendors").joinpath("st_zoo.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


def width(ends: tuple[float, float]) -> float:
    return log(ends[1] / ends[0])


def test_each_family_is_predicted_by_the_others() -> None:
    """By a median of at most 7 %, and nine of ten rows within the interval that is printed."""
    errors = [abs(error) for error in left_out_errors()]
    assert len(errors) == sum(bool(row["replay_ms"]) for row in table()) == 59
    assert expm1(median(errors)) <= 0.07
    assert sum(error <= half_width() for error in errors) / len(errors) >= 0.9


def test_the_rows_are_those_of_the_zoo_and_none_validates() -> None:
    rows = table()
    assert len(rows) == 65 and {row["use"] for row in rows} == {"calibrate"}
    assert versions() == ("7.3.0", "8.1.0", "10.0.0", "Core 3.0.0")
    assert len({row["family"] for row in rows}) == 5


def test_a_factor_counts_each_family_once() -> None:
    errors: dict[str, list[float]] = {}
    for row in table():
        if row["engine_version"] == "8.1.0" and row["replay_ms"]:
            errors.setdefault(row["family"], []).append(log(float(row["latency_ms"]) / float(row["replay_ms"])))
    factor = exp(sum(sum(own) / len(own) for own in errors.values()) / len(errors))
    assert estimate("8.1.0", NETWORK, H7).latency_ms == pytest.approx(50 * factor)


def test_what_no_family_has_and_another_board_make_it_wider() -> None:
    usual = estimate("7.3.0", NETWORK, H7).interval_ms
    assert width(usual) == pytest.approx(2 * half_width())
    other = replace(NETWORK, mix={"CONV_2D 1x1": 0.5, "SVDF": 0.5})
    large = replace(NETWORK, mix={"CONV_2D 1x1": 0.5, "DEPTHWISE_CONV_2D 7x7": 0.5})
    for wider in (estimate("7.3.0", other, H7), estimate("7.3.0", large, H7), estimate("7.3.0", NETWORK, F7)):
        assert width(wider.interval_ms) > 1.1 * width(usual)
    assert kind(Geometry("DEPTHWISE_CONV_2D", 1, 8, 8, 4, 8, 8, 4, 7, 7)) == "DEPTHWISE_CONV_2D 7x7"


def test_memory_is_a_range_around_what_zoo_networks_have() -> None:
    for version in versions():
        result = estimate(version, NETWORK, H7)
        assert 0.5 * 100_000 < result.ram[0] < 100_000 < result.ram[1] < 1.8 * 100_000
        assert 400_000 < result.flash[0] <= result.flash[1] < 600_000

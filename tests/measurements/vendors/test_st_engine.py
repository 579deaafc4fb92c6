"""ST's engine as an estimate: whether the other families of networks predict each one, and what makes it wider."""

from __future__ import annotations

import csv
from dataclasses import replace
from importlib.resources import files
from itertools import combinations
from math import exp, expm1, log
from statistics import median
from typing import Any

import pytest

from mcusim.measurements.vendors.st_engine import (
    Replayed,
    estimate,
    half_width,
    kind,
    left_out_errors,
    unknown,
    versions,
)
from mcusim.model.geometry import Geometry

NETWORK = Replayed(50.0, 20_000_000, 100_000, 400_000, {"CONV_2D 1x1": 0.6, "DEPTHWISE_CONV_2D 3x3": 0.4})


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
    assert estimate("8.1.0", NETWORK).latency_ms == pytest.approx(50 * factor)


@pytest.mark.parametrize(
    "other",
    [
        {"mix": {"CONV_2D 1x1": 0.5, "SVDF": 0.5}},
        {"mix": {"CONV_2D 1x1": 0.5, "DEPTHWISE_CONV_2D 7x7": 0.5}},
        {"measured_on": False},
        {"changed": True},
        {"cycles": 1_000_000},  # a ninth of the smallest network's
    ],
)
def test_what_no_row_has_makes_it_wider(other: dict[str, Any]) -> None:
    usual, wider = (width(estimate("7.3.0", network).interval_ms) for network in (NETWORK, replace(NETWORK, **other)))
    assert usual == pytest.approx(2 * half_width()) and wider > 1.1 * usual


def test_kinds_are_of_windows_and_of_types() -> None:
    window = Geometry("DEPTHWISE_CONV_2D", 1, 8, 8, 4, 8, 8, 4, 7, 7)
    assert kind(window) == "DEPTHWISE_CONV_2D 7x7"
    assert kind(replace(window, types="int16")) == "DEPTHWISE_CONV_2D 7x7 int16"
    assert kind(Geometry("QUANTIZE", 1, 8, 8, 4, 8, 8, 4, types="uint8_to_int8")) == "QUANTIZE"  # which the zoo has


def test_nothing_is_known_of_other_types_and_of_what_is_far_smaller() -> None:
    least = 1e3 * min(float(row["mhz"]) * float(row["replay_ms"]) for row in table() if row["replay_ms"])
    assert unknown(int(least), {"int8": 0.95, "float32": 0.05}) == ""
    assert unknown(int(least), {"int8": 0.1, "int16": 0.9}).endswith("90 % of the time is in int16")
    assert "networks of at least 9.2 M cycles of compiled code, this one has 0.917 M" in unknown(916_999, {"int8": 1.0})
    assert unknown(int(least / 9), {"int8": 1.0}) == ""


def test_two_versions_are_off_together() -> None:
    """Nine of ten ratios of versions, of the same file, are where they are expected; it is narrower than two intervals
    that have nothing in common."""
    among = estimate("7.3.0", NETWORK).among_versions
    rows = [row for row in table() if row["replay_ms"]]
    pairs = [(a, b) for a, b in combinations(rows, 2) if a["sha256"] == b["sha256"]]
    latencies = {version: estimate(version, NETWORK).latency_ms for version in versions()}
    errors = [
        log(float(b["latency_ms"]) / float(a["latency_ms"]))
        - log(latencies[b["engine_version"]] / latencies[a["engine_version"]])
        for a, b in pairs
        if a["engine_version"] != b["engine_version"]
    ]
    assert len(errors) > 20 and sum(abs(error) <= among for error in errors) / len(errors) >= 0.9
    assert among < 2**0.5 * half_width()


def test_memory_is_a_range_around_what_zoo_networks_have() -> None:
    for version in versions():
        result = estimate(version, NETWORK)
        assert 0.5 * 100_000 < result.ram[0] < 100_000 < result.ram[1] < 1.8 * 100_000
        assert 400_000 < result.flash[0] <= result.flash[1] < 600_000

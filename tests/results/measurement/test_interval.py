"""Intervals as data: what they say of each other and what JSON has of them."""

from __future__ import annotations

import json

from mcusim.results.measurement.interval import Interval, RatioInterval, Ratios, RunFeatures

RUN = RunFeatures("board", "cortex-m4", "code", "replay", "tinyops", (("ADD", 0.25), ("CONV_2D", 0.75)), "model")


def test_a_ratio_differs_when_one_is_outside() -> None:
    for low, high, differs in ((0.9, 0.999, True), (0.9, 1.0, False), (1.0, 1.1, False), (1.001, 1.2, True)):
        assert RatioInterval(0.9, 1.0, low, high).differs is differs


def test_json_is_plain_and_says_nothing_of_publications() -> None:
    one = Interval(0.9, (1.0, 2.0), (3.0, 4.0), 18, 5, ("policy external",), RUN)
    found = json.loads(json.dumps(one.to_json()))
    assert found["latency_ms"] == [1.0, 2.0] and found["energy_mj"] == [3.0, 4.0] and found["level"] == 0.9
    assert found["situation"]["mix"] == {"ADD": 0.25, "CONV_2D": 0.75} and "source" not in found["situation"]
    both = Ratios(RatioInterval(0.9, 1.1, 1.05, 1.2), RatioInterval(0.9, 1.1, 0.9, 1.2)).to_json()
    assert both["latency_ratio"]["differs"] is True and both["energy_ratio"]["differs"] is False

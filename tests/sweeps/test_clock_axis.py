"""The axis ``clock``: what follows a clock moves with it in every row, and beyond the part a row says so."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import mcusim
from mcusim.errors import StudyError
from mcusim.sweeps import read_table
from tests.support.cases import only_with_all_cases

F746 = "stm32f746g-disco"
NETWORKS = ["figure-1", "ds-cnn", "proxyless-w0.25-r160"]
MHZ = 10**6


def rows(**axes: Any) -> Any:
    study = {"models": ["figure-1"], "machines": [F746], "policies": ["external"], "axes": axes}
    return mcusim.sweep(study, jobs=1)


@only_with_all_cases
def test_cycles_wait_states_and_sdram_move_together(tmp_path: Path) -> None:
    """54 to 216 MHz of three networks: SDCLK stays HCLK / 2, so that fewer wait states alone save cycles, and refresh,
    whose period is a time, costs the slower clock more of them."""
    clocks = {"low": "54 MHz", "high": "216 MHz", "step": "27 MHz"}
    study = {"models": NETWORKS, "machines": [F746], "policies": ["internal", "external"], "axes": {"clock": clocks}}
    output = tmp_path / "clock.parquet"
    found = mcusim.sweep({**study, "derived": {"sdclk": "clock_sdram / 1e6"}}, output, jobs=1)
    assert list(found.clock[:7]) == [f"{54 + 27 * n} MHz" for n in range(7)]
    for _, line in found.groupby(["model", "policy"], sort=False):
        assert list(line.wait_states_flash) == [1, 2, 3, 4, 5, 5, 5]
        assert list(line.clock_bus) == [(54 + 27 * n) * MHZ for n in range(7)]
        assert list(line.sdclk) == [27 + 13.5 * n for n in range(7)]
        assert list(line.regulator) == ["scale3"] * 4 + ["scale2", "scale1-over-drive", "scale1-over-drive"]
        assert all(b < a for a, b in pairwise(line.latency_ms))
        internal = line.policy.iloc[0] == "internal"
        assert all((a <= b) if internal else (a >= b * 0.999) for a, b in pairwise(line.cycles))
        assert len(set(line.cycles)) > 3, "nothing moved"
    assert list(read_table(output).table.column("regulator").to_pylist()) == list(found.regulator)


def test_it_is_the_core_clock_of_a_run() -> None:
    found = rows(clock=["108 MHz", "216 MHz"])
    for clock, cycles in zip(found.clock, found.cycles, strict=True):
        run = mcusim.simulate("figure-1", F746, "external", overrides={"core.clock": f"{clock} Hz"}).run
        assert run is not None and run.cycles == cycles
    keyed = rows(**{"core.clock": ["108 MHz", "216 MHz"]})
    assert list(keyed.cycles) == list(found.cycles) and list(keyed.clock_sdram) == list(found.clock_sdram)
    assert "clock_sdram" not in rows(operator_overhead=[0]).columns


def test_a_row_beyond_the_part_says_so_unless_forced() -> None:
    found = rows(clock=["216 MHz", "300 MHz"])
    assert list(found.status) == ["ok", "error"]
    assert "300 MHz exceeds core.max_clock = 216 MHz" in found.error[1]
    forced = rows(clock=["216 MHz", "300 MHz"], force_clock=[True])
    assert list(forced.status) == ["ok", "ok"] and list(forced.wait_states_flash) == [5, 9]


@pytest.mark.parametrize(
    ("axes", "text"),
    [
        ({"clock": ["fast"]}, "clock"),
        ({"clock": ["108 MHz"], "core.clock": ["108 MHz"]}, "is short for core.clock, which is an axis too"),
        ({"clok": ["108 MHz"]}, 'did you mean "clock"'),
        ({"force_clock": ["yes"]}, "must be true or false"),
    ],
)
def test_axes_that_are_none(axes: dict[str, Any], text: str) -> None:
    with pytest.raises(StudyError, match=text):
        rows(**axes)

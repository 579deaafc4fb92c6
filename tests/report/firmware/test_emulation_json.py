"""The JSON of ``mcusim emulate``: its sums, and that any reader takes it."""

from __future__ import annotations

import json

import pytest

import mcusim
from mcusim.kernels.test_programs import program_path
from mcusim.report.firmware.json import emulation_json


@pytest.mark.parametrize(("isa", "machine"), [("cortex-m4", "stm32f469i-disco"), ("cortex-m7", "stm32f746g-disco")])
def test_causes_and_functions_sum_to_the_cycles(isa: str, machine: str) -> None:
    found = emulation_json(mcusim.emulate(program_path("integer", isa), machine))
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert (found["machine"], found["stop"]["status"]) == (machine, 0)
    assert sum(found["causes"].values()) == pytest.approx(found["cycles"])
    assert sum(one["cycles"] for one in found["functions"]) == pytest.approx(found["cycles"])
    assert found["seconds"] == pytest.approx(found["cycles"] / found["clock_hz"])
    for name in ("functions", "lines", "hottest"):
        cycles = [one["cycles"] for one in found[name]]
        assert cycles and cycles == sorted(cycles, reverse=True)

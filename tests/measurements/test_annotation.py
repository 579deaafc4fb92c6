"""A result has what was measured of it and where a measurement of it is expected, whoever made it."""

from __future__ import annotations

from dataclasses import replace

import mcusim
from mcusim.api.compare import compare_cases, product_cases
from mcusim.api.simulate import simulate_loaded
from mcusim.machine import load_machine
from mcusim.measurements.annotation import measured_of
from mcusim.model import load_model
from mcusim.run_config.settings import Settings

MODEL, F469 = "proxyless-w0.25-r160-pad", "stm32f469i-disco"


def test_a_result_is_made_once_with_all_that_is_known_of_it() -> None:
    result = mcusim.simulate(MODEL, F469)
    assert result.measured is not None and result.interval is not None
    assert simulate_loaded(load_model(MODEL), load_machine(F469), Settings()) == result
    (row,) = compare_cases(product_cases(MODEL, F469, "internal", [Settings()])).rows
    assert row == result == mcusim.compare(MODEL, F469, "internal").rows[0]


def test_a_row_that_does_not_run_is_measured_and_has_no_interval() -> None:
    assert mcusim.simulate(MODEL, F469, sram_budget="256 KiB").measured is not None
    fails = mcusim.simulate(MODEL, "nucleo-f746zg", sram_budget="64 KiB")
    assert not fails.fits and fails.measured is None and fails.interval is None


def test_a_program_that_was_read_is_planned_again_before_it_is_believed() -> None:
    first = mcusim.simulate(MODEL, F469)
    request = first.request
    assert request is not None and request.program is not None and request.graph is not None
    machine = load_machine(F469)
    assert mcusim.replay(request.program, machine).measured == first.measured
    fewer = replace(request.program, tasks=request.program.tasks[:-1])
    assert measured_of(replace(request, graph=None, program=fewer), machine) is None

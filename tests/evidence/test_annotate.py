"""The simulation knows nothing of publications; what is public adds them."""

from __future__ import annotations

from dataclasses import replace

import mcusim
from mcusim import api
from mcusim.api.compare import compare_cases, product_cases
from mcusim.evidence import annotate as module
from mcusim.evidence.annotate import annotate, annotate_rows
from mcusim.results import Result, to_json
from mcusim.run_config.settings import Settings

MODEL, F469 = "proxyless-w0.25-r160-pad", "stm32f469i-disco"


def test_the_public_call_is_the_simulation_and_its_annotation() -> None:
    plain, public = api.simulate(MODEL, F469), mcusim.simulate(MODEL, F469)
    assert plain.measured is None and plain.interval is None
    assert public.measured is not None and public.interval is not None
    assert annotate(plain) == public == annotate(public)
    assert to_json(annotate(plain)) == to_json(public)
    assert mcusim.simulate.__doc__ == api.simulate.__doc__ and mcusim.simulate.__name__ == "simulate"


def test_a_row_that_does_not_run_is_measured_and_has_no_interval() -> None:
    small = api.simulate(MODEL, F469, sram_budget="256 KiB", policy="internal", weights=None)
    assert annotate(small).measured is not None
    fails = annotate(api.simulate(MODEL, "nucleo-f746zg", sram_budget="64 KiB"))
    assert not fails.fits and fails.measured is None and fails.interval is None


def test_a_result_put_together_by_hand_stays_as_it_is() -> None:
    found = replace(api.simulate("figure-1", F469), request=None)
    assert annotate(found) is found


def test_rows_of_a_comparison() -> None:
    plain = compare_cases(product_cases(MODEL, F469, "internal", [Settings()]))
    assert [row.measured for row in plain.rows] == [None]
    (row,) = annotate_rows(plain).rows
    (public,) = mcusim.compare(MODEL, F469, "internal").rows
    assert row == public and isinstance(row, Result) and row.measured is not None


def test_a_program_that_was_read_is_planned_again_before_it_is_believed() -> None:
    first = mcusim.simulate(MODEL, F469)
    request = first.request
    assert request is not None and request.program is not None and request.graph is not None
    machine = mcusim.load_machine(F469)
    assert module.replay(request.program, machine).measured == first.measured
    fewer = replace(request.program, tasks=request.program.tasks[:-1])
    assert annotate(replace(first, request=replace(request, graph=None, program=fewer))).measured is None

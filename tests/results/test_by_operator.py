"""A run operator by operator: the parts sum to the whole, and places are those of the program."""

from __future__ import annotations

from functools import cache
from itertools import product
from math import isclose

import pytest

from mcusim import load_machine, simulate
from mcusim.api.simulate import replay
from mcusim.program import read_program
from mcusim.program.program import Compute
from mcusim.results import Result, to_json
from mcusim.results.by_operator import outside
from tests.support.cases import few
from tests.support.pages.made_results import make_result
from tests.support.paths import REPOSITORY

F746, F469 = "stm32f746g-disco", "stm32f469i-disco"
POLICIES, FIDELITIES = ("internal", "external", "tinyops"), ("replay", "emulate")
CASES = list(product((F746, F469), POLICIES, FIDELITIES))


@cache
def ran(machine: str, policy: str, fidelity: str) -> Result:
    return simulate("ds-cnn", machine, policy=policy, fidelity=fidelity)


@few(2)
@pytest.mark.parametrize(("machine", "policy", "fidelity"), CASES)
def test_operators_sum_to_the_run(machine: str, policy: str, fidelity: str) -> None:
    result = ran(machine, policy, fidelity)
    run, energy, operators = result.run, result.energy, result.operators
    assert run is not None and energy is not None
    rest = outside(run, result.machine)
    assert sum(one.cycles for one in operators) + rest.cycles == run.cycles and rest.cycles == 0
    assert isclose(sum(one.ms for one in operators), energy.latency_ms, rel_tol=1e-12)
    assert isclose(sum(one.energy_mj for one in operators) + rest.energy_mj, energy.energy_mj, rel_tol=1e-12)
    assert sum(one.macs for one in operators) == result.macs
    for region, traffic in run.traffic.items():
        moved = sum(one.traffic.get(region, 0) for one in operators)
        assert moved + rest.traffic.get(region, 0) == traffic.total
    for one in operators:
        assert sum(part.cycles for part in one.parts) == one.cycles
        assert isclose(sum(one.energy_mj_by_part.values()), one.energy_mj, rel_tol=1e-12)
        by_cause = {cause: sum(p.cycles for p in one.parts if p.cause == cause) for cause in one.by_cause}
        assert by_cause == dict(one.by_cause)


@few(3)
@pytest.mark.parametrize(("machine", "policy", "fidelity"), CASES)
def test_bytes_in_use_are_within_the_peak(machine: str, policy: str, fidelity: str) -> None:
    """The plan reserves the whole arena; what is alive at the busiest operator is nearly all of it."""
    result = ran(machine, policy, fidelity)
    assert result.run is not None
    for region, peak in result.run.header.peak_bytes.items():
        most = max((one.bytes_in_use or {}).get(region, 0) for one in result.operators)
        assert 0.98 * peak <= most <= peak


@pytest.mark.parametrize("policy", POLICIES)
def test_operands_are_the_tensors_of_the_model(policy: str) -> None:
    """Every input of an operator that its kernel reads is named, also where the DMA copied it."""
    result = ran(F746, policy, "replay")
    request = result.request
    assert request is not None and request.graph is not None and request.program is not None
    for one in result.operators:
        op = request.graph.operators[one.index]
        read = {place.tensor for place in one.operands if place.access == "r"} - {None}
        assert read == {t for t in op.inputs if t >= 0}
        assert {p.tensor for p in one.operands if p.role == "output"} == set(op.outputs)
        assert one.input_shapes == tuple(request.graph.tensors[t].shape for t in op.inputs if t >= 0)
    homes = {tensor.index: tensor for tensor in result.tensors}
    for one in result.operators:
        for place in one.operands:
            if place.tensor is not None and place.buffer == f"tensor{place.tensor}":
                home = homes[place.tensor]
                assert home.region == place.region and home.address is not None
                assert home.address <= place.address and place.address + place.bytes <= home.address + home.bytes
    copied = [p for one in result.operators for p in one.operands if p.buffer and p.buffer.startswith("tile")]
    assert bool(copied) is (policy == "tinyops") and all(place.tensor is not None for place in copied)


def test_operands_span_what_the_tasks_access() -> None:
    result = ran(F746, "tinyops", "replay")
    assert result.request is not None and result.request.program is not None
    places = {one.index: one.operands for one in result.operators}
    tasks = [task for task in result.request.program.tasks if isinstance(task, Compute)]
    for task in tasks:
        for operand in task.operands:
            span = operand.span
            assert any(
                p.role == operand.role and p.address <= span.address and span.end <= p.address + p.bytes
                for p in places[task.operator]
            )


def test_kernels_are_named() -> None:
    costed, counted, executed = (
        ran(F746, "internal", "replay"),
        simulate("ds-cnn", F746, kernels="cmsis-gcc12"),
        ran(F746, "internal", "emulate"),
    )
    found = [[one.kernel for one in result.operators[:3]] for result in (costed, counted, executed)]
    assert found[0] == ["conv", "depthwise_3x3", "pointwise"]
    assert found[1] == ["cmsis_conv-columns", "cmsis_depthwise-3x3", "cmsis_conv-pointwise"]
    assert found[2] == ["cmsis_conv", "cmsis_depthwise", "cmsis_conv"]


def test_main_cause_is_in_words() -> None:
    slow = ran(F746, "external", "replay").operators
    assert str(slow[0].main_cause) == "computing CONV_2D"
    assert "waiting for weights in sdram" in {str(part) for part in slow[0].parts}


def test_a_saved_program_has_places_but_no_names() -> None:
    path = REPOSITORY / "traces" / "ds-cnn-internal.jsonl"
    result = replay(read_program(path), load_machine(F469))
    assert result.operators[0].inputs is None and result.operators[0].input_shapes is None
    assert result.operators[0].operands and result.tensors[0].address is not None
    assert {tensor.name for tensor in result.tensors} == {None}
    assert sum(one.cycles for one in result.operators) == result.run.cycles  # type: ignore[union-attr]


def test_a_result_put_together_by_hand_has_no_places() -> None:
    result = make_result()
    assert [one.operands for one in result.operators] == [(), ()]
    assert result.operators[0].bytes_in_use is None
    assert result.tensors == () and make_result(run=None).operators == ()


def test_traffic_of_no_task_is_outside() -> None:
    """The hand-made run moved 1,500 bytes and has no tasks."""
    row = to_json(make_result())["outside_operators"]
    assert row["traffic"] == {"sram1": 1500} and row["energy_mj"] == pytest.approx(1e3 * 1500 * 5e-10)


def test_a_missing_energy_says_why() -> None:
    tight = simulate("ds-cnn", F746, sram_budget="1 KiB")
    assert tight.energy is None and "there was no run: " in (tight.energy_missing or "")
    assert to_json(tight)["energy_missing"] == tight.energy_missing
    assert ran(F746, "internal", "replay").energy_missing is None

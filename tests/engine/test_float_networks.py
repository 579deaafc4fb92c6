"""Networks of float32: LiteRT's values within a few steps of a float, TFLM's memory, replays near emulations."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcusim
from mcusim.errors import ModelError
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import load_model
from mcusim.plan import plan
from mcusim.program.extent import check_extent
from mcusim.program.field_readers import FieldError
from mcusim.program.program import Compute
from mcusim.verification.equivalence import first_difference
from tests.support.graphs.float_graphs import float_network
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.small_graphs import activation, constant, one_operator
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.graphs.tflm import TFLM

GRAPH = float_network()
PROGRAM = plan(GRAPH, load_machine("stm32f469i-disco"), "internal", load_set("cmsis"))
IMAGE = np.random.default_rng(4).normal(0, 1, (1, 16, 16, 3)).astype(np.float32)


@pytest.mark.parametrize(
    ("board", "policy"),
    [("stm32f746g-disco", "external"), ("nucleo-g474re", "internal"), ("stm32f469i-disco", "tinyops")],
)
def test_a_network_of_floats(board: str, policy: str) -> None:
    seen: dict[int, list[Any]] = {}
    emulated = mcusim.simulate(
        GRAPH, board, policy, "cmsis", fidelity="emulate", input=[IMAGE], observe=seen.__setitem__
    )
    data = write_tflite(GRAPH)
    ours = seen[len(GRAPH.operators) - 1][0].reshape(-1)
    for other in (LiteRT(data).run(IMAGE), TFLM(data).run(IMAGE)):
        np.testing.assert_allclose(ours, np.asarray(other[0]).reshape(-1), rtol=3e-6)
    replayed = mcusim.simulate(GRAPH, board, policy, "cmsis-gcc12")
    assert replayed.run.cycles == pytest.approx(emulated.run.cycles, rel=0.04)


def test_memory_is_that_of_the_interpreter(tmp_path: Path) -> None:
    path = tmp_path / "floats.tflite"
    path.write_bytes(write_tflite(GRAPH))
    assert mcusim.plan_memory(path).tflm_head == TFLM(path.read_bytes()).head


def test_the_default_profile_prices_floats_by_the_reference_loops() -> None:
    result = mcusim.simulate(GRAPH, "stm32f469i-disco", "internal")
    same = mcusim.simulate(GRAPH, "stm32f469i-disco", "internal", "cmsis-gcc12")
    assert result.run.cycles == pytest.approx(same.run.cycles, rel=0.05)
    assert result.interval is not None
    low, high = result.interval.latency_ms
    assert high > 2.2 * low and "in loops of float32, which nobody measured" in result.interval.not_fitted
    emulated = mcusim.simulate(GRAPH, "stm32f469i-disco", "internal", "cmsis", fidelity="emulate", input=[IMAGE])
    assert emulated.interval is not None and "float32" in emulated.interval.not_fitted


def test_dynamic_range_is_refused_by_name(tmp_path: Path) -> None:
    weights = GRAPH.operators[0].inputs[1]
    tensors = [*GRAPH.tensors]
    tensors[weights] = replace(tensors[weights], dtype="int8", data=np.ones(tensors[weights].shape, np.int8))
    path = tmp_path / "hybrid.tflite"
    path.write_bytes(write_tflite(replace(GRAPH, tensors=tuple(tensors))))
    with pytest.raises(ModelError, match=r"operator 0 CONV_2D: 't1' is int8 with activations of floats \(dyn"):
        load_model(path)


def test_a_filter_of_floats_has_four_bytes_an_element() -> None:
    task = next(t for t in PROGRAM.tasks if isinstance(t, Compute))
    (weights,) = (operand for operand in task.operands if operand.role == "filter")
    short = replace(weights, span=replace(weights.span, bytes=weights.span.bytes // 4))
    with pytest.raises(FieldError, match="operand filter has 216 B, its geometry and rows need 864 B"):
        check_extent(replace(task, operands=tuple(short if o is weights else o for o in task.operands)))


@pytest.mark.parametrize("dtype", ["int8", "float32"])
@pytest.mark.parametrize(
    ("source", "target"), [((1,), (7,)), ((1, 1), (20, 30)), ((40, 1), (40, 50)), ((3, 1, 1), (3, 4, 5))]
)
def test_an_element_may_become_a_row(source: tuple[int, ...], target: tuple[int, ...], dtype: str) -> None:
    ends = [replace(activation(shape), dtype=dtype) for shape in (source, target)]
    graph = one_operator("BROADCAST_TO", [ends[0], constant(target)], [ends[1]])
    values = np.random.default_rng(1).integers(-128, 127, source).astype(dtype)
    emulated = mcusim.simulate(graph, "nucleo-g474re", fidelity="emulate", input=[values])
    assert np.array_equal(emulated.outputs[0].values, np.broadcast_to(values, target))
    assert mcusim.simulate(graph, "nucleo-g474re", kernels="cmsis-gcc12").fits


@pytest.mark.parametrize("board", ["stm32f746g-disco", "nucleo-g474re"])
@pytest.mark.parametrize("dtype", ["int16", "float32"])
def test_words_that_are_moved_cost_what_they_take(board: str, dtype: str) -> None:
    """Elements copied one by one, as columns become rows."""
    source, target = (replace(activation(shape), dtype=dtype) for shape in ((1, 20, 16, 12), (1, 12, 20, 16)))
    graph = one_operator("TRANSPOSE", [source, constant([0, 3, 1, 2])], [target])
    emulated = mcusim.simulate(graph, board, kernels="cmsis", fidelity="emulate")
    replayed = mcusim.simulate(graph, board, kernels="cmsis-gcc12")
    assert replayed.run.cycles == pytest.approx(emulated.run.cycles, rel=0.05)


def test_outputs_without_exp_are_verified_byte_for_byte() -> None:
    """On a board without SDRAM by policy internal."""
    exact = replace(GRAPH, operators=GRAPH.operators[:-1], outputs=GRAPH.operators[-2].outputs)
    result = mcusim.verify(exact, machine="nucleo-g474re", kernels="cmsis")
    assert result.litert is not None and result.litert.equal and result.litert.tolerance == 0
    assert result.program.header.policy == "internal"


def test_outputs_are_verified_within_the_steps_of_floats() -> None:
    result = mcusim.verify(GRAPH, machine="stm32f469i-disco", policy="tinyops", kernels="cmsis")
    assert result.litert is not None and result.litert.equal and result.litert.tolerance == 1e-5
    assert result.untiled is not None and result.untiled.equal and result.untiled.tolerance == 0
    want = np.array([[1.0, 0.5]], np.float32)
    seen = {len(GRAPH.operators) - 1: [want]}
    for other, equal in ((want * np.float32(1 + 5e-6), True), (want * np.float32(1 + 5e-5), False)):
        ours = {len(GRAPH.operators) - 1: [other]}
        assert (first_difference(PROGRAM, GRAPH, ours, seen, 1e-5) is None) is equal
        assert first_difference(PROGRAM, GRAPH, ours, seen) is not None

"""A network of int16 activations and int8 filters: LiteRT's bytes, TFLM's arena, the cycles of a replay."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mcusim
from mcusim.errors import ModelError
from mcusim.model import load_model
from mcusim.model.graph_check import check_graph
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan.arena import arena_head
from mcusim.run_config.input_tensors import random_inputs
from tests.support.cases import only_with_all_cases, sampled
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.tflm import TFLM
from tests.support.graphs.wide import as_int16
from tests.support.kernels.kernel_cases import one_operator
from tests.support.programs.plans import DISCOS


@only_with_all_cases
@pytest.mark.parametrize(("board", "policy"), sampled([(DISCOS[1], "tinyops"), (DISCOS[0], "internal")], 1))
def test_ds_cnn_of_int16(board: str, policy: str) -> None:
    graph = as_int16(load_model("ds-cnn"))
    data, inputs = write_tflite(graph), random_inputs(graph)
    emulated = mcusim.simulate(graph, board, policy, "reference", fidelity="emulate", input=list(inputs))
    wanted = LiteRT(data).run(*inputs)
    assert [np.asarray(one.values).tobytes() for one in emulated.outputs] == [one.tobytes() for one in wanted]
    assert len(np.unique(wanted[0])) > 6
    assert arena_head(graph) == TFLM(data).head
    replayed = mcusim.simulate(graph, board, policy, "reference-gcc12")
    assert emulated.run is not None
    assert replayed.run is not None
    assert emulated.run.header.peak_bytes == replayed.run.header.peak_bytes
    for one, other in zip(emulated.run.operators, replayed.run.operators, strict=True):
        assert 1 / 1.5 < other.cycles / one.cycles < 1.5, (one.type, other.cycles, one.cycles)
    assert replayed.run.cycles == pytest.approx(emulated.run.cycles, rel=0.15)
    assert not any("int16" in warning for warning in replayed.warnings)


def test_an_output_shape_may_be_an_input() -> None:
    """As in the files that TFLM tests TRANSPOSE_CONV with: the shape is the one that the file has, whoever gives it."""
    graph = one_operator("TRANSPOSE_CONV", "int16", 2)
    (op,) = graph.operators
    tensors = tuple(replace(t, data=None) if t.index == op.inputs[0] else t for t in graph.tensors)
    graph = replace(graph, tensors=tensors, inputs=(op.inputs[0], *graph.inputs))
    data, inputs = write_tflite(graph), random_inputs(graph)
    assert tuple(inputs[0]) == graph.tensors[op.outputs[0]].shape
    result = mcusim.simulate(graph, DISCOS[1], "internal", "reference", fidelity="emulate", input=list(inputs))
    assert np.asarray(result.outputs[0].values).tobytes() == LiteRT(data).run(*inputs)[0].tobytes()
    assert arena_head(graph) == TFLM(data).head
    with pytest.raises(ModelError, match="filter"):
        wrong = replace(graph.tensors[op.outputs[0]], shape=(1, 2, 3, 99))
        check_graph(replace(graph, tensors=(*graph.tensors[:-1], wrong)), "wrong")

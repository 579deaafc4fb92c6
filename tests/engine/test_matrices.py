"""BATCH_MATMUL with what is computed and with constants: the bytes of LiteRT and of TFLM, and the transposed copies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mcusim
from mcusim.model import Graph, Operator, Quantization, Tensor
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.run_config.input_tensors import random_inputs
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.tflm import TFLM


def attention(dtype: str) -> Graph:
    """Of 12 vectors of 16: their products with each other, then with vectors again, then with a constant."""
    scale = 1 if dtype == "int8" else 1 / 256
    tensors: list[Tensor] = []

    def add(shape: tuple[int, ...], size: float, data: Any = None) -> int:
        tensors.append(
            Tensor(len(tensors), f"t{len(tensors)}", shape, dtype, Quantization((size * scale,), (0,)), data)
        )
        return tensors[-1].index

    queries, keys = add((1, 3, 12, 16), 0.05), add((1, 3, 12, 16), 0.04)
    scores, values = add((1, 3, 12, 12), 0.2), add((1, 3, 12, 16), 0.6)
    weights = np.random.default_rng(0).integers(-100, 100, (16, 7)).astype(dtype)
    matrix, result = add((16, 7), 0.02, weights), add((1, 3, 12, 7), 1.0)
    operators = (
        Operator(0, "BATCH_MATMUL", (queries, keys), (scores,), {"adj_x": False, "adj_y": True}),
        Operator(1, "BATCH_MATMUL", (scores, keys), (values,), {"adj_x": True, "adj_y": False}),
        Operator(2, "BATCH_MATMUL", (values, matrix), (result,), {"adj_x": False, "adj_y": False}),
    )
    return Graph("attention", tuple(tensors), operators, (queries, keys), (result,), "")


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize(("board", "policy"), [("stm32f746g-disco", "external"), ("nucleo-g474re", "internal")])
def test_matrices(dtype: str, board: str, policy: str) -> None:
    graph = attention(dtype)
    inputs, data = random_inputs(graph), write_tflite(graph)
    seen: dict[int, list[Any]] = {}
    emulated = mcusim.simulate(
        graph, board, policy, "reference", fidelity="emulate", input=inputs, observe=seen.__setitem__
    )
    wanted = LiteRT(data).run(*inputs)[0]
    assert len(np.unique(wanted)) > 50
    assert seen[2][0].tobytes() == wanted.tobytes() == TFLM(data).run(*inputs)[0].tobytes()
    replayed = mcusim.simulate(graph, board, policy, "reference-gcc12")
    assert replayed.run.cycles == pytest.approx(emulated.run.cycles, rel=0.04)
    assert sum(op.macs for op in replayed.operators) == 3 * 12 * 12 * 16 * 2 + 3 * 12 * 16 * 7


def test_transposed_copies_are_what_the_interpreter_keeps(tmp_path: Path) -> None:
    """As TensorFlow Lite Micro has them in the tail of its arena: a left side, a right one, a constant."""
    path = tmp_path / "attention.tflite"
    path.write_bytes(write_tflite(attention("int8")))
    plan = mcusim.plan_memory(path, machine="nucleo-g474re")
    structure, left, right, matrix = 104, 3 * 12 * 12, 3 * 12 * 16, 16 * 7
    assert plan.in_ram is not None
    assert plan.in_ram.parts["runtime"] == 160 + structure + left + right + structure + matrix
    assert "BATCH_MATMUL (operator 2) keeps transposed copies of its constants in RAM, 112 B" in plan.graph.warnings[0]
    assert plan.tflm_head == TFLM(path.read_bytes()).head

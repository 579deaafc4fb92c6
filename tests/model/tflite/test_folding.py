"""Operators on constants alone, computed by the reader: the values are LiteRT's, and the limits hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite

from mcusim.commands.app import main
from mcusim.errors import ModelError, UnsupportedError
from mcusim.model import Graph, Operator, Tensor, inspect, load_model
from mcusim.model.tflite import folding
from mcusim.model.tflite.folding import FOLDED
from mcusim.plan.arena import arena_head
from tests.support.cases import sample_size
from tests.support.graphs.constant_operators import OUT, X, drawn, network, written
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.tflm import TFLM
from tests.support.paths import shared_model

SEEDS = sample_size(25, 6)
SHAPES: dict[str, Callable[[list[Any]], tuple[int, ...]]] = {  # where LiteRT does not find them by itself
    "RESHAPE": lambda values: (values[0].size,),
    "SQUEEZE": lambda values: values[0].shape[1:],
    "SLICE": lambda v: tuple(n - b if s < 0 else s for n, b, s in zip(v[0].shape, v[1], v[2], strict=True)),
}
INPUT = np.arange(-3, 3, dtype=np.int8).reshape(1, 2, 3)


def loaded(graph: Graph, folder: Path) -> Graph:
    path = folder / "constants.tflite"
    path.write_bytes(written(graph))
    return load_model(path)


def litert(graph: Graph, index: int) -> Any:
    runtime = LiteRT(written(graph), keep=True)
    runtime.run(INPUT)
    return runtime.tensor(index)


def _same_head_in_tflm(written_graph: Graph, found: Graph) -> None:
    """TFLM runs what is folded here: its arena holds those tensors too."""
    try:
        micro = TFLM(written(written_graph))
    except RuntimeError as error:
        assert "strided_slice" in str(error)  # of masks that its kernel does not take
        return
    assert micro.head == arena_head(found.as_stored)


@pytest.mark.parametrize("kind", FOLDED)
def test_values_are_those_of_litert(kind: str, tmp_path: Path) -> None:
    same = 0
    for seed in range(SEEDS):
        values, options, dtype = drawn(kind, seed)
        shape = SHAPES.get(kind, lambda _: (1,))(values)
        graph = network(kind, values, options, dtype, shape)
        try:
            wanted = litert(graph, OUT)
        except (RuntimeError, ValueError):  # of a type that its kernel does not take
            continue
        found = loaded(network(kind, values, options, dtype, wanted.shape), tmp_path)
        assert [op.type for op in found.operators] == ["RELU"] and [op.type for op in found.folded] == [kind]
        if FOLDED[kind].in_tflm:
            _same_head_in_tflm(network(kind, values, options, dtype, wanted.shape), found)
        value = found.tensors[OUT].data
        assert value is not None and value.dtype == wanted.dtype and value.shape == wanted.shape
        assert value.tobytes() == wanted.tobytes(), f"seed {seed}: {values} {options}: {value}, LiteRT {wanted}"
        same += 1
    assert same >= 0.4 * SEEDS


def test_a_real_file_with_shapes_of_a_dynamic_batch(tmp_path: Path) -> None:
    path = shared_model("st_fdmobilenet.tflite")
    graph = load_model(path)
    assert [op.type for op in graph.folded] == ["SHAPE", "STRIDED_SLICE", "PACK"] * 2
    assert "folded" in inspect(graph) and graph.notes[0].startswith("computed when read, since their inputs are const")
    runtime = LiteRT(path.read_bytes(), keep=True)
    signature = tflite.Model.GetRootAs(path.read_bytes(), 0).Subgraphs(0).Tensors(0).ShapeSignatureAsNumpy()
    assert signature[0] == -1  # the file's own shape is the one that counts
    rng = np.random.default_rng(1)
    runtime.run(rng.integers(0, 256, graph.tensors[graph.inputs[0]].shape, np.uint8))
    for op in graph.folded:
        value = graph.tensors[op.outputs[0]].data
        assert value is not None and np.array_equal(value, runtime.tensor(op.outputs[0]))
    assert TFLM(path.read_bytes()).head == arena_head(graph.as_stored)
    assert [op.type for op in graph.as_stored.operators][25:28] == ["SHAPE", "STRIDED_SLICE", "PACK"]


def chain(length: int, elements: int) -> Graph:
    """A constant of ``elements`` integers, ``length`` times added to itself; then a RELU on the network's input."""
    graph = network("ADD", [np.ones(elements, np.int32)] * 2, {}, "int32", (elements,))
    tensors, operators = [*graph.tensors], [graph.operators[0]]
    for i in range(1, length):
        tensors.append(Tensor(len(tensors), f"more{i}", (elements,), "int32"))
        operators.append(Operator(i, "ADD", (tensors[-2].index if i > 1 else OUT, OUT + 1), (tensors[-1].index,)))
    operators.append(Operator(length, "RELU", (X,), (1,)))
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def test_chains_are_followed(tmp_path: Path) -> None:
    graph = chain(5, 3)
    found = loaded(graph, tmp_path)
    last = found.tensors[-1].data
    assert last is not None and last.tolist() == [6, 6, 6] and len(found.folded) == 5
    assert np.array_equal(litert(graph, len(graph.tensors) - 1), last)


def test_all_results_together_have_a_limit(tmp_path: Path) -> None:
    each = folding.MOST_BYTES // 4 // 4
    assert len(loaded(chain(4, each), tmp_path).folded) == 4
    with pytest.raises(ModelError, match=r"operator 4 ADD, whose inputs are constants: all that .* more than 16 MiB"):
        loaded(chain(5, each), tmp_path)


ONES = np.ones((2, 3), np.int32)
WRONG: list[tuple[str, list[Any], dict[str, Any], tuple[int, ...], str]] = [
    (
        "TILE",
        [ONES, np.array([1 << 20, 1 << 20], np.int32)],
        {},
        (2, 3),
        r"give the shape \[2097152, 3145728\]",
    ),
    ("TILE", [ONES, np.array([-1, 1], np.int32)], {}, (2, 3), "multiples do not fit"),
    ("FILL", [np.array([1 << 30, 4], np.int32), np.array(1, np.int32)], {}, (4,), r"the file says \[4\]"),
    ("RANGE", [np.array(n, np.int32) for n in (0, 5, 0)], {}, (5,), "no steps of 0 lead from 0 to 5"),
    ("RANGE", [np.array(n, np.int32) for n in (0, 2**31 - 1, 1)], {}, (5,), "give the shape"),
    ("FLOOR_DIV", [ONES, ONES * 0], {}, (2, 3), "it divides by 0"),
    ("GATHER", [ONES, np.array([2], np.int32)], {"axis": 0}, (1, 3), "an index is outside of axis 0"),
    ("GATHER", [ONES, np.array([0], np.int32)], {"axis": 5}, (1, 3), "axis 5 is not within a tensor of 2 dim"),
    ("PACK", [ONES, ONES[:1]], {"axis": 0}, (2, 2, 3), "its inputs have different shapes"),
    ("CONCATENATION", [ONES, ONES[0]], {"axis": 0}, (3, 3), "do not join"),
    ("TRANSPOSE", [ONES, np.array([0, 0], np.int32)], {}, (2, 3), "is no order of 2 dimensions"),
    ("STRIDED_SLICE", [ONES, *[np.zeros(2, np.int32)] * 3], {}, (2, 3), "a stride is 0"),
    ("STRIDED_SLICE", [ONES, *[np.ones(1, np.int32) * 7] * 3], {"shrink_axis_mask": 1}, (3,), "cannot be computed"),
    ("SLICE", [ONES, np.array([0, 2], np.int32), np.array([2, 2], np.int32)], {}, (2, 2), "a slice leaves"),
    ("CAST", [np.array([1e30], np.float32)], {}, (1,), "a value is outside of int32"),
    ("BROADCAST_TO", [ONES, np.array([9, 9], np.int32)], {}, (9, 9), "cannot be computed"),
    ("ADD", [ONES, np.ones(7, np.int32)], {}, (2, 3), "cannot be computed"),
    ("SUM", [ONES, np.array([4], np.int32)], {"keep_dims": False}, (2,), "axes"),
]


@pytest.mark.parametrize(("kind", "values", "options", "shape", "text"), WRONG)
def test_what_cannot_be_computed_is_an_error(
    kind: str, values: list[Any], options: dict[str, Any], shape: tuple[int, ...], text: str, tmp_path: Path
) -> None:
    with pytest.raises(ModelError, match=f"operator 0 {kind}, whose inputs are constants: .*{text}"):
        loaded(network(kind, values, options, "int32", shape), tmp_path)


def test_constant_outputs_are_left_out_and_said(tmp_path: Path) -> None:
    graph = replace(network("ADD", [ONES, ONES], {}, "int32", (2, 3)), outputs=(1, OUT))
    found = loaded(graph, tmp_path)
    assert found.outputs == (1,) and found.constant_outputs == (OUT,)
    assert found.notes[1] == "outputs of the file that are constants are left out: 'out'"
    assert TFLM(written(graph)).head == arena_head(found.as_stored)
    path = str(tmp_path / "constants.tflite")
    for words in (["export", path], ["memory", path]):
        assert main([*words, "-o", str(tmp_path / "new.tflite")]) == 2
    assert not (tmp_path / "new.tflite").exists()
    with pytest.raises(ModelError, match="the graph has no output"):
        loaded(replace(graph, outputs=(OUT,)), tmp_path)


def test_quantised_arithmetic_of_constants_is_refused(tmp_path: Path) -> None:
    graph = network("ADD", [ONES.astype(np.int8)] * 2, {}, "int8", (2, 3))
    with pytest.raises(UnsupportedError, match="operator 0 ADD: all its inputs are constants"):
        loaded(graph, tmp_path)

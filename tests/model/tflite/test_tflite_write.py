"""What the writer puts into a .tflite, and what it refuses."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model import Graph, Quantization, load_model
from mcusim.model.operators import OPERATORS
from mcusim.model.tflite import writable
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.model.tflite.writable import operator_version, squeezed_axes
from tests.support.cases import sample_size
from tests.support.graphs import tflite_writer
from tests.support.graphs.random_graphs import random_graph
from tests.support.graphs.round_trip import assert_round_trip
from tests.support.graphs.small_graphs import activation, constant, convolution, one_operator

KINDS = sorted(kind for kind, spec in OPERATORS.items() if not spec.traits.stateful)


@settings(max_examples=sample_size(300, 50))
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32))
def test_random_operators_read_back_equal(kind: str, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_round_trip(random_graph(kind, seed), tmp_path_factory.getbasetemp())


def parsed(graph: Graph) -> Any:
    return tflite.Model.GetRootAs(bytearray(write_tflite(graph)), 0)


def test_constants_lie_at_multiples_of_16_bytes() -> None:
    graph = load_model("ds-cnn")
    data = write_tflite(graph)
    constants = [t for t in graph.tensors if t.data is not None]
    positions = [data.find(t.data.tobytes()) for t in constants if t.data is not None and t.bytes >= 32]
    assert len(positions) == 20 and all(p > 0 and p % 16 == 0 for p in positions)


def test_description_and_signature() -> None:
    model = parsed(load_model("ds-cnn"))
    assert model.Description() == b"ds-cnn, written by mcusim; random weights"
    signature = model.SignatureDefs(0)
    ends = signature.Inputs(0), signature.Outputs(0)
    assert signature.SignatureKey() == b"serving_default"
    assert [(e.Name(), e.TensorIndex()) for e in ends] == [(b"input", 0), (b"softmax_12", 34)]
    trained = replace(load_model("ds-cnn"), random_weights=False)
    assert parsed(trained).Description() == b"ds-cnn, written by mcusim"


def test_a_signature_tells_equal_names_apart() -> None:
    tensors = [replace(activation((1, 8)), name="same") for _ in range(3)]
    graph = one_operator("ADD", tensors[:2], tensors[2:], activation="NONE")
    graph = replace(graph, tensors=tuple(replace(t, name="same") for t in graph.tensors))
    inputs = [parsed(graph).SignatureDefs(0).Inputs(i).Name() for i in range(2)]
    assert inputs == [b"same_0", b"same_1"]


def test_a_per_channel_filter_names_its_axis() -> None:
    model = parsed(load_model("ds-cnn"))
    subgraph = model.Subgraphs(0)
    axes = {}
    for i in range(subgraph.OperatorsLength()):
        op = subgraph.Operators(i)
        kind = model.OperatorCodes(op.OpcodeIndex()).BuiltinCode()
        if op.InputsLength() == 3:
            axes[kind] = subgraph.Tensors(op.Inputs(1)).Quantization().QuantizedDimension()
    names = tflite.BuiltinOperator
    assert axes == {names.CONV_2D: 0, names.DEPTHWISE_CONV_2D: 3, names.FULLY_CONNECTED: 0}


# version as TensorFlow's converter chooses it, by kind, dtype and options
VERSIONS = [
    (convolution((1, 6, 4, 8), (5, 3, 3, 8), (1, 6, 4, 5)), 3),
    (one_operator("ADD", [activation((1, 8), "uint8")] * 2, [activation((1, 8), "uint8")]), 1),
    (one_operator("ADD", [activation((1, 8))] * 2, [activation((1, 8))]), 2),
    (one_operator("RELU", [activation((1, 8), "uint8")], [activation((1, 8), "uint8")]), 2),
    (one_operator("LEAKY_RELU", [activation((1, 8))], [activation((1, 8))]), 1),
    (one_operator("SPLIT", [activation((1,), "int32"), activation((1, 8))], [activation((1, 8))]), 2),
    (one_operator("MAXIMUM", [activation((1, 1, 1, 2, 8)), activation((8,))], [activation((1, 1, 1, 2, 8))]), 3),
    (one_operator("MAXIMUM", [activation((1, 1, 1, 2, 8))] * 2, [activation((1, 1, 1, 2, 8))]), 2),
    (one_operator("FULLY_CONNECTED", [activation((1, 8))] * 2, [activation((1, 8))]), 6),
    (one_operator("FULLY_CONNECTED", [activation((1, 8))] * 3, [activation((1, 8))]), 4),
    (one_operator("FULLY_CONNECTED", [activation((1, 8))] * 3, [activation((1, 8))], keep_num_dims=True), 5),
    (one_operator("DEPTHWISE_CONV_2D", [activation((1, 8), "uint8")] * 3, [activation((1, 8))], dilation_w=2), 2),
    (one_operator("RESIZE_BILINEAR", [activation((1, 8))] * 2, [activation((1, 8))], half_pixel_centers=True), 3),
    (one_operator("TRANSPOSE", [activation((1,) * 6)] * 2, [activation((1,) * 6)]), 6),
    (one_operator("TRANSPOSE", [activation((1,) * 5)] * 2, [activation((1,) * 5)]), 4),
    (one_operator("DEQUANTIZE", [activation((1, 8))], [activation((1, 8), "float32")]), 2),
    (one_operator("DEQUANTIZE", [activation((1, 8), "float16")], [activation((1, 8), "float32")]), 3),
    (one_operator("MUL", [activation((1, 8))] * 2, [activation((1, 8))]), 2),
    (one_operator("MUL", [activation((1, 8))] * 2,
                  [replace(activation((1, 8)), quantization=Quantization((0.015625,), (0,)))]), 3),
]  # fmt: skip


@pytest.mark.parametrize(("graph", "version"), VERSIONS)
def test_operator_versions(graph: Graph, version: int) -> None:
    assert operator_version(graph, graph.operators[0]) == version


def test_one_type_in_two_versions_has_two_codes(tmp_path: Path) -> None:
    graph = one_operator("RELU", [activation((1, 2, 2, 8))], [activation((1, 2, 2, 8))])
    first, out = graph.operators[0], replace(graph.tensors[1], index=2, name="out")
    kinds = replace(first, type="DEQUANTIZE"), replace(first, type="QUANTIZE", index=1, inputs=(1,), outputs=(2,))
    middle = replace(graph.tensors[1], dtype="float32", quantization=None)
    graph = replace(graph, tensors=(graph.tensors[0], middle, out), operators=kinds, outputs=(2,))
    assert_round_trip(graph, tmp_path)
    assert parsed(graph).OperatorCodesLength() == 2


@pytest.mark.parametrize(
    ("source", "target", "axes"),
    [
        ((1, 1, 8), (8,), (0, 1)), ((1, 3, 1, 8), (3, 8), (0, 2)), ((1, 3, 1, 8), (1, 3, 8), (2,)),
        ((1, 1), (), (0, 1)), ((1, 1), (1,), (1,)), ((2, 1, 1, 1), (2, 1), (2, 3)), ((2, 3), (2, 3), ()),
        ((2, 3), (3, 2), None), ((1, 3), (3, 1), None), ((1, 2, 3), (6,), None), ((1, 3), (1, 1, 3), None),
    ],
)  # fmt: skip
def test_squeezed_axes(source: tuple[int, ...], target: tuple[int, ...], axes: tuple[int, ...] | None) -> None:
    assert squeezed_axes(source, target) == axes


def changed(graph: Graph, index: int, **changes: Any) -> Graph:
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], **changes)
    return replace(graph, tensors=tuple(tensors))


def optioned(graph: Graph, **options: Any) -> Graph:
    return replace(graph, operators=(replace(graph.operators[0], options=options), *graph.operators[1:]))


CONV = convolution((1, 6, 4, 8), (5, 3, 3, 8), (1, 6, 4, 5))
GOOD = dict(CONV.operators[0].options)
REFUSED = [
    (one_operator("ONE_HOT", [activation((1, 8))], [activation((1, 8))]), "operators mcusim does not know: ONE_HOT"),
    (one_operator("UNKNOWN:X", [activation((1, 8))], [activation((1, 8))]), "does not know: X$"),
    (changed(CONV, 0, dtype="string"), "tensor 0 'activation_0' is of type string"),
    (changed(CONV, 0, dtype="int16"), "operator 0 CONV_2D: mixes the types int16, int8, int8; int16 activations take"),
    (changed(CONV, 3, shape=(1, 6, 4, 6)), r"output shape should be \[1, 6, 4, 5\]"),
    (changed(CONV, 1, data=np.zeros((5, 3, 3, 7), np.int8)), r"is int8\[5, 3, 3, 8\], its values are int8\[5, 3, 3, 7"),
    (changed(CONV, 1, data=np.zeros((5, 3, 3, 8), np.int16)), "its values are int16"),
    (changed(CONV, 1, quantization=Quantization((1.0,) * 5, (0,) * 5, 3)), "5 scales do not fit axis 3"),
    (changed(CONV, 1, quantization=Quantization((1.0,) * 5, (0,) * 4)), "has 5 scales and 4 zero points"),
    (changed(CONV, 1, quantization=Quantization((), ())), "has 0 scales"),
    (changed(CONV, 0, quantization=Quantization((float("inf"),), (0,))), "a scale is not a finite number"),
    (changed(CONV, 0, quantization=Quantization((1.0,), (128,))), r"a zero point is not within -128 to 127 \(int8\)"),
    (changed(CONV, 0, shape=(1,) * 9), "has more than 8 dimensions"),
    (changed(CONV, 0, shape=(-1, 6, 4, 8)), r"shape \[-1, 6, 4, 8\] is negative"),
    (optioned(CONV, **{k: v for k, v in GOOD.items() if k != "stride_h"}), "CONV_2D: option stride_h is missing"),
    (optioned(CONV, **GOOD | {"stride_w": 0}), "stride_w is 0, must be within 1 to 4,096"),
    (optioned(CONV, **GOOD | {"padding": "FULL"}), "padding is 'FULL', must be one of SAME, VALID"),
    (optioned(CONV, **GOOD | {"groups": 2}), "CONV_2D: has no option groups"),
    (one_operator("SQUEEZE", [activation((2, 4))], [activation((8,))]), r"SQUEEZE: cannot give \[8\] from \[2, 4\]"),
    (replace(CONV, operators=()), "has no operators"),
]


@pytest.mark.parametrize("case", range(len(REFUSED)))
def test_what_cannot_be_written_is_one_clear_error(case: int) -> None:
    graph, text = REFUSED[case]
    with pytest.raises(ModelError, match=text) as error:
        write_tflite(graph)
    assert str(error.value).startswith(f"cannot write {graph.name}: ")
    assert isinstance(error.value, UnsupportedError) == (
        "does not know" in text or "type string" in text or "int16;" in text
    )


def test_shared_constants_stay_shared(tmp_path: Path) -> None:
    """500 tensors at one buffer of 4 KB are a small file, and so is what is written of it."""
    graph = one_operator("RELU", [activation((1, 8))], [activation((1, 8))])
    extra = replace(constant(np.arange(1024)), index=2)
    path = tmp_path / "small.tflite"
    path.write_bytes(tflite_writer.write_tflite(replace(graph, tensors=(*graph.tensors, extra)), aliases=500))
    read = load_model(path)
    assert len(read.tensors) == 503
    assert len(assert_round_trip(read, tmp_path)) < 80_000


def test_the_size_of_a_file_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writable, "LARGEST_FILE", 379)
    with pytest.raises(ModelError, match="its constants take 380 B; files up to 379 B are read"):
        write_tflite(CONV)


def test_arrays_of_any_layout_are_written_by_value(tmp_path: Path) -> None:
    values = np.arange(360).astype(np.int8).reshape(8, 3, 3, 5)
    swapped = changed(CONV, 1, data=values.T)
    big = changed(swapped, 2, data=np.arange(5, dtype=">i4"))
    assert_round_trip(big, tmp_path)

"""The .tflite reader: real models, round trips, every rule it enforces."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tflite

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model import Graph, Quantization, geometry, graph_macs, inspect, load_model
from mcusim.model.tflite import flatbuffer
from tests.support.graphs.good_operators import ADD, CONV, GOOD, ROW
from tests.support.graphs.small_graphs import activation, constant, convolution, one_operator
from tests.support.graphs.tflite_writer import Unchecked, write_tflite
from tests.support.paths import shared_model


def reload(graph: Graph, folder: Path, allow_unknown: bool = False, **how: int) -> Graph:
    path = folder / "model.tflite"
    path.write_bytes(write_tflite(graph, **how))
    return load_model(path, allow_unknown)


@pytest.mark.parametrize(
    ("name", "operators", "macs"),
    [
        ("kws_ref_model.tflite", 13, 2_656_768),
        ("vww_96_int8.tflite", 31, 7_489_664),
        ("pretrainedResnet_quant.tflite", 16, 12_501_632),
        ("ad01_int8.tflite", 10, 264_192),
        ("person_detect.tflite", 31, 7_157_888),
        ("hello_world_int8.tflite", 3, 288),
        ("swiftnet_vwwc19_uint8.tflite", 85, 56_156_504),
    ],
)
def test_real_models(name: str, operators: int, macs: int) -> None:
    path = shared_model(name)
    graph = load_model(path)
    assert (len(graph.operators), graph_macs(graph)) == (operators, macs)
    assert graph.file_bytes == path.stat().st_size and not graph.random_weights
    shown = inspect(graph)
    assert shown["macs"] == macs == sum(op["macs"] for op in shown["operators"])
    assert len(shown["tensors"]) == len(graph.tensors)


def test_details_of_a_real_model() -> None:
    graph = load_model(shared_model("vww_96_int8.tflite"))
    first, second = graph.operators[:2]
    assert first.options == {
        "padding": "SAME", "stride_h": 2, "stride_w": 2, "dilation_h": 1, "dilation_w": 1, "activation": "RELU",
    }  # fmt: skip
    filters = graph.tensors[second.inputs[1]]
    assert filters.shape == (1, 3, 3, 8) and filters.quantization is not None
    assert (filters.quantization.axis, len(filters.quantization.scales)) == (3, 8)
    assert filters.data is not None and not filters.data.flags.writeable


def test_a_quantized_dimension_that_does_not_fit_is_a_warning() -> None:
    graph = load_model(shared_model("person_detect.tflite"))
    assert graph.warnings == (
        "14 tensors name a quantized_dimension that does not fit their scales; the axis that fits is used",
    )
    quantization = graph.tensors[graph.operators[0].inputs[1]].quantization
    assert quantization is not None and quantization.axis == 3


@pytest.mark.parametrize(
    "name", ["ds-cnn", "cifar10-arm", "figure-1", "mobilenet-v2-w0.35-r032", "proxyless-w0.25-r032"]
)
def test_round_trip_of_zoo_networks(name: str, tmp_path: Path) -> None:
    graph = load_model(name)
    read = reload(graph, tmp_path)
    assert read.tensors == graph.tensors
    for mine, theirs in zip(graph.tensors, read.tensors, strict=True):
        assert (mine.data is None) == (theirs.data is None)
        if mine.data is not None:
            np.testing.assert_array_equal(mine.data, theirs.data)
    assert [(o.type, o.inputs, o.outputs) for o in read.operators] == [
        (o.type, o.inputs, o.outputs) for o in graph.operators
    ]
    assert [geometry(read, o) for o in read.operators] == [geometry(graph, o) for o in graph.operators]
    assert read.operators == graph.operators


INT = "int32"


@pytest.mark.parametrize("kind", GOOD)
def test_every_operator_with_its_options(kind: str, tmp_path: Path) -> None:
    graph = GOOD[kind]
    read = reload(graph, tmp_path)
    assert read.operators[0].type == kind and read.tensors == graph.tensors
    wanted = {k: v for k, v in graph.operators[0].options.items() if k in read.operators[0].options}
    assert wanted.items() <= read.operators[0].options.items()
    geometry(read, read.operators[0])


class NewCodesAlone(Unchecked):
    """Operator codes that set the field of schema 3a and leave out the old, one-byte one."""

    def code(self, kind: str, version: int) -> int:
        tflite.OperatorCodeStart(self.builder)
        tflite.OperatorCodeAddVersion(self.builder, version)
        tflite.OperatorCodeAddBuiltinCode(self.builder, getattr(tflite.BuiltinOperator, kind))
        return int(tflite.OperatorCodeEnd(self.builder))


def test_an_operator_code_in_the_new_field_alone(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(NewCodesAlone(CONV, 1, 3, 0).write())
    assert [op.type for op in load_model(path).operators] == ["CONV_2D"]


def with_tensor(graph: Graph, index: int, **changes: object) -> Graph:
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], **changes)  # type: ignore[arg-type]
    return replace(graph, tensors=tuple(tensors))


def with_operator(graph: Graph, **changes: object) -> Graph:
    return replace(graph, operators=(replace(graph.operators[0], **changes), *graph.operators[1:]))  # type: ignore[arg-type]


PACKED = {"dtype": "int4", "data": np.zeros(12, np.uint8), "stored_bytes": 12}
PACKED |= {"quantization": Quantization((1.0,) * 3, (0,) * 3)}
MATRICES = one_operator(
    "BATCH_MATMUL", [activation((1, 4, 5)), activation((6, 7))], [activation((1, 4, 7))], adj_x=False, adj_y=False
)
FLOATS = activation((1, 8), "float32")
BROKEN: list[tuple[Graph, str]] = [
    (with_tensor(CONV, 3, shape=(1, 3, 3, 5)), r"operator 0 CONV_2D: output shape should be \[1, 3, 2, 5\], the file"),
    (with_tensor(CONV, 0, shape=(1, 6, 4, 7)), "filter has 8 input channels, the input has 7"),
    (with_operator(CONV, options=CONV.operators[0].options | {"stride_h": 0}), "stride_h is 0, must be within 1 to 4"),
    (with_operator(CONV, options=CONV.operators[0].options | {"dilation_w": -1}), "dilation_w is -1"),
    (with_operator(CONV, options=CONV.operators[0].options | {"padding": "VALID", "dilation_h": 9}), "does not fit"),
    (with_tensor(CONV, 2, shape=(4,), data=np.zeros(4, np.int32)), "has 4 elements for 5 output channels"),
    (with_tensor(CONV, 2, shape=(9,)), r"int32\[9\] needs 36 B, its buffer 3 has 20"),
    (with_tensor(CONV, 0, dtype="float16"), "int16 and float32 are supported: convert the model with float32, or wi"),
    (with_tensor(CONV, 0, dtype="float32"), r"'constant_1' is int8 with activations of floats \(dyn"),
    (with_tensor(CONV, 0, dtype="int32"), "is int32; int8, uint8, int16 and float32 are supported"),
    (with_tensor(CONV, 0, dtype="int16"), "mixes the types int16, int8, int8; int16 activations take filters of int8"),
    (with_tensor(CONV, 0, dtype="string"), "'activation_0' is string, which no kernel here takes"),
    (with_tensor(CONV, 0, dtype="uint8"), "mixes the types uint8, int8"),
    (with_tensor(CONV, 0, shape=(-1, 6, 4, 8)), "dynamic shape"),
    (with_tensor(CONV, 0, shape=(1, -6, 4, 8)), "negative or too large"),
    (with_tensor(CONV, 0, shape=(1 << 20, 1 << 20, 4, 8)), "negative or too large"),
    (with_tensor(CONV, 0, shape=(1, 0, 4, 8)), "is a constant or empty"),
    (with_tensor(CONV, 0, shape=(1,) * 9), "9 elements of Shape; at most 8 are read"),
    (with_tensor(CONV, 0, quantization=Quantization((float("nan"),), (0,))), "a scale is nan, must be a finite number"),
    (with_tensor(CONV, 1, quantization=Quantization((float("-inf"),), (0,))), "a scale is -inf, must be a finite"),
    (with_tensor(CONV, 0, quantization=Quantization((1.0,), (300,))), r"a zero point is not within -128 to 127"),
    (with_tensor(CONV, 1, quantization=Quantization((1.0,) * 7, (0,) * 7)), "7 scales fit no axis"),
    (with_tensor(CONV, 1, quantization=Quantization((1.0,) * 5, (0,) * 4)), "5 scales but 4 zero points"),
    (with_operator(CONV, inputs=(0,)), r"has the inputs \[0\]; 2 to 3 are needed"),
    (with_operator(CONV, inputs=(0, 99, 2)), "tensor 99 does not exist, there are 4 tensors"),
    (with_operator(CONV, outputs=()), "it has no output"),
    (with_operator(CONV, outputs=(0,)), "which is already there: a graph input"),
    (with_operator(CONV, inputs=(3, 1, 2)), "before anything produces it: it is its own output"),
    (with_operator(GOOD["SPLIT"], outputs=(2, 2)), "writes a tensor twice"),
    (with_tensor(CONV, 1, data=None), "that nothing produces: it is no graph input"),
    (replace(CONV, inputs=(0, 1)), "is a constant or empty"),
    (replace(CONV, outputs=(77,)), "graph output 77 does not exist"),
    (replace(CONV, outputs=()), "the graph has no output"),
    (replace(CONV, operators=()), "has no operators"),
    (replace(ADD, inputs=(0,)), "that nothing produces"),
    (with_tensor(ADD, 1, shape=(1, 1, 3, 8)), "do not broadcast"),
    (with_operator(GOOD["CONCATENATION"], options={"axis": 7}), "axis 7 is not an axis of a tensor of 4 dimensions"),
    (with_operator(GOOD["CONCATENATION"], options={"axis": 2}), "do not join along axis 2"),
    (with_operator(GOOD["SPLIT"], options={"num_splits": 3}), "axis 3 of .* does not split into 3 parts"),
    (with_tensor(GOOD["PAD"], 1, data=np.full((4, 2), -1, np.int32)), "must be pairs that are not negative"),
    (with_tensor(GOOD["TRANSPOSE"], 1, data=np.array([0, 1, 1, 2], np.int32)), "is not a permutation"),
    (with_tensor(GOOD["RESHAPE"], 1, shape=(1, 191)), "cannot give"),
    (with_operator(GOOD["STRIDED_SLICE"], options={"new_axis_mask": 1}), "not supported"),
    (with_tensor(GOOD["SLICE"], 2, data=np.array([1, 9, -1, 8], np.int32)), "is not inside"),
    (with_tensor(GOOD["FULLY_CONNECTED"], 1, shape=(3, 7), data=np.zeros((3, 7), np.int8)), "does not match input"),
    (with_tensor(GOOD["FULLY_CONNECTED"], 1, **PACKED), "is int4 with 3 scales; of FULLY_CONNECTED it has to have one"),
    (convolution((1, 4, 4, 6), (8, 1, 1, 2), (1, 4, 4, 8)), "8 output channels are not divided by 3 groups"),
    (one_operator("ADD", [FLOATS, constant(range(8))], [FLOATS], activation="NONE"), "types float32, int32, float32"),
    (one_operator("ADD", [FLOATS, FLOATS], [FLOATS], activation="TANH"), "fused activation TANH is applied by no ker"),
    (MATRICES, r"matrices of \[1, 4, 5\] and \[6, 7\] cannot be multiplied"),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(BROKEN)))
def test_every_rule_names_what_breaks_it(case: int, tmp_path: Path) -> None:
    graph, text = BROKEN[case]
    with pytest.raises(ModelError, match=text) as error:
        reload(graph, tmp_path)
    assert str(error.value).startswith(str(tmp_path / "model.tflite"))


def test_a_filter_computed_at_run_time_is_not_supported(tmp_path: Path) -> None:
    graph = replace(with_tensor(CONV, 1, data=None), inputs=(0, 1))
    with pytest.raises(UnsupportedError, match="is computed at run time"):
        reload(graph, tmp_path)


def unknown_graph() -> Graph:
    one = one_operator("RFFT2D", [activation(ROW)], [activation(ROW)])
    tensors = tuple(replace(one.tensors[0], index=i, name=f"t{i}") for i in range(5))
    kinds = ("RFFT2D", "RELU", "my_op", "RFFT2D")
    operators = tuple(
        replace(one.operators[0], index=i, type=k, inputs=(i,), outputs=(i + 1,)) for i, k in enumerate(kinds)
    )
    return replace(one, tensors=tensors, operators=operators, outputs=(4,))


def test_unknown_operators_are_listed_all_at_once(tmp_path: Path) -> None:
    listed = (
        r"RFFT2D \(operators 0, 3\); CUSTOM\(my_op\) \(operator 2\); --allow-unknown .* --cost 'RFFT2D=12 cycles/B'"
    )
    with pytest.raises(UnsupportedError, match=listed):
        reload(unknown_graph(), tmp_path)


def test_unknown_operators_allowed_are_kept_with_a_warning(tmp_path: Path) -> None:
    graph = reload(unknown_graph(), tmp_path, allow_unknown=True)
    assert [op.type for op in graph.operators] == ["UNKNOWN:RFFT2D", "RELU", "UNKNOWN:CUSTOM(my_op)", "UNKNOWN:RFFT2D"]
    assert graph.warnings == (
        "operators mcusim does not know count as opaque, inputs and outputs live, nothing else known: RFFT2D"
        " (operators 0, 3); CUSTOM(my_op) (operator 2)",
    )


def test_several_subgraphs_and_other_versions(tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="has 2 subgraphs"):
        reload(CONV, tmp_path, subgraphs=2)
    with pytest.raises(ModelError, match="it has no subgraph"):
        reload(CONV, tmp_path, subgraphs=0)
    with pytest.raises(ModelError, match="schema version 2"):
        reload(CONV, tmp_path, version=2)


def test_files_that_are_no_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.tflite"
    for content, text in (
        (b"", "is empty"),
        (b"abc", "is not a .tflite"),
        (b"\0\0\0\0TFL3", "offset points to byte 0"),
    ):
        path.write_bytes(content)
        with pytest.raises(ModelError, match=text):
            load_model(path)
    with pytest.raises(ModelError, match="is a directory"):
        load_model(tmp_path)
    monkeypatch.setattr(flatbuffer, "LARGEST_FILE", 8)
    path.write_bytes(b"\0\0\0\0TFL3\0")
    with pytest.raises(ModelError, match=r"larger than 8 B, the most a \.tflite file may have"):
        load_model(path)


@pytest.mark.parametrize("name", ["nothing.tflite", "no/such/thing", "a\0b", "x" * 300, "x" * 10_000, ""])
def test_a_name_that_means_nothing_lists_the_zoo(name: str) -> None:
    with pytest.raises(ModelError, match=r"zoo has .*proxyless-w\*-r\* \(proxyless-w0.25-r160\)|is a directory"):
        load_model(name)

"""Graphs written as .tflite: read back equal, run by LiteRT; ``mcusim export``."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import int8_reference
import numpy as np
import pytest
import tflite
from conftest import shared_model
from hypothesis import given, settings
from hypothesis import strategies as st
from litert import RESOLVERS, LiteRT
from random_graphs import random_graph
from small_graphs import activation, convolution, one_operator

from mcusim.cli import main
from mcusim.errors import ModelError, UnsupportedError
from mcusim.model import Graph, Quantization, load_model, zoo_names
from mcusim.model.operators import OPERATORS
from mcusim.model.tflite_checks import squeezed_axes
from mcusim.model.tflite_versions import operator_version
from mcusim.model.tflite_write import write_tflite

KINDS = sorted(OPERATORS)
NAMES = sorted(zoo_names().values())


def assert_equal(read: Graph, graph: Graph) -> None:
    """All but name, sha256, size and warnings, constants' bytes included."""
    assert (read.tensors, read.operators) == (graph.tensors, graph.operators)
    assert (read.inputs, read.outputs, read.random_weights) == (graph.inputs, graph.outputs, graph.random_weights)
    for mine, theirs in zip(graph.tensors, read.tensors, strict=True):
        assert (mine.data is None) == (theirs.data is None)
        assert mine.data is None or np.array_equal(mine.data, theirs.data)


def assert_round_trip(graph: Graph, folder: Path) -> bytes:
    data, path = write_tflite(graph), folder / f"{graph.name}.tflite"
    path.write_bytes(data)
    read = load_model(path)
    assert_equal(read, graph)
    assert write_tflite(read) == data == write_tflite(graph)
    return data


def random_inputs(graph: Graph, seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    tensors = [graph.tensors[i] for i in graph.inputs]
    return [rng.integers(*_range(t.dtype), t.shape, t.dtype, endpoint=True) for t in tensors]


def _range(dtype: str) -> tuple[int, int]:
    return np.iinfo(dtype).min, np.iinfo(dtype).max


@settings(deadline=None, max_examples=300)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32))
def test_random_operators_read_back_equal(kind: str, seed: int, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert_round_trip(random_graph(kind, seed), tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("kind", KINDS)
def test_litert_runs_every_operator(kind: str) -> None:
    """Both sets of kernels accept versions, options and quantisation, and find the shapes that the graph has."""
    for seed in range(12):
        graph = random_graph(kind, seed)
        data, inputs = write_tflite(graph), random_inputs(graph, seed)
        for resolver in RESOLVERS:
            outputs = LiteRT(data, resolver).run(*inputs)
            assert [o.shape for o in outputs] == [graph.tensors[i].shape for i in graph.outputs], (graph, resolver)


@pytest.mark.parametrize("name", NAMES)
def test_zoo_networks_read_back_equal_and_run(name: str, tmp_path: Path) -> None:
    graph = load_model(name)
    data = assert_round_trip(graph, tmp_path)
    results = [[LiteRT(data, r).run(*random_inputs(graph, seed))[0] for seed in (1, 2)] for r in RESOLVERS]
    for optimised, reference in zip(*results, strict=True):
        assert np.abs(optimised.astype(int) - reference).max() <= 6, "kernels differ in rounding only"
        assert len(np.unique(reference)) >= 5
        assert np.mean(reference == 127) < 0.05
    assert (results[1][0] != results[1][1]).any(), "the output depends on the input"


@pytest.mark.parametrize("name", ["ds-cnn", "cifar10-arm", "figure-1", "mobilenet-v2-w0.35-r032"])
def test_litert_computes_what_the_graph_says(name: str) -> None:
    """Each operator against an independent one in float64, which rounds once: at most one step apart, mostly none."""
    graph = load_model(name)
    runtime = LiteRT(write_tflite(graph), keep=True)
    runtime.run(*random_inputs(graph, 1))
    activations = {i for op in graph.operators for i in op.outputs} | {*graph.inputs}
    values = {i: runtime.tensor(i) for i in activations}
    for op in graph.operators:
        error = np.abs(int8_reference.output(graph, op, values).astype(int) - values[op.outputs[0]])
        assert error.max() <= 1 and error.mean() < 0.1, f"{op.index} {op.type}: {error.max()}, {error.mean()}"


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
    (one_operator("GATHER", [activation((1, 8))], [activation((1, 8))]), "operators mcusim does not know: GATHER"),
    (one_operator("UNKNOWN:X", [activation((1, 8))], [activation((1, 8))]), "does not know: UNKNOWN:X"),
    (changed(CONV, 0, dtype="string"), "tensor 0 'activation_0' is of type string"),
    (changed(CONV, 0, dtype="int16"), "operator 0 CONV_2D: 'activation_0' is int16; int8 and uint8 are supported"),
    (changed(CONV, 3, shape=(1, 6, 4, 6)), r"output shape should be \[1, 6, 4, 5\]"),
    (changed(CONV, 1, data=np.zeros((5, 3, 3, 7), np.int8)), r"is int8\[5, 3, 3, 8\], its values are int8\[5, 3, 3, 7"),
    (changed(CONV, 1, data=np.zeros((5, 3, 3, 8), np.int16)), "its values are int16"),
    (changed(CONV, 1, quantization=Quantization((1.0,) * 5, (0,) * 5, 3)), "5 scales do not fit axis 3"),
    (changed(CONV, 1, quantization=Quantization((1.0,) * 5, (0,) * 4)), "has 5 scales and 4 zero points"),
    (changed(CONV, 1, quantization=Quantization((), ())), "has 0 scales"),
    (changed(CONV, 0, quantization=Quantization((float("inf"),), (0,))), "a scale is negative or not a number"),
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


def test_a_wrong_quantized_dimension_is_mended(tmp_path: Path) -> None:
    """LiteRT refuses the file that ships with TFLM: its biases name axis 3. Written anew it runs."""
    graph = load_model(shared_model("person_detect.tflite"))
    (scores,) = LiteRT(assert_round_trip(graph, tmp_path)).run(*random_inputs(graph, 3))
    assert scores.shape == (1, 2) and abs(int(scores.astype(int).sum())) <= 1, "two probabilities, zero point -128"


@pytest.mark.parametrize(
    "name", ["kws_ref_model.tflite", "vww_96_int8.tflite", "swiftnet_vwwc19_uint8.tflite", "ad01_int8.tflite"]
)
def test_real_models_written_anew_compute_the_same(name: str, tmp_path: Path) -> None:
    path = shared_model(name)
    graph = load_model(path)
    data = assert_round_trip(replace(graph, name=path.stem), tmp_path)
    (before,), (after,) = (LiteRT(d).run(*random_inputs(graph, 3)) for d in (path.read_bytes(), data))
    assert np.array_equal(before, after)


def test_export_writes_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, report = tmp_path / "x.tflite", tmp_path / "x.json"
    assert main(["export", "ds-cnn", "-o", str(out), "--json", str(report)]) == 0
    text, row = capsys.readouterr().out, json.loads(report.read_text(encoding="utf-8"))
    data = out.read_bytes()
    assert row["sha256"] == load_model(out).sha256 == hashlib.sha256(data).hexdigest()
    assert (row["model"], row["file_bytes"], row["macs"]) == ("ds-cnn", len(data), 2_656_768)
    assert row["operators"]["CONV_2D"] == 5 and row["random_weights"] is True
    for part in (f"{len(data):,} B", "2,656,768", "DEPTHWISE_CONV_2D", "random weights"):
        assert part in text
    assert max(map(len, text.replace(str(out), "").splitlines())) <= 80
    assert main(["inspect", str(out)]) == 0
    assert "random weights" in capsys.readouterr().out


def test_export_does_not_overwrite(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "x.tflite"
    out.write_bytes(b"mine")
    assert main(["export", "ds-cnn", "-o", str(out)]) == 2
    assert "--force overwrites it" in capsys.readouterr().err
    assert out.read_bytes() == b"mine"
    assert main(["export", "ds-cnn", "-o", str(out), "--force"]) == 0
    first = out.read_bytes()
    assert main(["export", str(out), "-o", str(out), "--force"]) == 0
    assert load_model(out).random_weights
    renamed = out.read_bytes()
    assert renamed != first and renamed.count(b"x, written by mcusim") == 1
    assert_equal(load_model(out), load_model("ds-cnn"))


def test_export_to_standard_output(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    report = tmp_path / "x.json"
    assert main(["export", "figure-1", "-o", "-", "--json", str(report)]) == 0
    captured = capfdbinary.readouterr()
    assert captured.out == write_tflite(load_model("figure-1")) and captured.err == b""
    assert json.loads(report.read_text(encoding="utf-8"))["file"] == "-"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["ds-cnn"], "--output"),
        (["no-such", "-o", "x.tflite"], "no-such"),
        (["ds-cnn", "-o", "no/folder/x.tflite"], "there is no directory"),
        (["ds-cnn", "-o", "."], "it is a directory"),
        (["ds-cnn", "-o", "-", "--json", "-"], "both want standard output"),
        (["ds-cnn", "-o", "x", "--json", "x"], "named for two outputs"),
    ],
)
def test_export_refuses(
    arguments: list[str], said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments]) == 2
    captured = capsys.readouterr()
    assert said in captured.err and captured.err.count("\n") == 1 and captured.out == ""
    assert list(tmp_path.iterdir()) == []


def test_export_does_not_fill_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["export", "ds-cnn", "-o", "-"]) == 2
    assert "no text for a terminal" in capsys.readouterr().err

"""Written .tflite files run by LiteRT; ``mcusim export``."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.model import Graph, load_model, zoo_names
from mcusim.model.operators import OPERATORS
from mcusim.model.tflite.tflite_writer import write_tflite
from tests.support.cases import few, sample_size
from tests.support.graphs import int8_reference
from tests.support.graphs.litert import RESOLVERS, LiteRT
from tests.support.graphs.random_graphs import random_graph
from tests.support.graphs.round_trip import assert_equal, assert_round_trip
from tests.support.graphs.small_graphs import activation, one_operator
from tests.support.graphs.tflite_writer import write_tflite as write_unchecked
from tests.support.kernels.kernel_cases import inputs_for
from tests.support.paths import shared_model

KINDS = sorted(kind for kind, spec in OPERATORS.items() if not spec.traits.stateful)
NAMES = sorted(zoo_names().values())


def random_inputs(graph: Graph, seed: int) -> list[np.ndarray[Any, Any]]:
    rng = np.random.default_rng(seed)
    tensors = [graph.tensors[i] for i in graph.inputs]
    return [rng.integers(*_range(t.dtype), t.shape, t.dtype, endpoint=True) for t in tensors]


def _range(dtype: str) -> tuple[int, int]:
    return np.iinfo(dtype).min, np.iinfo(dtype).max


@few(20)
@pytest.mark.parametrize("kind", KINDS)
def test_litert_runs_every_operator(kind: str) -> None:
    """Both sets of kernels accept versions, options and quantisation, and find the shapes that the graph has."""
    for seed in range(sample_size(12, 4)):
        graph = random_graph(kind, seed)
        data, inputs = write_tflite(graph), inputs_for(graph, seed)
        for resolver in RESOLVERS:
            outputs = LiteRT(data, resolver).run(*inputs)
            assert [o.shape for o in outputs] == [graph.tensors[i].shape for i in graph.outputs], (graph, resolver)


@few(3)
@pytest.mark.parametrize("name", NAMES)
def test_zoo_networks_read_back_equal_and_run(name: str, tmp_path: Path) -> None:
    graph = load_model(name)
    data = assert_round_trip(graph, tmp_path)
    results = [[LiteRT(data, r).run(*random_inputs(graph, seed))[0] for seed in (1, 2)] for r in RESOLVERS]
    for optimised, reference in zip(*results, strict=True):
        assert np.abs(optimised.astype(int) - reference).max() <= 6, "kernels differ in rounding only"
        assert len(np.unique(reference)) >= min(5, reference.size)
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


def test_a_wrong_quantized_dimension_is_corrected(tmp_path: Path) -> None:
    """LiteRT refuses the file that ships with TFLM: its biases name axis 3. Written again it runs."""
    graph = load_model(shared_model("person_detect.tflite"))
    (scores,) = LiteRT(assert_round_trip(graph, tmp_path)).run(*random_inputs(graph, 3))
    assert scores.shape == (1, 2) and abs(int(scores.astype(int).sum())) <= 1, "two probabilities, zero point -128"


@pytest.mark.parametrize(
    "name",
    [
        "kws_ref_model.tflite", "vww_96_int8.tflite", "pretrainedResnet_quant.tflite", "ad01_int8.tflite",
        "hello_world_int8.tflite", "swiftnet_vwwc19_uint8.tflite",
    ],
)  # fmt: skip
def test_real_models_written_again_compute_the_same(name: str, tmp_path: Path) -> None:
    path = shared_model(name)
    graph = load_model(path)
    data = assert_round_trip(graph, tmp_path)
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
    ("arguments", "message"),
    [
        (["no-such", "-o", "x.tflite"], "no-such"),
        (["ds-cnn", "-o", "no/folder/x.tflite"], "there is no directory"),
        (["ds-cnn", "-o", "."], "it is a directory"),
        (["ds-cnn", "-o", "-", "--json", "-"], "both want standard output"),
        (["ds-cnn", "-o", "x", "--json", "x"], "named for two outputs"),
    ],
)
def test_export_refuses(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["export", *arguments]) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1 and captured.out == ""
    assert list(tmp_path.iterdir()) == []


def test_export_does_not_fill_a_terminal(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["export", "ds-cnn", "-o", "-"]) == 2
    assert "not text for a terminal" in capsys.readouterr().err


def test_export_names_operators_it_does_not_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "x.tflite", tmp_path / "y.tflite"
    path.write_bytes(write_unchecked(one_operator("ONE_HOT", [activation((1, 8))], [activation((1, 8))])))
    assert main(["export", str(path), "-o", str(out)]) == 2
    assert capsys.readouterr().err == "error: cannot write x: operators mcusim does not know: ONE_HOT\n"
    assert not out.exists()

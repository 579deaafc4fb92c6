"""The zoo: published sizes and MACs, names, determinism, and int8 values that use their range without saturating."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from mcusim.errors import ModelError
from mcusim.model import activation_inputs, geometry, graph_macs, inspect, load_model, zoo_names
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import check_shapes
from mcusim.model.zoo import build
from mcusim.model.zoo.names import parse_name
from mcusim.report.inspection_tables import zoo_json
from tests.support.cases import few
from tests.support.graphs import int8_reference

# millions of MACs as printed, with the digits that are given
MACS = [
    ("proxyless-w0.25-r160", "16.16"), ("proxyless-w0.25-r192", "23.13"), ("proxyless-w0.40-r080", "10.91"),
    ("proxyless-w0.85-r064", "21.51"), ("proxyless-w0.30-r144", "21.439656"), ("mnasnet-w1.00-r080", "48.23"),
    ("mnasnet-w1.00-r096", "58.79"), ("mnasnet-w1.00-r128", "103.53"), ("mbv3-w0.40-r096", "8.87"),
    ("mbv3-w0.50-r112", "16.28"), ("mbv3-w0.75-r128", "43.57"), ("mbv3-w1.00-r160", "111.31"), ("cifar10-arm", "12.30"),
    ("mcunet-f469", "67.3"), ("mcunet-f746", "81.8"),
    ("ds-cnn", "2.657"), ("mobilenet-v1-w1.00-r224", "569"), ("mobilenet-v1-w0.25-r224", "41"),
]  # fmt: skip
# bytes of the .tflite files; all but the first were printed in MiB with two decimals
FILES = [
    ("proxyless-w0.30-r144", 929_784, 0.02), ("proxyless-w0.25-r160", 0.72 * 2**20, 0.03),
    ("proxyless-w0.40-r080", 1.27 * 2**20, 0.03), ("proxyless-w0.85-r064", 3.48 * 2**20, 0.03),
    ("mnasnet-w1.00-r096", 4.72 * 2**20, 0.03),
    ("mcunet-f469", 0.96 * 2**20, 0.03), ("mcunet-f746", 0.97 * 2**20, 0.03),
    ("mbv3-w0.40-r096", 1.13 * 2**20, 0.03),
]  # fmt: skip
EVERY_FAMILY = [*zoo_names().values(), "proxyless-w0.85-r064", "mnasnet-w0.50-r016"]
SMALL = [
    "proxyless-w0.25-r064", "mnasnet-w0.35-r064", "mbv3-w0.35-r064", "mobilenet-v1-w0.25-r064",
    "mobilenet-v2-w0.35-r064", "ds-cnn", "cifar10-arm", "small-cifar", "figure-1",
]  # fmt: skip


@few(3)
@pytest.mark.parametrize(("name", "millions"), MACS)
def test_macs_as_published(name: str, millions: str) -> None:
    digits = len(millions.partition(".")[2])
    assert f"{graph_macs(load_model(name)) / 1e6:.{digits}f}" == millions


def test_proxyless_has_the_published_operators_and_weights() -> None:
    graph = load_model("proxyless-w0.30-r144")
    assert Counter(op.type for op in graph.operators) == {
        "CONV_2D": 42, "DEPTHWISE_CONV_2D": 20, "ADD": 13, "AVERAGE_POOL_2D": 1, "RESHAPE": 1,
    }  # fmt: skip
    weights = sum(t.elements for t in graph.tensors if t.constant and t.dtype == "int8")
    assert round(weights / 1e6, 3) == 0.713


def test_mnasnet_has_the_published_weights() -> None:
    weights = sum(t.elements for t in load_model("mnasnet-w1.00-r128").tensors if t.constant and t.dtype == "int8")
    assert round(weights / 1e6, 2) == 4.34


@few(3)
@pytest.mark.parametrize(("name", "published", "tolerance"), FILES)
def test_estimated_file_size(name: str, published: float, tolerance: float) -> None:
    assert load_model(name).file_bytes == pytest.approx(published, rel=tolerance)


def test_figure_1_has_the_published_tensors_and_edges() -> None:
    graph = load_model("figure-1")
    assert graph.tensors[graph.inputs[0]].bytes == 1568
    assert [graph.tensors[op.outputs[0]].bytes for op in graph.operators] == [3136, 1568, 512, 512, 256, 256, 512]
    producer = {op.outputs[0]: op.index + 1 for op in graph.operators}
    reads = [[producer.get(t.index, 0) for t in activation_inputs(graph, op)] for op in graph.operators]
    assert reads == [[0], [1], [2], [1], [3], [4], [5, 6]]
    assert [op.type for op in graph.operators] == ["CONV_2D"] * 6 + ["CONCATENATION"]


@few(8)
@pytest.mark.parametrize("name", EVERY_FAMILY)
def test_graphs_keep_the_rules_of_the_reader(name: str) -> None:
    graph = load_model(name)
    assert graph.random_weights and graph.name == name
    ready = set(graph.inputs)
    for op in graph.operators:
        assert {t.index for t in activation_inputs(graph, op)} <= ready
        inputs, outputs = [graph.tensors[i] for i in op.inputs], [graph.tensors[i] for i in op.outputs]
        check_shapes(OPERATORS[op.type].rule, inputs, op.options, [t.shape for t in outputs])
        assert geometry(graph, op).out_bytes == outputs[0].bytes
        ready.update(op.outputs)
    assert ready.issuperset(graph.outputs)
    assert all(t.quantization is not None for t in graph.tensors if t.dtype == "int8")


@pytest.mark.parametrize("name", ["ds-cnn", "proxyless-w0.25-r064"])
def test_the_same_name_gives_the_same_network(name: str) -> None:
    parsed = parse_name(name)
    assert parsed is not None
    first, second = build.__wrapped__(parsed), build.__wrapped__(parsed)
    assert first == second
    for one, two in zip(first.tensors, second.tensors, strict=True):
        assert (one.data is None and two.data is None) or np.array_equal(one.data, two.data)


def test_names_are_canonical_and_networks_differ() -> None:
    assert load_model("proxyless-w0.3-r64") is load_model("proxyless-w0.30-r064")
    names = ("ds-cnn", "cifar10-arm", "proxyless-w0.30-r064", "proxyless-w0.30-r080", "proxyless-w0.35-r064")
    assert len({load_model(n).sha256 for n in names}) == len(names)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("proxyless", "takes a width and a resolution, proxyless-w<width>-r<resolution>, for example proxyless-w0.25"),
        ("proxyless-w0.25", "takes a width and a resolution"),
        ("proxyless-w0.25-r160x", "takes a width and a resolution"),
        ("proxyless-w-1-r160", "takes a width and a resolution"),
        ("mnasnet-w0.01-r080", "width 0.01 is not within 0.05 to 2"),
        ("mbv3-w9-r080", "width 9 is not within 0.05 to 2"),
        ("mobilenet-v1-w1.00-r4", "resolution 4 is not within 16 to 512"),
        ("mobilenet-v2-w1.00-r99999", "resolution 99999 is not within 16 to 512"),
        ("ds-cnn-w0.5-r032", "ds-cnn has neither width nor resolution"),
        ("mobilenet-v3", "neither a file nor a zoo network"),
    ],
)
def test_bad_names_say_what_is_wrong(name: str, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        load_model(name)


def test_a_file_goes_before_the_zoo_and_a_folder_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds-cnn").mkdir()
    assert load_model("ds-cnn").random_weights
    Path("proxyless-w0.5").write_bytes(b"")
    with pytest.raises(ModelError, match="is empty"):
        load_model("proxyless-w0.5")


def test_every_pattern_has_an_example_that_loads() -> None:
    """And what ``mcusim models`` says of it without its scales is what it has."""
    listed = {row["name"]: row for row in zoo_json()["models"]}
    for pattern, example in zoo_names().items():
        assert example.startswith(pattern.split("-w*")[0])
        data = inspect(load_model(example))
        assert {"name": pattern, "example": example} | {
            "operators": len(data["operators"]), "macs": data["macs"], "weight_bytes": data["weight_bytes"],
        } == listed[pattern]  # fmt: skip


@pytest.mark.parametrize("name", SMALL)
def test_values_use_their_range_and_stay_off_the_rails(name: str) -> None:
    """At the rails are 127, and -128 unless the zero point is -128: there -128 is an exact 0, as after a ReLU."""
    graph = load_model(name)
    values = int8_reference.run(graph, seed=1)
    for index, found in values.items():
        tensor = graph.tensors[index]
        zero = int8_reference.parameters(tensor)[1]
        rails = np.count_nonzero(found == 127) + (np.count_nonzero(found == -128) if zero != -128 else 0)
        assert rails < 0.05 * found.size, f"{tensor.name}: {rails} of {found.size} values saturate"
        least = 10 if "softmax" in tensor.name else 20  # of 256: the likeliest of 1000 classes
        assert np.abs(found.astype(int) - zero).max() >= least, f"{tensor.name} hardly uses its range"

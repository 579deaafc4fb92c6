"""MIT's networks: published MACs, tables, and operator by operator the public ``.tflite`` files."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from mcusim.errors import ModelError
from mcusim.model import geometry, graph_macs, load_model
from mcusim.model.graph import Graph
from tests.support.graphs import int8_reference
from tests.support.paths import shared_model

# millions of MACs as printed with their accuracies, and the one printed with the peaks of vww1
WINDOWS_AND_ADD = ("CONV_2D", "DEPTHWISE_CONV_2D", "ADD")
MACS = [
    ("mcunet-vww1", "11.58"), ("mcunet-in0", "6.4"), ("mcunet-in1", "12.8"), ("mcunet-in2", "67.3"),
    ("mcunet-in3", "81.8"), ("mcunet-in4", "125.9"), ("mbv2-mit-w0.35-r144", "23.5"), ("mbv2-mit-w0.30-r080", "7.3"),
    ("proxyless-mit-w0.30-r176", "38.3"), ("proxyless-mit-w0.25-r112", "10.7"), ("small-cifar", "12.3"),
]  # fmt: skip
# operators, bytes of filters, output channels of all convolutions, bytes of the file: those of the public files
FILES = [
    ("mcunet-vww0", 94, 358_744, 5_114, 543_248), ("mcunet-vww1", 101, 420_520, 6_114, 635_968),
    ("mcunet-vww2", 150, 621_032, 9_114, 941_120), ("mcunet-in0", 101, 735_176, 7_832, 998_728),
    ("mcunet-in1", 94, 623_216, 7_008, 860_752), ("mcunet-in2", 122, 712_904, 8_744, 1_010_840),
    ("mcunet-in3", 122, 721_032, 8_688, 1_018_208), ("mcunet-in4", 115, 1_710_232, 11_704, 2_088_096),
    ("proxyless-mit-w0.30-r176", 138, 741_680, 6_800, 991_864), ("mbv2-mit-w0.35-r144", 117, 736_864, 7_208, 989_616),
]  # fmt: skip


@cache
def network(name: str) -> Graph:
    return load_model(name)


@pytest.mark.parametrize(("name", "millions"), MACS)
def test_macs_as_published(name: str, millions: str) -> None:
    digits = len(millions.partition(".")[2])
    assert f"{graph_macs(network(name)) / 1e6:.{digits}f}" == millions


@pytest.mark.parametrize(("name", "operators", "filters", "channels", "file_bytes"), FILES)
def test_sizes_of_the_public_files(name: str, operators: int, filters: int, channels: int, file_bytes: int) -> None:
    graph = network(name)
    assert len(graph.operators) == operators
    assert sum(t.bytes for t in graph.tensors if t.constant and t.dtype == "int8") == filters
    assert sum(geometry(graph, op).out_c for op in graph.operators if op.traits.parametric) == channels
    assert graph.file_bytes == pytest.approx(file_bytes, rel=0.002)


def test_rounding_and_heads() -> None:
    """The first convolution, the last wide one and the classifier's input, in channels."""
    found = {}
    for name in ("proxyless-mit-w0.30-r176", "proxyless-mit-w0.25-r112", "mbv2-mit-w0.35-r144", "mbv2-mit-w0.30-r080"):
        graph = network(name)
        convolutions = [geometry(graph, op) for op in graph.operators if op.type == "CONV_2D"]
        found[name] = (convolutions[0].out_c, convolutions[-2].out_c, convolutions[-1].in_c)
    assert list(found.values()) == [(16, 384, 384), (8, 320, 320), (16, 448, 448), (16, 384, 384)]
    assert load_model("proxyless-w0.30-r176").sha256 != load_model("proxyless-mit-w0.30-r176").sha256


@pytest.mark.parametrize("name", [name for name, *_ in FILES])
def test_every_convolution_but_the_classifier_has_its_pad(name: str) -> None:
    graph = network(name)
    windows = [op for op in graph.operators if op.traits.parametric]
    assert {op.options["padding"] for op in windows} == {"VALID"}
    before = [graph.operators[op.index - 1] for op in windows]
    assert [op.type for op in before] == ["PAD"] * (len(windows) - 1) + ["AVERAGE_POOL_2D"]
    assert all(pad.outputs[0] == op.inputs[0] for pad, op in zip(before, windows, strict=True))


def operators(graph: Graph) -> list[tuple[Any, ...]]:
    """Each operator's type, inputs (what computed them, or shape and type), output shape, options and PAD table."""
    producer: dict[int, int] = {}
    rows = []
    for op in graph.operators:
        tensors = [graph.tensors[i] for i in op.inputs]
        inputs = [(t.shape, t.dtype) if t.constant else producer.get(t.index, -1) for t in tensors]
        table = tensors[1].data.tolist() if op.type == "PAD" and tensors[1].data is not None else None
        options = {key: value for key, value in op.options.items() if key != "pot_scale_int16"}
        rows.append((op.type, inputs, graph.tensors[op.outputs[0]].shape, options, table))
        producer[op.outputs[0]] = op.index
    return rows


@pytest.mark.parametrize(
    ("name", "file"),
    [("mcunet-in3", "mcunet_in3.tflite"), ("proxyless-mit-w0.30-r176", "proxyless_w0.3_r176.tflite")],
)
def test_operators_are_those_of_the_file(name: str, file: str) -> None:
    assert operators(load_model(name)) == operators(load_model(str(shared_model(file))))


def test_vww1_is_that_of_the_pytorch_export() -> None:
    """TinyEngine's own file of it has its pool and classifier in other operators, and a PAD only where TFLite needs
    it."""
    stored, built = load_model(str(shared_model("mcunet_vww1.tflite"))), load_model("mcunet-vww1")
    rows = []
    for graph in (stored, built):
        found = [(op.type, geometry(graph, op)) for op in graph.operators if op.type in WINDOWS_AND_ADD]
        rows.append([(kind, g.kernel_h, g.stride_h, g.in_c, g.out_h, g.out_w, g.out_c) for kind, g in found])
    assert rows[0] == rows[1][:-1] and graph_macs(stored) == graph_macs(built)
    assert rows[1][-1][-1] == 2


@pytest.mark.parametrize("name", ["mcunet-vww0", "mcunet-in0"])
def test_calibrated_with_their_pads(name: str) -> None:
    """A PAD keeps its input's scale, and few values of a seeded run saturate."""
    graph = network(name)
    for op in graph.operators:
        if op.type == "PAD":
            assert graph.tensors[op.inputs[0]].quantization == graph.tensors[op.outputs[0]].quantization
    values = int8_reference.run(graph, seed=1)
    for index, found in values.items():
        assert np.count_nonzero(found == 127) < 0.05 * found.size, graph.tensors[index].name


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mcunet-in3-pad", "mcunet-in3 has its PADs already"),
        ("proxyless-mit-w0.30-r176-pad", "has its PADs already"),
        ("proxyless-mit", "proxyless-mit-w<width>-r<resolution>, for example proxyless-mit-w0.30-r176"),
        ("mcunet-in3-w0.5-r096", "has neither width nor resolution"),
    ],
)
def test_bad_names(name: str, text: str) -> None:
    with pytest.raises(ModelError, match=text):
        load_model(name)

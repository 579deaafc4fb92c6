"""Files that nothing here runs: inspect and memory take them, as TensorFlow Lite Micro plans them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import mcusim
from mcusim.commands.app import main
from mcusim.errors import ModelError
from mcusim.model import Graph, Operator, Quantization, Tensor, load_model
from mcusim.model.tflite.custom_options import custom_options
from mcusim.runtime.tflm import scratch_bytes
from tests.support.errors import one_error
from tests.support.graphs.open_batch import Open
from tests.support.graphs.small_graphs import WINDOW, activation, convolution, one_operator
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.graphs.tflm import TFLM
from tests.support.graphs.tflm_graphs import random_network

MAP = (1, 6, 4, 8)


def in_floats(graph: Graph) -> Graph:
    """The same network of float32."""

    def kind(tensor: Tensor) -> Tensor:
        if tensor.dtype != "int8":
            return tensor
        data = None if tensor.data is None else tensor.data.astype(np.float32)
        return replace(tensor, dtype="float32", quantization=None, data=data)

    return replace(graph, tensors=tuple(map(kind, graph.tensors)))


def scaled(graph: Graph) -> Graph:
    """A convolution with a scale for each filter."""
    count = graph.tensors[1].shape[0]
    scales = Quantization((0.1,) * count, (0,) * count)
    return replace(
        graph, tensors=(graph.tensors[0], replace(graph.tensors[1], quantization=scales), *graph.tensors[2:])
    )


def packed(graph: Graph) -> Graph:
    """Of an int8 convolution the same with a filter of int4."""
    graph = scaled(graph)
    weights = graph.tensors[1]
    data = np.zeros((weights.elements + 1) // 2, np.uint8)
    tensors = [*graph.tensors]
    tensors[1] = replace(weights, dtype="int4", data=data, stored_bytes=data.nbytes)
    return replace(graph, tensors=tuple(tensors))


CASES: dict[str, tuple[Graph, str, int]] = {  # by name the graph, what `mcusim run` says, and the MACs that are known
    "ABS": (one_operator("ABS", [activation(MAP)], [activation(MAP)]), "does not know: ABS", 0),
    "float": (
        in_floats(one_operator("FLOOR_DIV", [activation(MAP), activation(MAP)], [activation(MAP)])),
        "is float32; int32 is supported",
        0,
    ),
}
_SCRATCH_UNKNOWN = ("ABS",)  # of CMSIS-NN's kernels


def test_a_filter_of_int4_is_unpacked_in_ram(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(packed(convolution(MAP, (5, 3, 3, 8), (1, 6, 4, 5)))))
    plan = mcusim.plan_memory(path, machine="nucleo-g474re")
    assert plan.in_ram is not None and plan.tflm_head == 192 + 128 + 368  # tensors and 5 x 3 x 3 x 8 B, each aligned
    assert plan.in_ram.parts["scratch"] == 656  # 360, and two columns of 8 x 3 x 3 at 16 bits, a multiple of 16
    replayed = mcusim.simulate(path, "stm32f469i-disco", "internal", "cmsis-gcc12")
    emulated = mcusim.simulate(path, "stm32f469i-disco", "internal", "cmsis", fidelity="emulate")
    assert replayed.run.cycles == pytest.approx(emulated.run.cycles, rel=0.01)
    assert replayed.verdict is not None and replayed.verdict.parts == plan.in_ram.parts


@pytest.mark.parametrize("name", CASES)
def test_memory_of_what_does_not_run(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph, reason, macs = CASES[name]
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    with pytest.raises(ModelError, match=reason):
        load_model(path)
    plan = mcusim.plan_memory(path)
    assert plan.tflm_head == TFLM(path.read_bytes()).head
    assert main(["inspect", str(path), "--machine", "nucleo-g474re"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80 and "UNKNOWN" not in text and f" {macs:,}" in text
    assert main(["memory", str(path), "--machine", "nucleo-g474re", "--max-sram", "8 KiB"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    left_out = f"scratch buffers of {name}, " if name in _SCRATCH_UNKNOWN else ""
    assert text.startswith("fits: ") and f"not counted: {left_out}the stack" in text
    refused = load_model(path, strict=False)
    with pytest.raises(ModelError):
        mcusim.simulate(refused, "nucleo-g474re", "internal")


@pytest.mark.parametrize("seed", range(4))
def test_the_head_of_random_networks_of_floats(seed: int, tmp_path: Path) -> None:
    data = write_tflite(in_floats(random_network(25, seed)))
    path = tmp_path / "model.tflite"
    path.write_bytes(data)
    assert mcusim.plan_memory(path).tflm_head == TFLM(data).head


def test_a_batch_that_is_left_open_is_named(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    reshape = one_operator("RESHAPE", [activation((1, 8, 4))], [activation((1, 4))])
    path.write_bytes(Open(reshape, 1, 3, 0).write())
    with pytest.raises(
        ModelError, match=r"leaves sizes open, 'activation_0' \[-1, 8, 4\]: `mcusim export .* --batch 1 -o FIXED`"
    ):
        load_model(path)
    path.write_bytes(Open(one_operator("RELU", [activation(MAP)], [activation(MAP)]), 1, 3, 0).write())
    assert load_model(path).tensors[0].shape == MAP


def test_what_no_option_helps_with_comes_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An unknown operator, behind one of floats that no kernel takes."""
    half = replace(activation(MAP, "float16"), quantization=None)
    first = one_operator("RELU", [half], [half])
    end = replace(first.tensors[1], index=2, name="end")
    operators = (*first.operators, Operator(1, "ABS", (1,), (2,), {}))
    graph = replace(first, tensors=(*first.tensors, end), operators=operators, outputs=(2,))
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(graph))
    for options in ([], ["--allow-unknown"]):
        assert main(["run", str(path), *options]) == 2
        error = one_error(capsys)
        assert "operator 0 RELU: 'activation_0' is float16; int8, uint8, int16 and float32 are supported" in error
        assert "convert the model with float32, or with full-integer post-training quantisation" in error
        assert "`mcusim memory` plans its memory all the same" in error and "allow-unknown" not in error
    warnings = load_model(path, strict=False).warnings
    assert [warning.partition(":")[0] for warning in warnings] == [
        "mcusim run refuses this model",
        "operators mcusim does not know count as opaque, inputs and outputs live, nothing else known",
    ]


def test_tensors_of_kinds_that_no_kernel_takes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.tflite"
    for kind, size in (("uint64", 8), ("complex64", 8), ("string", 0)):
        wide = [replace(activation(MAP, kind), quantization=None)] * 2
        path.write_bytes(write_tflite(one_operator("SQUARE", wide[:1], wide[1:])))
        plan = mcusim.plan_memory(path)
        assert plan.graph.tensors[0].bytes == size * 192
        path.write_bytes(write_tflite(one_operator("RELU", wide[:1], wide[1:])))
        assert main(["run", str(path)]) == 2
        assert f"operator 0 RELU: 'activation_0' is {kind}, which no kernel here takes" in one_error(capsys)


def test_scratch_buffers_by_custom_options() -> None:
    from flatbuffers import flexbuffers

    builder = flexbuffers.Builder()
    with builder.Map():
        builder.Key("fft_length")
        builder.Int(512)
        builder.Key("name")
        builder.String("spectrum")
    assert custom_options(bytes(builder.Finish())) == {"fft_length": 512, "name": "spectrum"}
    assert custom_options(b"") == custom_options(b"\xff\x00\x01") == custom_options(bytes(70_000)) == {}
    source, target = (replace(activation((1, n), "int16"), quantization=None) for n in (512, 514))
    graph = one_operator("UNKNOWN:CUSTOM(SignalRfft)", [source], [target], fft_length=512)
    assert scratch_bytes(graph, graph.operators[0]) == (("spectrum", 1024),)
    boxes, scores, anchors = (activation((1, 90, n)) for n in (4, 3, 4))
    out = activation((1, 10))
    kind = "UNKNOWN:CUSTOM(TFLite_Detection_PostProcess)"
    detections = one_operator(kind, [boxes, scores, anchors], [out], max_detections=10, num_classes=2)
    sizes = dict(scratch_bytes(detections, detections.operators[0]))
    assert (sizes["boxes"], sizes["scores"], sizes["selected"], len(sizes)) == (1440, 1080, 3600, 11)
    with_none = one_operator("UNKNOWN:CUSTOM(mine)", [activation(MAP)], [activation(MAP)], **WINDOW)
    assert mcusim.plan_memory(with_none).tflm_head is None and scratch_bytes(with_none, with_none.operators[0]) == ()


def test_a_tensor_that_nothing_makes_is_there_from_the_start(tmp_path: Path) -> None:
    """As an accelerator's scratch memory."""
    graph = one_operator("CUSTOM_NPU", [activation(MAP), activation((1, 50))], [activation(MAP)])
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(replace(graph, inputs=(0,))))
    with pytest.raises(ModelError, match="reads tensor 1 'activation_1' that nothing produces"):
        load_model(path, allow_unknown=True)
    assert mcusim.plan_memory(path).after.timeline.peak == 2 * 192 + 50

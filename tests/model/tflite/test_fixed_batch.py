"""A batch that a file leaves open: the shapes of LiteRT once its inputs have that size, and each image's values."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.errors import ModelError, UnsupportedError, UsageError
from mcusim.model import load_model
from mcusim.model.tflite.fixed_batch import with_batch
from mcusim.model.tflite.tflite_reader import graph_of
from mcusim.run_config.input_tensors import random_inputs
from tests.support.errors import one_error
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.open_batch import Open
from tests.support.graphs.small_graphs import activation, constant, one_operator
from tests.support.graphs.tflm import TFLM
from tests.support.kernels.kernel_guest import litert
from tests.support.paths import shared_model

RESHAPE = one_operator("RESHAPE", [activation((1, 8, 4)), constant([-1, 4])], [activation((8, 4))])


@pytest.mark.parametrize("name", ["ad01_int8", "kws_ref_model", "pretrainedResnet_quant"])
def test_three_images(name: str) -> None:
    path = shared_model(f"{name}.tflite")
    data = path.read_bytes()
    fixed = with_batch(data, path, 3)
    graph = graph_of(fixed, path)
    kinds = litert().OpResolverType.BUILTIN_REF
    interpreter = litert().Interpreter(
        model_content=data, experimental_preserve_all_tensors=True, experimental_op_resolver_type=kinds
    )
    inputs, other = random_inputs(graph), LiteRT(data)
    for t, values in zip(graph.inputs, inputs, strict=True):
        interpreter.resize_tensor_input(t, values.shape)
    interpreter.allocate_tensors()
    for t, values in zip(graph.inputs, inputs, strict=True):
        interpreter.set_tensor(t, values)
    interpreter.invoke()
    computed = [graph.tensors[t] for op in graph.operators for t in op.outputs]
    assert len(computed) > 5 and all(t.shape == interpreter.get_tensor(t.index).shape for t in computed)
    for whole, alone in ((LiteRT(fixed), other), (TFLM(fixed), TFLM(data))):
        images = [alone.run(*(x[i : i + 1] for x in inputs))[0] for i in range(3)]
        assert whole.run(*inputs)[0].tobytes() == np.concatenate(images).tobytes()
    assert with_batch(data, path, 1) != data and len(fixed) == len(data)


def test_a_file_that_nothing_runs_until_its_batch_is_fixed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = tmp_path / "open.tflite", tmp_path / "fixed.tflite"
    path.write_bytes(Open(RESHAPE, 1, 3, 0).write())
    assert main(["export", str(path), "--batch", "2", "-o", str(out), "--json", str(tmp_path / "x.json")]) == 0
    assert json.loads((tmp_path / "x.json").read_text())["operators"] == {"RESHAPE": 1}
    assert [tensor.shape for tensor in load_model(out).tensors] == [(2, 8, 4), (2,), (16, 4)]
    capsys.readouterr()
    assert main(["export", str(out), "--batch", "2", "-o", str(path), "--force"]) == 2
    assert "leaves the batch of no input open" in one_error(capsys)
    assert main(["export", "ds-cnn", "--batch", "2", "-o", str(out), "--force"]) == 2
    assert "ds-cnn is no .tflite file; networks of the zoo have a batch" in one_error(capsys)


@pytest.mark.parametrize(
    ("data", "batch", "error", "message"),
    [
        (Open(RESHAPE, 1, 3, 0), 0, UsageError, "--batch 0: must be 1 to 4,096"),
        (
            Open(one_operator("ABS2", [activation((1, 4))], [activation((1, 4))]), 1, 3, 0),
            2,
            UnsupportedError,
            "operator 0 CUSTOM\\(ABS2\\): mcusim does not know how the size of its output follows",
        ),
    ],
)
def test_refused(data: Open, batch: int, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        with_batch(data.write(), "open", batch)


def test_damaged_files_give_an_error_or_a_file() -> None:
    data, errors = Open(RESHAPE, 1, 3, 0).write(), 0
    for position in range(8, len(data), 3):
        broken = bytearray(data)
        broken[position] ^= 0x5A
        try:
            assert len(with_batch(bytes(broken), "damaged", 2)) == len(data)
        except (ModelError, UsageError) as error:
            errors += str(error).count("damaged")
    assert errors > 10

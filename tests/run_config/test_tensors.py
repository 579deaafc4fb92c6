"""Inputs of a network: random ones by a seed, arrays and files of the right type and shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from mcusim.errors import UsageError
from mcusim.model import load_model
from mcusim.run_config.input_tensors import model_inputs, random_inputs


def test_random_inputs_repeat_by_their_seed_and_reach_both_ends() -> None:
    graph = load_model("ds-cnn")
    (first,), (again,), (other,) = random_inputs(graph, 3), random_inputs(graph, 3), random_inputs(graph, 4)
    assert first.tobytes() == again.tobytes() != other.tobytes()
    assert (first.shape, first.dtype) == (graph.tensors[graph.inputs[0]].shape, np.int8)
    assert (first.min(), first.max()) == (-128, 127)
    assert model_inputs(graph, None)[0].tobytes() == random_inputs(graph)[0].tobytes()


@pytest.mark.parametrize("shape", [(1, 49, 10, 1), (49, 10, 1)])
def test_a_leading_one_may_be_missing(shape: tuple[int, ...], tmp_path: Path) -> None:
    values = np.arange(490).reshape(shape).astype("int8")
    path = tmp_path / "input.npy"
    np.save(path, values)
    for given in (values, path, [str(path)]):
        (found,) = model_inputs(load_model("ds-cnn"), given)
        assert found.tobytes() == values.tobytes()


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (np.zeros((1, 49, 10, 1), "uint8"), "is uint8; the model takes int8"),
        (np.zeros((1, 10, 49, 1), "int8"), "has shape 1x10x49x1"),
        ([np.zeros((1, 49, 10, 1), "int8")] * 2, "2 inputs given; ds-cnn takes 1"),
    ],
)
def test_what_the_network_does_not_take(given: object, rule: str) -> None:
    with pytest.raises(UsageError, match=rule):
        model_inputs(load_model("ds-cnn"), given)  # type: ignore[arg-type]

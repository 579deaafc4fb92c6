"""Damaged and hostile .tflite files: an error or a valid graph, soon and in little memory."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from mcusim.errors import ModelError
from mcusim.model import Quantization, geometry, load_model
from mcusim.model.tflite import flatbuffer
from mcusim.model.tflite import tflite_reader as reader
from tests.support.cases import only_with_all_cases, sample_size
from tests.support.graphs.small_graphs import activation, convolution, one_operator
from tests.support.graphs.tflite_damage import CORRUPTIONS
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.paths import shared_model

CORRUPTED = ("kws_ref_model.tflite", "pretrainedResnet_quant.tflite", "swiftnet_vwwc19_uint8.tflite")
VARIANTS = sample_size(200, 30)


def test_shared_bytes_do_not_multiply_the_work(tmp_path: Path) -> None:
    """Tensor entries that all point at one tensor with 5,000 scales ask for 10^8 numbers: refused at once."""
    many = replace(activation((1, 1, 1, 5_000)), quantization=Quantization((1.0,) * 5_000, (0,) * 5_000, 3))
    path = tmp_path / "aliases.tflite"
    path.write_bytes(write_tflite(one_operator("RELU", [many], [many]), aliases=19_000))
    with pytest.raises(ModelError, match="have more than 4,000,000 elements together"):
        load_model(path)


@only_with_all_cases
def test_many_small_tensors_load(tmp_path: Path) -> None:
    graph = one_operator("RELU", [activation((1, 8))], [activation((1, 8))])
    path = tmp_path / "wide.tflite"
    path.write_bytes(write_tflite(graph, aliases=19_000))
    assert len(load_model(path).tensors) == 19_002


def corrupt_and_load(name: str, seed: int, path: Path) -> str:
    """ "" when the variant is a valid graph, else the error's text."""
    data, rng = bytearray(shared_model(name).read_bytes()), random.Random(f"{name} {seed}")
    CORRUPTIONS[seed % len(CORRUPTIONS)](data, rng)
    path.write_bytes(data)
    try:
        graph = load_model(path)
        for op in graph.operators:
            geometry(graph, op)
        message = ""
    except ModelError as error:
        message = str(error)
    return message


@pytest.mark.parametrize("name", CORRUPTED)
def test_corrupted_files_give_an_error_or_a_graph(name: str, tmp_path: Path) -> None:
    path = tmp_path / "damaged.tflite"
    messages = [corrupt_and_load(name, seed, path) for seed in range(VARIANTS)]
    errors = [m for m in messages if m]
    assert len(errors) > VARIANTS // 4, "corruption that never hurts tests nothing"
    assert all(m.startswith(str(path)) and len(m) < 2_000 for m in errors)


def test_the_total_of_vector_elements_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(write_tflite(convolution((1, 6, 4, 8), (5, 3, 3, 8), (1, 6, 4, 5))))
    monkeypatch.setattr(flatbuffer, "MOST_ELEMENTS", 50)
    with pytest.raises(ModelError, match="more than 50 elements together"):
        load_model(path)
    monkeypatch.setattr(flatbuffer, "MOST_ELEMENTS", 4_000_000)
    monkeypatch.setattr(reader, "MOST_TENSORS", 3)
    with pytest.raises(ModelError, match="4 tensors; at most 3 are read"):
        load_model(path)

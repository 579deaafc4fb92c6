"""A graph written as a .tflite and read back must be equal."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from mcusim.model import Graph, load_model
from mcusim.model.tflite.tflite_writer import write_tflite


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

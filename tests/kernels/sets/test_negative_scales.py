"""Filters with negative scales: byte for byte what LiteRT's reference kernels give, in every kernel set."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mcusim.errors import ModelError
from mcusim.kernels.kernel_set import load_set
from mcusim.model import Graph, Quantization, load_model
from tests.support.cases import sample_size
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.kernels.kernel_cases import inputs_for, one_operator
from tests.support.kernels.kernel_guest import Guest, run_litert
from tests.support.kernels.wide_cases import wide

SEEDS = sample_size(24, 6)


@cache
def guest(name: str) -> Guest:
    return Guest(load_set(name), "cortex-m7")


def negated(graph: Graph, seed: int) -> Graph:
    """``graph`` with about half of its filter's scales negative, and its bias's with them."""
    _, filters, bias = graph.operators[0].inputs
    found = graph.tensors[filters].quantization
    assert found is not None
    signs = np.random.default_rng(seed).choice([-1.0, 1.0], len(found.scales))
    signs[0] = -1.0
    tensors = list(graph.tensors)
    for index in (filters, bias):
        old = tensors[index].quantization
        assert old is not None
        scales = tuple(float(sign * scale) for sign, scale in zip(signs, old.scales, strict=True))
        tensors[index] = replace(tensors[index], quantization=replace(old, scales=scales))
    return replace(graph, tensors=tuple(tensors))


@pytest.mark.parametrize("kernels", ["reference", "cmsis", "cmsis-nano", "cmsis-2020", "cmsis-2020-os"])
@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_outputs_equal_litert(kind: str, kernels: str) -> None:
    for seed in range(SEEDS):
        graph = negated(wide(kind, seed) if seed % 2 else one_operator(kind, "int8", seed), seed)
        data = inputs_for(graph, seed)
        wanted = run_litert(graph, data)[0]
        assert np.array_equal(guest(kernels).run(graph, data)[0], wanted), f"seed {seed}: {graph.operators[0]}"


@pytest.mark.parametrize(
    ("kind", "dtype", "operand"),
    [
        ("CONV_2D", "int8", 0), ("CONV_2D", "int8", 3), ("CONV_2D", "uint8", 1), ("DEPTHWISE_CONV_2D", "uint8", 1),
        ("FULLY_CONNECTED", "int8", 1), ("FULLY_CONNECTED", "uint8", 1), ("ADD", "int8", 0), ("MUL", "int8", 2),
    ],
)  # fmt: skip
def test_what_litert_refuses_or_misreads_is_an_error(kind: str, dtype: str, operand: int, tmp_path: Path) -> None:
    """LiteRT aborts at a negative ADD, refuses it at uint8 and FULLY_CONNECTED, and computes what is no number of the
    file elsewhere."""
    graph = one_operator(kind, dtype, 3)
    tensor = graph.tensors[operand]
    negative = replace(tensor, quantization=Quantization((-0.5,), (0,)))
    tensors = (*graph.tensors[:operand], negative, *graph.tensors[operand + 1 :])
    path = tmp_path / "negative.tflite"
    path.write_bytes(write_tflite(replace(graph, tensors=tensors)))
    with pytest.raises(ModelError, match=rf"operator 0 {kind}: 't{operand}' has the negative scale -0.5; only int8"):
        load_model(path)

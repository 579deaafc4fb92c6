"""Networks of int16 activations and int8 filters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcusim.model import Graph, Quantization, Tensor


def as_int16(graph: Graph) -> Graph:
    """An int8 network with activations of 16 bits over the same range, and biases of 64."""
    tensors = list(graph.tensors)
    for op in graph.operators:
        data = [*op.outputs, *(i for i in op.inputs if i >= 0 and graph.tensors[i].dtype == "int8")]
        weights = op.inputs[1:] if op.traits.parametric else ()
        for i in data:
            if i not in weights:
                tensors[i] = _activation(graph.tensors[i], 2**-15 if op.type == "SOFTMAX" and i in op.outputs else 0.0)
        for i in weights[1:]:
            found, values = graph.tensors[i].quantization, graph.tensors[i].data
            assert found is not None
            assert values is not None
            wide = replace(found, scales=tuple(scale / 256 for scale in found.scales))
            tensors[i] = replace(graph.tensors[i], dtype="int64", quantization=wide, data=values.astype(np.int64) * 256)
    return replace(graph, tensors=tuple(tensors))


def _activation(tensor: Tensor, scale: float) -> Tensor:
    found = tensor.quantization
    assert found is not None
    assert tensor.data is None
    return replace(tensor, dtype="int16", quantization=Quantization((scale or found.scales[0] / 256,), (0,)))

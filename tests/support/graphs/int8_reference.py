"""A small int8 forward pass in numpy: exact accumulators, requantised in float64 (not bit-exact with TFLite)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Tensor, geometry

Array = np.ndarray[Any, Any]
LOWEST = {"NONE": -np.inf, "RELU": 0.0, "RELU6": 0.0}
HIGHEST = {"NONE": np.inf, "RELU": np.inf, "RELU6": 6.0}


def run(graph: Graph, seed: int) -> dict[int, Array]:
    """Every activation tensor's int8 values, for a uniformly random input."""
    rng = np.random.default_rng(seed)
    start = graph.tensors[graph.inputs[0]]
    values: dict[int, Array] = {start.index: rng.integers(-128, 127, start.shape, np.int8, endpoint=True)}
    for op in graph.operators:
        values[op.outputs[0]] = output(graph, op, values)
    return values


def output(graph: Graph, op: Operator, values: dict[int, Array]) -> Array:
    """The output of one operator from the ``values`` of its inputs."""
    out = graph.tensors[op.outputs[0]]
    return quantize(_real(graph, op, values), out).reshape(out.shape)


def quantize(real: Array, tensor: Tensor) -> Array:
    scale, zero = parameters(tensor)
    return np.clip(np.rint(real / scale) + zero, -128, 127).astype(np.int8)


def parameters(tensor: Tensor) -> tuple[float, int]:
    assert tensor.quantization is not None
    return tensor.quantization.scales[0], tensor.quantization.zero_points[0]


def _real(graph: Graph, op: Operator, values: dict[int, Array]) -> Array:
    data = []
    for i in op.inputs:
        if i in values:
            scale, zero = parameters(graph.tensors[i])
            data.append((values[i].astype(np.float64) - zero) * scale)
    if op.type in ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED"):
        return _weighted(graph, op, values[op.inputs[0]])
    if op.type == "ADD":
        return data[0] + data[1]
    if op.type == "PAD":
        return np.pad(data[0], np.array(graph.tensors[op.inputs[1]].data))
    if op.type == "CONCATENATION":
        return np.concatenate(data, axis=3)
    if op.type in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        reduce = np.nanmean if op.type == "AVERAGE_POOL_2D" else np.nanmax
        return np.asarray(reduce(_patches(graph, op, data[0], np.nan), axis=(3, 4)))
    if op.type == "SOFTMAX":
        powers = np.exp(data[0] - data[0].max())
        return np.asarray(powers / powers.sum())
    return data[0]


def _patches(graph: Graph, op: Operator, x: Array, fill: float) -> Array:
    """im2col by hand: (out_h, out_w, c, kernel_h, kernel_w)."""
    g = geometry(graph, op)
    out = np.empty((g.out_h, g.out_w, g.in_c, g.kernel_h, g.kernel_w))
    padded = np.full((g.in_h + g.pad_top + g.pad_bottom, g.in_w + g.pad_left + g.pad_right, g.in_c), fill)
    padded[g.pad_top : g.pad_top + g.in_h, g.pad_left : g.pad_left + g.in_w] = x[0]
    for row in range(g.out_h):
        for column in range(g.out_w):
            top, left = row * g.stride_h, column * g.stride_w
            out[row, column] = padded[top : top + g.kernel_h, left : left + g.kernel_w].transpose(2, 0, 1)
    return out


def _weighted(graph: Graph, op: Operator, x: Array) -> Array:
    source, filters, bias = (graph.tensors[i] for i in op.inputs)
    scale, zero = parameters(source)
    assert filters.quantization is not None and filters.data is not None and bias.data is not None
    weights, centred = filters.data.astype(np.float64), x.astype(np.float64) - zero
    if op.type == "FULLY_CONNECTED":
        sums = weights @ centred.reshape(-1)
    else:
        terms = "ijchw,hwc->ijc" if op.type == "DEPTHWISE_CONV_2D" else "ijchw,ohwc->ijo"
        patches = _patches(graph, op, centred, 0)
        sums = np.einsum(terms, patches, weights[0] if op.type == "DEPTHWISE_CONV_2D" else weights, optimize=True)
    real = (sums + bias.data) * np.array(filters.quantization.scales) * scale
    return np.asarray(np.clip(real, LOWEST[op.options["activation"]], HIGHEST[op.options["activation"]]))

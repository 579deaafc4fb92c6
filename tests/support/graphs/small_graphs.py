"""Graphs of one operator, for tests of geometries and of the reader."""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Quantization, Tensor

WINDOW = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "activation": "NONE"}


def activation(shape: tuple[int, ...], dtype: str = "int8") -> Tensor:
    return Tensor(0, "activation", shape, dtype, Quantization((0.125,), (0,)))


def constant(values: Any, dtype: str = "int32") -> Tensor:
    data = np.asarray(values, dtype)
    return Tensor(0, "constant", data.shape, dtype, data=data)


def zeros(shape: tuple[int, ...], dtype: str = "int8") -> Tensor:
    return constant(np.zeros(shape), dtype)


def one_operator(kind: str, inputs: list[Tensor], outputs: list[Tensor], **options: Any) -> Graph:
    """A graph whose only operator reads ``inputs`` and writes ``outputs``."""
    tensors = [
        Tensor(i, f"{t.name}_{i}", t.shape, t.dtype, t.quantization, t.data) for i, t in enumerate([*inputs, *outputs])
    ]
    reads, writes = tuple(range(len(inputs))), tuple(range(len(inputs), len(tensors)))
    sources = tuple(i for i in reads if not tensors[i].constant)
    return Graph("small", tuple(tensors), (Operator(0, kind, reads, writes, options),), sources, writes, "")


def convolution(source: tuple[int, ...], kernel: tuple[int, ...], target: tuple[int, ...], **options: Any) -> Graph:
    """A CONV_2D; a filter whose first size is 1 and whose last is the output's makes it a DEPTHWISE_CONV_2D."""
    depthwise = kernel[0] == 1 and kernel[3] == target[3]
    extra = {"depth_multiplier": target[3] // source[3]} if depthwise else {}
    return one_operator(
        "DEPTHWISE_CONV_2D" if depthwise else "CONV_2D",
        [activation(source), zeros(kernel), zeros((target[3],), "int32")],
        [activation(target)],
        **(WINDOW | extra | options),
    )


def chain(*kinds: str) -> Graph:
    """Operators of those types, one after the other, on 100 B each."""
    one = activation((1, 100))
    tensors = tuple(Tensor(i, f"t{i}", one.shape, one.dtype, one.quantization) for i in range(len(kinds) + 1))
    operators = tuple(Operator(i, kind, (i,), (i + 1,)) for i, kind in enumerate(kinds))
    return Graph("chain", tensors, operators, (0,), (len(kinds),), "")


def in_place_graph() -> Graph:
    """input -> RELU -> ADD(input, relu) -> RESHAPE; 4,096 B each."""
    shape, flat, q = (1, 8, 8, 64), (1, 4096), Quantization((0.05,), (3,))
    shapes = (shape, shape, shape, flat)
    tensors = tuple(Tensor(i, f"t{i}", s, "int8", q) for i, s in enumerate(shapes))
    operators = (
        Operator(0, "RELU", (0,), (1,)),
        Operator(1, "ADD", (0, 1), (2,), {"activation": "NONE"}),
        Operator(2, "RESHAPE", (2,), (3,)),
    )
    return Graph("in place", tensors, operators, (0,), (3,), "")

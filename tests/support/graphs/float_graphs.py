"""A network of float32."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Tensor
from tests.support.graphs.small_graphs import WINDOW


def float_network() -> Graph:
    """A small classifier of images: two convolutions, a depthwise one, a pool, a mean, a layer and SOFTMAX."""
    rng, tensors = np.random.default_rng(3), list[Tensor]()
    operators: list[Operator] = []

    def add(shape: tuple[int, ...], data: Any = None, dtype: str = "float32") -> int:
        values = None if data is None else np.asarray(data, dtype)
        tensors.append(Tensor(len(tensors), f"t{len(tensors)}", shape, dtype, None, values))
        return tensors[-1].index

    def apply(kind: str, shape: tuple[int, ...], *sizes: tuple[int, ...], **options: Any) -> None:
        """On the last result; ``sizes`` are those of weights."""
        source = operators[-1].outputs[0] if operators else 0
        weights = [add(size, rng.normal(0, 0.4, size)) for size in sizes]
        operators.append(Operator(len(operators), kind, (source, *weights), (add(shape),), options))

    add((1, 16, 16, 3))
    same = WINDOW | {"padding": "SAME", "activation": "RELU"}
    apply("CONV_2D", (1, 8, 8, 8), (8, 3, 3, 3), (8,), **same | {"stride_h": 2, "stride_w": 2})
    apply("DEPTHWISE_CONV_2D", (1, 8, 8, 8), (1, 3, 3, 8), (8,), **same, depth_multiplier=1)
    apply("CONV_2D", (1, 8, 8, 20), (20, 1, 1, 8), (20,), **same | {"activation": "RELU6"})
    pool = {"padding": "VALID", "stride_h": 2, "stride_w": 2, "filter_h": 2, "filter_w": 2, "activation": "NONE"}
    apply("AVERAGE_POOL_2D", (1, 4, 4, 20), **pool)
    axes = add((2,), [1, 2], "int32")
    apply("MEAN", (1, 20), keep_dims=False)
    operators[-1] = replace(operators[-1], inputs=(*operators[-1].inputs, axes))
    layer = {"activation": "NONE", "keep_num_dims": False, "weights_format": 0}
    apply("FULLY_CONNECTED", (1, 10), (10, 20), (10,), **layer)
    apply("SOFTMAX", (1, 10), beta=1.0)
    return Graph("floats", tuple(tensors), tuple(operators), (0,), operators[-1].outputs, "")

"""Random graphs of one operator whose shapes reach every loop of the set ``cmsis``."""

from __future__ import annotations

import numpy as np

from mcusim.model import Graph
from tests.support.kernels.kernel_cases import ACTIVATIONS, Case


def wide(kind: str, seed: int) -> Graph:
    """Shapes that reach the four- and sixteen-channel loops, their left-overs, and each special case."""
    c = Case(kind, "int8", 10_000 + seed)
    if kind in ("CONV_2D", "DEPTHWISE_CONV_2D"):
        return _convolution(c, seed)
    if kind == "FULLY_CONNECTED":
        depth, units = c.integer(1, 300), c.integer(1, 40)
        source = c.activation((c.integer(1, 3), depth))
        weights = c.weights((units, depth), units, 0)
        options = {"activation": c.pick(*ACTIVATIONS), "keep_num_dims": False, "weights_format": 0}
        return c.graph(
            [source, weights, c.bias(source, weights, units)], options, scale=_scale(c, source, weights, depth)
        )
    if kind in ("ADD", "MUL"):
        shape = (1, c.integer(1, 9), c.integer(1, 9), c.integer(1, 40))
        first, second = c.activation(shape), c.activation(shape if c.integer(0, 3) else shape[3:])
        spread = (
            c.scales(first)[0] * c.scales(second)[0] * 60
            if kind == "MUL"
            else max(c.scales(first)[0], c.scales(second)[0])
        )
        return c.graph([first, second], {"activation": c.pick(*ACTIVATIONS)}, scale=spread * c.rng.uniform(0.3, 3))
    source = c.activation((1, c.integer(6, 12), c.integer(6, 12), c.integer(1, 40)))
    found = c.tensors[source].quantization
    sizes = {name: c.integer(1, 6) for name in ("filter_h", "filter_w", "stride_h", "stride_w")}
    options = sizes | {"padding": c.pick("SAME", "VALID"), "activation": c.pick(*ACTIVATIONS)}
    return c.graph([source], options, scale=found.scales[0], zero=found.zero_points[0])


def _scale(c: Case, source: int, weights: int, depth: int) -> float:
    return float(c.scales(source)[0] * max(c.scales(weights)) * 80 * np.sqrt(depth) * c.rng.uniform(0.3, 2))


def _convolution(c: Case, seed: int) -> Graph:
    depthwise = c.kind == "DEPTHWISE_CONV_2D"
    kernel = [(1, 1), (3, 3), (1, c.integer(2, 7)), (5, 5), (c.integer(1, 7), c.integer(1, 7)), (7, 7)][seed % 6]
    channels = 4 * c.integer(1, 18) if seed % 4 == 0 else 3 if seed % 4 == 1 else c.integer(1, 40)
    height = 1 if kernel[0] == 1 and seed % 3 == 0 else c.integer(7, 9)
    strides = (1, 1) if kernel == (1, 1) and seed % 4 == 0 else (c.integer(1, 2), c.integer(1, 2))
    padding = "SAME" if height < kernel[0] else c.pick("SAME", "VALID")
    multiplier, units = c.pick(1, 1, 1, 4), c.integer(1, 17)
    source = c.activation((1, height, c.integer(7, 10), channels))
    shape = (1, *kernel, channels * multiplier) if depthwise else (units, *kernel, channels)
    count = shape[3] if depthwise else units
    weights = c.weights(shape, count, 3 if depthwise else 0)
    options = {"padding": padding, "stride_h": strides[0], "stride_w": strides[1], "activation": c.pick(*ACTIVATIONS)}
    options |= {"dilation_h": 1, "dilation_w": 1} | ({"depth_multiplier": multiplier} if depthwise else {})
    depth = kernel[0] * kernel[1] * (1 if depthwise else channels)
    return c.graph([source, weights, c.bias(source, weights, count)], options, scale=_scale(c, source, weights, depth))

"""Graphs of one random operator, quantised as TFLite's kernels want it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from mcusim.kernels.kernel_set import load_set
from mcusim.model import Graph, Operator, Quantization, Tensor
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import RULES
from tests.support.kernels.kernel_cases import one_operator

Draw = tuple[list[Tensor], dict[str, Any], tuple[int, ...] | None]
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6")


class Random:
    """Draws operands; ``dtype`` is that of the activations."""

    def __init__(self, kind: str, seed: int) -> None:
        self.rng = np.random.default_rng([seed, *kind.encode()])
        self.kind = kind
        self.dtype = str(self.rng.choice(["int8", "int8", "uint8"]))
        self.fixed: Quantization | None = None

    def number(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high, endpoint=True))

    def choice(self, values: Any) -> Any:
        return values[self.number(0, len(values) - 1)]

    def flag(self) -> bool:
        return self.choice((False, True))

    def shape(self, rank: int = 4) -> tuple[int, ...]:
        return (1, *(self.number(1, 9) for _ in range(rank - 1)))

    def quantization(self) -> Quantization:
        low = 0 if self.dtype == "uint8" else -128
        scale = float(np.float32(2.0 ** self.rng.uniform(-8, -2)))
        return Quantization((scale,), (self.number(low, low + 255),))

    def activation(self, shape: tuple[int, ...]) -> Tensor:
        return Tensor(0, "activation", shape, self.dtype, self.fixed or self.quantization())

    def filters(self, shape: tuple[int, ...], axis: int) -> Tensor:
        """One scale a channel with int8, one for all with uint8, which knows no other."""
        if self.dtype == "uint8":
            return Tensor(0, "filter", shape, "uint8", self.quantization(), self.rng.integers(0, 256, shape, np.uint8))
        scales = np.float32(2.0 ** self.rng.uniform(-10, -6, shape[axis]))
        found = Quantization(tuple(scales.tolist()), (0,) * len(scales), axis if len(scales) > 1 else 0)
        return Tensor(0, "filter", shape, "int8", found, self.rng.integers(-127, 128, shape, np.int8))

    def bias(self, source: Tensor, filters: Tensor) -> Tensor:
        assert source.quantization is not None and filters.quantization is not None
        channels = filters.shape[3] if self.kind == "DEPTHWISE_CONV_2D" else filters.shape[0]
        steps = np.float32(np.array(filters.quantization.scales) * source.quantization.scales[0])
        found = Quantization(tuple(steps.tolist()), (0,) * len(steps), 0)
        data = self.rng.integers(-9999, 9999, channels, np.int32)
        return Tensor(0, "bias", (channels,), "int32", found, data)


def table(values: Any) -> Tensor:
    data = np.asarray(values, np.int32)
    return Tensor(0, "table", data.shape, "int32", data=data)


def window(r: Random) -> dict[str, Any]:
    return {"padding": r.choice(("SAME", "VALID")), "stride_h": r.number(1, 3), "stride_w": r.number(1, 3)}


def convolution(r: Random) -> Draw:
    depthwise, source = r.kind == "DEPTHWISE_CONV_2D", r.activation((1, r.number(5, 9), r.number(5, 9), r.number(1, 6)))
    multiplier, size = r.number(1, 3), (r.number(1, 3), r.number(1, 3))
    channels = source.shape[3]
    shape = (1, *size, channels * multiplier) if depthwise else (r.number(1, 9), *size, channels)
    options = window(r) | {"activation": r.choice(ACTIVATIONS)}
    options |= {f"dilation_{axis}": 1 if max(options["stride_h"], options["stride_w"]) > 1 else r.number(1, 2)
                for axis in "hw"}  # fmt: skip
    filters = r.filters(shape, 3 if depthwise else 0)
    return (
        [source, filters, r.bias(source, filters)],
        options | ({"depth_multiplier": multiplier} if depthwise else {}),
        None,
    )


def fully_connected(r: Random) -> Draw:
    source, keep = r.activation((r.number(1, 3), r.number(1, 20))), r.flag()
    filters = r.filters((r.number(1, 9), source.shape[1]), 0)
    bias = [r.bias(source, filters)] if r.flag() else []
    options = {"activation": r.choice(ACTIVATIONS), "keep_num_dims": keep, "weights_format": 0}
    return [source, filters, *bias], options, None


def pool(r: Random) -> Draw:
    r.fixed = r.quantization()
    source = r.activation((1, r.number(3, 9), r.number(3, 9), r.number(1, 9)))
    size = {"filter_h": r.number(1, 3), "filter_w": r.number(1, 3)}
    return [source], window(r) | size | {"activation": r.choice(ACTIVATIONS)}, None


def binary(r: Random) -> Draw:
    shape = r.shape()
    other = tuple(1 if r.flag() else d for d in shape)
    if r.kind in ("MAXIMUM", "MINIMUM"):
        r.fixed = r.quantization()
        return [r.activation(shape), r.activation(other)], {}, None
    return [r.activation(shape), r.activation(other)], {"activation": r.choice(ACTIVATIONS)}, None


def concatenation(r: Random) -> Draw:
    r.fixed, shape, axis = r.quantization(), r.shape(), r.number(-3, 3)
    parts = [r.activation((*shape[: axis % 4], r.number(1, 5), *shape[axis % 4 + 1 :])) for _ in range(r.number(1, 4))]
    return parts, {"axis": axis, "activation": "NONE"}, None


def mean(r: Random) -> Draw:
    return [r.activation(r.shape()), table(r.choice(([1, 2], [3], [-1, 1])))], {"keep_dims": r.flag()}, None


def pad(r: Random) -> Draw:
    r.fixed, shape = r.quantization(), r.shape(r.number(3, 4))
    pads = table([[0, 0], *([r.number(0, 3), r.number(0, 3)] for _ in shape[1:])])
    value = Tensor(0, "value", (1,), r.dtype, r.fixed, np.array([7], r.dtype))
    return [r.activation(shape), pads, *([value] if r.kind == "PADV2" else [])], {}, None


def reshape(r: Random) -> Draw:
    r.fixed, shape = r.quantization(), r.shape()
    target = (1, math.prod(shape))
    return [r.activation(shape), *([table(target)] if r.flag() else [])], {}, target


def squeeze(r: Random) -> Draw:
    r.fixed, shape = r.quantization(), (1, r.number(1, 3), 1, r.number(1, 5), 1)
    keep = [r.flag() or size > 1 for size in shape]
    return [r.activation(shape)], {}, tuple(d for d, kept in zip(shape, keep, strict=True) if kept)


def expand(r: Random) -> Draw:
    r.fixed, shape, axis = r.quantization(), r.shape(3), r.number(0, 3)
    return [r.activation(shape), table([axis])], {}, (*shape[:axis], 1, *shape[axis:])


def unary(r: Random) -> Draw:
    options: dict[str, Any] = {}
    if r.kind == "SOFTMAX":
        options = {"beta": float(np.float32(r.rng.uniform(0.2, 2)))}
    if r.kind == "LEAKY_RELU":
        options = {"alpha": float(np.float32(r.rng.uniform(0, 1)))}
    return [r.activation(r.shape())], options, None


def strided_slice(r: Random) -> Draw:
    r.fixed, shape = r.quantization(), (1, *(r.number(2, 9) for _ in range(3)))
    begin = [r.number(0, d - 1) for d in shape]
    end = [r.number(b + 1, d) for b, d in zip(begin, shape, strict=True)]
    masks = {"begin_mask": r.number(0, 15), "end_mask": r.number(0, 15), "shrink_axis_mask": r.choice((0, 0, 2))}
    options = masks | {"ellipsis_mask": 0, "new_axis_mask": 0}
    steps = [1 if masks["shrink_axis_mask"] else r.number(1, 2) for _ in shape]
    return [r.activation(shape), table(begin), table(end), table(steps)], options, None


def slice_(r: Random) -> Draw:
    r.fixed, shape = r.quantization(), r.shape()
    begin = [r.number(0, d - 1) for d in shape]
    size = [r.choice((-1, r.number(1, d - b))) for b, d in zip(begin, shape, strict=True)]
    return [r.activation(shape), table(begin), table(size)], {}, None


def split(r: Random) -> Draw:
    r.fixed, parts = r.quantization(), r.number(1, 3)
    shape = (*r.shape(3), parts * r.number(1, 4))
    return [table([r.choice((-1, 3))]), r.activation(shape)], {"num_splits": parts}, None


def transpose(r: Random) -> Draw:
    r.fixed = r.quantization()
    return [r.activation(r.shape()), table(r.rng.permutation(4))], {}, None


def resize(r: Random) -> Draw:
    r.fixed, half = r.quantization(), r.flag()
    options = {"align_corners": not half and r.flag(), "half_pixel_centers": half}
    return [r.activation(r.shape()), table([r.number(1, 12), r.number(1, 12)])], options, None


_SPECIAL: dict[str, Callable[[Random], Draw]] = {
    "CONV_2D": convolution, "DEPTHWISE_CONV_2D": convolution, "FULLY_CONNECTED": fully_connected,
    "AVERAGE_POOL_2D": pool, "MAX_POOL_2D": pool, "ADD": binary, "SUB": binary, "MUL": binary, "MAXIMUM": binary,
    "MINIMUM": binary, "CONCATENATION": concatenation, "MEAN": mean, "PAD": pad, "PADV2": pad, "RESHAPE": reshape,
    "SQUEEZE": squeeze, "EXPAND_DIMS": expand, "STRIDED_SLICE": strided_slice, "SLICE": slice_, "SPLIT": split,
    "TRANSPOSE": transpose, "RESIZE_NEAREST_NEIGHBOR": resize, "RESIZE_BILINEAR": resize,
}  # fmt: skip
_UNARY = (
    "RELU", "RELU6", "RELU_N1_TO_1", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH", "SOFTMAX", "QUANTIZE",
    "DEQUANTIZE",
)  # fmt: skip
_FIXED_OUTPUT = {"SOFTMAX": (2.0**-8, 0), "LOGISTIC": (2.0**-8, 0), "TANH": (2.0**-7, 128)}


def random_graph(kind: str, seed: int) -> Graph:
    """One operator of ``kind`` with random shapes, options, types and quantisation; the same seed, the same graph."""
    if kind not in _SPECIAL and kind not in _UNARY:
        types = sorted(t for k, t in load_set("reference").kernels if k == kind)
        return one_operator(kind, types[seed % len(types)], seed)
    r = Random(kind, seed)
    inputs, options, shape = _SPECIAL.get(kind, unary)(r)
    shapes = [shape] if shape is not None else RULES[OPERATORS[kind].rule](inputs, options)
    outputs = [_output(r, s) for s in shapes]
    tensors = [Tensor(i, f"{t.name}_{i}", t.shape, t.dtype, t.quantization, t.data)
               for i, t in enumerate([*inputs, *outputs])]  # fmt: skip
    reads, writes = tuple(range(len(inputs))), tuple(range(len(inputs), len(tensors)))
    ends = tuple(i for i in reads if not tensors[i].constant)
    return Graph(
        f"{kind.lower()}-{seed}", tuple(tensors), (Operator(0, kind, reads, writes, options),), ends, writes, ""
    )


def _output(r: Random, shape: tuple[int, ...]) -> Tensor:
    if r.kind in _FIXED_OUTPUT:
        scale, zero = _FIXED_OUTPUT[r.kind]
        low = 0 if r.dtype == "uint8" else -128
        return Tensor(0, "activation", shape, r.dtype, Quantization((scale,), (low + zero,)))
    if r.kind == "DEQUANTIZE":
        return Tensor(0, "activation", shape, "float32")
    return r.activation(shape)

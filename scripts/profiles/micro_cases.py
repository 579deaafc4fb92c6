"""The small operators that kernel costs are fitted to: for each kind of kernel call, shapes spread over what networks
have and what exercises its loops. The same every time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Quantization, Tensor
from mcusim.model.operators import OPERATORS
from mcusim.model.shapes import RULES

WIDTHS = (1, 2, 3, 4, 5, 6, 8, 11, 12, 16, 18, 20, 24, 30, 32, 40, 48, 56, 64, 72, 80, 96, 112, 128, 144, 160, 192, 240)
WITHOUT = " without "  # in the name of a graph: then come the techniques that its call leaves out
MOST = 200_000  # multiplications of a plain kernel; the others four times as many


class Maker:
    """One operator of ``kind``; every choice comes from ``seed``."""

    def __init__(self, kind: str, dtype: str, seed: int, macs: int = MOST) -> None:
        self.kind, self.dtype, self.macs = kind, dtype, macs
        self.rng = np.random.default_rng([seed, sum(map(ord, kind + dtype))])
        self.tensors: list[Tensor] = []

    def pick(self, *values: Any) -> Any:
        return values[int(self.rng.integers(len(values)))]

    def add(self, shape: Any, scale: float = 0.05, dtype: str = "", data: Any = None, count: int = 1) -> int:
        index, dtype = len(self.tensors), dtype or self.dtype
        zero = {"int8": 3, "uint8": 121}.get(dtype, 0) if data is None else {"uint8": 128}.get(dtype, 0)
        found = None if dtype == "float32" else Quantization((scale,) * count, (zero,) * count)
        values = None if data is None else np.asarray(data).astype(dtype).reshape(shape)
        self.tensors.append(Tensor(index, f"t{index}", tuple(map(int, shape)), dtype, found, values))
        return index

    def weights(self, shape: tuple[int, ...], channels: int) -> list[int]:
        if self.dtype == "float32":
            filters = self.add(shape, data=self.rng.normal(0, 1, shape))
            return [filters, self.add((channels,), data=self.rng.normal(0, 1, channels))]
        low, high = (0, 256) if self.dtype == "uint8" else (-128, 128)
        dtype, bias = ("int8", "int64") if self.dtype == "int16" else (self.dtype, "int32")
        filters = self.add(shape, 0.01, dtype, self.rng.integers(low, high, shape))
        return [filters, self.add((channels,), 5e-4, bias, self.rng.integers(-2000, 2000, channels))]

    def graph(self, inputs: list[int], options: dict[str, Any], scale: float = 0.05, **more: Any) -> Graph:
        operands = [self.tensors[i] for i in inputs]
        shapes = [more.pop("shape")] if "shape" in more else RULES[OPERATORS[self.kind].rule](operands, options)
        outputs = [self.add(shape, scale, **more) for shape in shapes]
        op = Operator(0, self.kind, tuple(inputs), tuple(outputs), options)
        data = tuple(i for i in inputs if self.tensors[i].data is None and not self.tensors[i].variable)
        return Graph("micro", tuple(self.tensors), (op,), data, tuple(outputs), "")


def _window(m: Maker, stride: int, padding: str) -> dict[str, Any]:
    return {"padding": padding, "stride_h": stride, "stride_w": stride, "activation": m.pick("NONE", "RELU6")}


def convolution(
    m: Maker, size: tuple[int, int], source: tuple[int, int, int], out: int, stride: int = 1, dilation: int = 1,
    padding: str = "SAME", multiplier: int = 0,
) -> Graph:  # fmt: skip
    height, width, depth = source
    options = _window(m, stride, padding) | {"dilation_h": dilation, "dilation_w": dilation}
    taps = size[0] * size[1] * (1 if multiplier else depth)
    x = m.add((1, height, width, depth))
    if multiplier:
        out, options["depth_multiplier"] = depth * multiplier, multiplier
        inputs = [x, *m.weights((1, *size, out), out)]
    else:
        inputs = [x, *m.weights((out, *size, depth), out)]
    return m.graph(inputs, options, float(np.float32(0.06 * np.sqrt(taps))))


def sides(m: Maker, each: int) -> tuple[int, int]:
    """Height and width so that the multiplications, ``each`` a pixel, stay within bounds."""
    pixels = max(1, m.macs // each)
    height = int(m.rng.integers(1, max(2, min(24, int(pixels**0.5)) + 1)))
    return height, int(m.rng.integers(1, max(2, min(24, pixels // height) + 1)))


def pointwise(m: Maker) -> Graph:
    depth, out = m.pick(*[w for w in WIDTHS if w % 4 == 0], 320), m.pick(*WIDTHS)
    return convolution(m, (1, 1), (*sides(m, depth * out), depth), out)


SIZES = ((3, 3), (3, 3), (5, 5), (7, 7), (1, 1), (10, 4), (1, 7), (2, 2), (3, 1))


def columns(m: Maker) -> Graph:
    size, stride = m.pick(*SIZES), m.pick(1, 2)
    depth = m.pick(1, 2, 3, 3, 3, 4, 5, 8, 9, 16, 24, 32, 64)
    stride = 2 if size == (1, 1) and depth % 4 == 0 else stride
    most = max(1, min(64, m.macs // (4 * size[0] * size[1] * depth)))
    out = m.pick(*[w for w in WIDTHS if w <= most])
    height, width = sides(m, size[0] * size[1] * depth * out // stride**2)
    return convolution(
        m,
        size,
        (height + size[0] - 1, width + size[1] - 1, depth),
        out,
        stride,
        padding=m.pick("SAME", "SAME", "VALID"),
    )


def _depthwise(m: Maker, size: tuple[int, int], **more: Any) -> Graph:
    depth, stride = m.pick(*more.pop("depths", WIDTHS)), m.pick(*more.pop("strides", (1, 1, 2)))
    height, width = sides(m, 2 * size[0] * size[1] * depth * more.get("multiplier", 1))
    room = more.get("dilation", 1)
    source = (height + room * (size[0] - 1), width + room * (size[1] - 1), depth)
    return convolution(
        m, size, source, depth, stride, **{"multiplier": 1, **more}, padding=m.pick("SAME", "SAME", "VALID")
    )


def depthwise_3x3(m: Maker) -> Graph:
    return _depthwise(m, (3, 3))


def depthwise_columns(m: Maker) -> Graph:
    return _depthwise(m, m.pick((5, 5), (7, 7), (5, 5), (7, 7), (2, 2), (1, 5), (4, 4), (1, 1), (3, 5)))


def depthwise_plain(m: Maker) -> Graph:
    return (
        _depthwise(m, m.pick((3, 3), (5, 5), (1, 3)), multiplier=m.pick(1, 2, 4, 8), dilation=2)
        if m.pick(0, 0, 1)
        else (_depthwise(m, m.pick((3, 3), (5, 5)), multiplier=m.pick(2, 4, 8)))
    )


def depthwise_any(m: Maker) -> Graph:
    return _depthwise(m, m.pick((3, 3), (5, 5), (7, 7), (1, 1)), multiplier=m.pick(1, 1, 1, 1, 2, 8))


def dilated(m: Maker) -> Graph:
    depth, out = m.pick(1, 3, 4, 8, 16, 24), m.pick(1, 3, 8, 16)
    height, width = sides(m, 9 * depth * out)
    return convolution(m, m.pick((3, 3), (1, 3)), (height + 4, width + 4, depth), out, 1, 2)


def any_convolution(m: Maker) -> Graph:
    if m.pick(0, 1):
        depth, out = m.pick(*WIDTHS), m.pick(*WIDTHS)
        return convolution(m, (1, 1), (*sides(m, depth * out), depth), out, m.pick(1, 1, 2))
    return columns(m)


def fully_connected(m: Maker) -> Graph:
    rows, depth, out = m.pick(1, 1, 1, 2, 5), m.pick(*WIDTHS, 640, 256, 1280), m.pick(*WIDTHS)
    options = {"activation": "NONE", "keep_num_dims": False, "weights_format": 0}
    return m.graph([m.add((rows, depth)), *m.weights((out, depth), out)], options, float(np.float32(0.06 * depth**0.5)))


def _shape(m: Maker, most: int = 12_000) -> tuple[int, ...]:
    depth = m.pick(*WIDTHS)
    height = m.pick(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14)
    return 1, height, max(1, min(14, most // depth // height)), depth


def same_shapes(m: Maker) -> Graph:
    shape = _shape(m)
    return m.graph([m.add(shape, 0.04), m.add(shape, 0.06)], {"activation": "NONE"}, 0.05 if m.kind != "MUL" else 0.1)


def broadcast(m: Maker) -> Graph:
    shape = _shape(m, 4000)
    other = m.pick((1, 1, 1, shape[3]), (1, 1, 1, 1))
    return m.graph([m.add(shape, 0.04), m.add(other, 0.06)], {"activation": "NONE"}, 0.05 if m.kind != "MUL" else 0.1)


def extrema(m: Maker) -> Graph:
    shape = _shape(m)
    return m.graph([m.add(shape), m.add(shape)], {})


def pool(m: Maker) -> Graph:
    size, stride, depth = m.pick((2, 2), (3, 3), (5, 5), (7, 7), (1, 4), (25, 5)), m.pick(1, 2, 2), m.pick(*WIDTHS)
    height, width = sides(m, 4 * size[0] * size[1] * depth)
    options = _window(m, stride, m.pick("SAME", "VALID", "VALID")) | {"filter_h": size[0], "filter_w": size[1]}
    options["activation"] = "NONE"
    return m.graph([m.add((1, height + size[0] - 1, width + size[1] - 1, depth))], options)


def odd_pool(m: Maker) -> Graph:
    """Channels that are no multiple of four, long windows, far apart."""
    size = m.pick((2, 2), (3, 3), (5, 7), (9, 1), (11, 11), (17, 16), (18, 17))
    stride, depth = m.pick(1, 2, 3, 4), m.pick(1, 2, 3, 5, 7, 9, 18)
    options = _window(m, stride, m.pick("SAME", "VALID")) | {"filter_h": size[0], "filter_w": size[1]}
    options["activation"] = "NONE"
    return m.graph([m.add((1, size[0] + m.pick(1, 2, 5), size[1] + m.pick(1, 3, 4), depth))], options)


def mean(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m)), m.add((2,), 1.0, "int32", [1, 2])], {"keep_dims": m.pick(True, False)})


def unary(m: Maker) -> Graph:
    options = {"alpha": 0.25} if m.kind == "LEAKY_RELU" else {}
    if m.dtype == "int16" and m.kind in ("LOGISTIC", "TANH"):
        return m.graph([m.add(_shape(m), 3e-4)], options, 2**-15)
    scale = {"LOGISTIC": 1 / 256, "TANH": 1 / 128}.get(m.kind, 0.04)
    return m.graph([m.add(_shape(m))], options, scale)


def softmax(m: Maker) -> Graph:
    shape, scale = (m.pick(1, 1, 2, 5), m.pick(2, 3, 4, 5, 8, 10, 12, 16, 25, 50, 100, 256)), m.pick(0.05, 0.1)
    if m.dtype == "int16":
        return m.graph([m.add((1, 1, *shape), scale / 256)], {"beta": 1.0}, 2**-15)
    return m.graph([m.add(shape, scale)], {"beta": 1.0}, 1 / 256)


def reshape(m: Maker) -> Graph:
    shape = _shape(m)
    size = int(np.prod(shape))
    return m.graph([m.add(shape), m.add((2,), 1.0, "int32", [1, size])], {}, shape=(1, size))


def concatenation(m: Maker) -> Graph:
    height, width = m.pick(1, 3, 7, 14), m.pick(1, 4, 7)
    parts = [m.add((1, height, width, m.pick(*WIDTHS))) for _ in range(m.pick(1, 2, 3, 5))]
    return m.graph(parts, {"axis": 3, "activation": "NONE"})


def padding(m: Maker) -> Graph:
    table = [[0, 0], [m.pick(0, 1, 3), m.pick(0, 1, 3)], [m.pick(0, 1, 2), m.pick(0, 1, 3)], [0, 0]]
    return _padded(m, _shape(m, 6000), table)


def padded_axes(m: Maker) -> Graph:
    """Any axes of any rank: rows as short as a pixel of a channel."""
    rank = m.pick(1, 2, 3, 4, 4, 4, 5)
    sides = [m.pick(1, 2, 3, 5, 8, 14, 32) for _ in range(rank - 1)]
    depth = m.pick(1, 2, 3, 4, 6, 7, 8, 16, 40) if rank > 1 else m.pick(5, 64, 700, 3000)
    table = [m.pick(*[(0, 0)] * 4, (0, 1), (1, 1), (2, 3)) for _ in sides]
    table += [m.pick((0, 0), (0, 1), (0, 5), (2, 2), (4, 4))]
    while np.prod(sides) * depth > 9000:
        sides[sides.index(max(sides))] = 1
    return _padded(m, (*sides, depth), table)


def padded_images(m: Maker) -> Graph:
    """Height and width alone, rows as short as an element."""
    sides = [m.pick(1, 2, 3, 5, 8, 14, 32) for _ in range(2)]
    shape = (*sides, m.pick(1, 1, 2, 3, 4, 6, 7, 8, 16))
    table = [[m.pick(0, 0, 1, 3), m.pick(0, 1, 2)] for _ in sides]
    if m.pick(True, False):
        return _padded(m, shape, [*table, [0, 0]])
    return _padded(m, (m.pick(1, 1, 2), *shape), [[0, 0], *table, [0, 0]])


def _padded(m: Maker, shape: tuple[int, ...], table: list[Any]) -> Graph:
    inputs = [m.add(shape), m.add((len(shape), 2), 1.0, "int32", table)]
    inputs += [m.add((1,), 0.05, m.dtype, [7])] if m.kind == "PADV2" else []
    return m.graph(inputs, {})


def resize(m: Maker) -> Graph:
    shape = _shape(m, 3000)
    size = m.add((2,), 1.0, "int32", [shape[1] * 2, shape[2] * 2])
    return m.graph([m.add(shape), size], {"align_corners": False, "half_pixel_centers": False})


def dequantize(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m, 6000))], {}, dtype="float32")


def quantize(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m, 6000), dtype="float32")], {})


def requantize(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m, 6000))], {}, dtype={"int8": "uint8", "uint8": "int8"}[m.dtype])


def to_int8(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m, 6000))], {}, dtype="int8")


def to_int16(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m, 6000))], {}, dtype="int16")


def to_int32(m: Maker) -> Graph:
    return m.graph([m.add(_shape(m, 6000))], {}, 1e-6, dtype="int32")


def _scale(m: Maker, low: float, high: float) -> float:
    return float(np.float32(2.0 ** m.rng.uniform(low, high)))


def _state(m: Maker, shape: tuple[int, ...], scale: float, dtype: str) -> int:
    m.tensors.append(Tensor(len(m.tensors), "state", shape, dtype, Quantization((scale,), (0,)), None, True))
    return len(m.tensors) - 1


def _matrix(m: Maker, shape: tuple[int, ...], scale: float, dtype: str = "int8") -> int:
    most = int(np.iinfo(dtype).max)
    return m.add(shape, scale, dtype, m.rng.integers(-most, most, shape))


def svdf(m: Maker) -> Graph:
    depth, units, rank, memory = (
        m.pick(8, 16, 32, 48, 96),
        m.pick(4, 8, 16, 32, 64),
        m.pick(1, 1, 2),
        m.pick(4, 8, 10, 32),
    )
    dtype, filters = m.pick("int8", "int16"), units * rank
    time = 0.01 if dtype == "int8" else 4e-5
    x, features = m.add((1, depth)), _matrix(m, (filters, depth), 0.01)
    weights, bias = _matrix(m, (filters, memory), time, dtype), m.add((units,), 1.0, "int32", [9] * units)
    state = _state(m, (1, filters * memory), 0.3 if dtype == "int8" else 1e-3, dtype)
    return m.graph([x, features, weights, bias, state], {"rank": rank, "activation": "NONE"}, 0.2)


def lstm(m: Maker) -> Graph:
    steps, depth, units = m.pick(1, 2, 5, 9), m.pick(4, 10, 28, 40, 64, 128), m.pick(4, 8, 20, 33, 48, 64)
    x = m.add((1, steps, depth), 0.01)
    floats = m.dtype == "float32"
    sizes = [(units, n) for n in (depth,) * 4 + (units,) * 4]
    if floats:
        matrices = [m.add(size, data=m.rng.normal(0, 0.2, size)) for size in sizes]
        biases = [m.add((units,), data=m.rng.normal(0, 0.2, units)) for _ in range(4)]
    else:
        matrices = [_matrix(m, size, _scale(m, -9, -7)) for size in sizes]
        biases = [m.add((units,), 2.0**-12, "int32", m.rng.integers(-900, 900, units)) for _ in range(4)]
    kinds = ("float32", "float32") if floats else ("int8", "int16")
    states = [_state(m, (1, units), 2.0**-7, kinds[0]), _state(m, (1, units), 2.0**-11, kinds[1])]
    inputs = [x, *matrices, *biases, *states]
    options = {"activation": "TANH", "cell_clip": m.pick(0.0, 10.0), "time_major": False}
    graph = m.graph(inputs, options, 2.0**-7)
    op = replace(graph.operators[0], inputs=(*inputs[:9], -1, -1, -1, *inputs[9:13], -1, -1, *inputs[13:], *(-1,) * 4))
    return replace(graph, operators=(op,))


Case = tuple[str, Callable[[Maker], Graph], int, int]  # operator, shapes, how many, multiplications
OWN: tuple[Case, ...] = (
    ("CONV_2D", pointwise, 60, 4 * MOST),
    ("CONV_2D", columns, 90, 4 * MOST),
    ("CONV_2D", dilated, 16, MOST),
    ("DEPTHWISE_CONV_2D", depthwise_3x3, 60, 2 * MOST),
    ("DEPTHWISE_CONV_2D", depthwise_columns, 60, 2 * MOST),
    ("DEPTHWISE_CONV_2D", depthwise_plain, 30, MOST),
    ("FULLY_CONNECTED", fully_connected, 50, MOST),
    ("ADD", same_shapes, 24, 0),
    ("ADD", broadcast, 12, 0),
    ("MUL", same_shapes, 16, 0),
    ("MUL", broadcast, 12, 0),
    ("AVERAGE_POOL_2D", pool, 30, MOST),
    ("MAX_POOL_2D", pool, 40, MOST),
)


def large_pool(m: Maker) -> Graph:
    """Windows of more elements than a sum of 16 bits holds."""
    size, depth = m.pick((17, 17), (20, 14), (1, 300)), m.pick(1, 3, 8, 16)
    options = _window(m, 1, "VALID") | {"filter_h": size[0], "filter_w": size[1], "activation": "NONE"}
    return m.graph([m.add((1, size[0] + m.pick(0, 2), size[1] + m.pick(0, 3), depth))], options)


OF_2020: tuple[Case, ...] = (*OWN, ("AVERAGE_POOL_2D", large_pool, 10, 0))
PLAIN: tuple[Case, ...] = (
    ("CONV_2D", any_convolution, 60, MOST),
    ("DEPTHWISE_CONV_2D", depthwise_any, 50, MOST),
    ("FULLY_CONNECTED", fully_connected, 40, MOST),
    ("ADD", same_shapes, 16, 0),
    ("MUL", same_shapes, 12, 0),
    ("AVERAGE_POOL_2D", pool, 30, MOST // 2),
    ("MAX_POOL_2D", pool, 30, MOST // 2),
)
SHARED: tuple[Case, ...] = (  # in every set
    ("SUB", same_shapes, 12, 0),
    ("MAXIMUM", extrema, 8, 0),
    ("MINIMUM", extrema, 8, 0),
    ("MEAN", mean, 16, 0),
    ("SOFTMAX", softmax, 24, 0),
    *((kind, unary, 8, 0) for kind in ("RELU", "LEAKY_RELU", "LOGISTIC", "TANH", "HARD_SWISH", "QUANTIZE")),
    ("QUANTIZE", requantize, 8, 0),
    ("RESIZE_BILINEAR", resize, 10, 0),
    ("DEQUANTIZE", dequantize, 6, 0),
    ("QUANTIZE", quantize, 6, 0),
)
IN_FLOATS = (*PLAIN, *(case for case in SHARED if case[0] not in ("QUANTIZE", "DEQUANTIZE")))
BYTES: tuple[Case, ...] = (  # whatever the type
    ("RESHAPE", reshape, 20, 0),
    ("CONCATENATION", concatenation, 24, 0),
    ("PAD", padding, 16, 0),
    ("PAD", padded_axes, 48, 0),
    ("PADV2", padding, 12, 0),
    ("PADV2", padded_axes, 16, 0),
    ("RESIZE_NEAREST_NEIGHBOR", resize, 12, 0),
)
WIDE: tuple[Case, ...] = (  # of elements of 16 bits alone
    ("PAD", padding, 16, 0),
    ("PAD", padded_axes, 48, 0),
    ("RESIZE_NEAREST_NEIGHBOR", resize, 12, 0),
    ("QUANTIZE", to_int8, 8, 0),
    ("QUANTIZE", to_int32, 8, 0),
)


def softmax_16(m: Maker) -> Graph:
    shape = (m.pick(1, 1, 2, 5), m.pick(2, 3, 4, 5, 8, 10, 12, 16, 25, 50, 100, 256))
    return m.graph([m.add(shape, m.pick(0.05, 0.1))], {"beta": 1.0}, 2**-16, dtype="int16")


STATE: tuple[Case, ...] = (("SVDF", svdf, 30, 0), ("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm, 30, 0))


DEPTHS = (8, 16, 24, 48)


def of_a_depth(m: Maker) -> Graph:
    depth, out = m.pick(*DEPTHS), m.pick(*WIDTHS)
    return unclamped(convolution(m, (1, 1), (*sides(m, depth * out), depth), out))


def of_any_depth(m: Maker) -> Graph:
    depth, out = m.pick(*[w for w in (*WIDTHS, 320) if w not in DEPTHS]), m.pick(*WIDTHS)
    return unclamped(convolution(m, (1, 1), (*sides(m, depth * out), depth), out))


def of_an_image(m: Maker) -> Graph:
    out, stride = m.pick(8, 16, 24, 32, 40), m.pick(1, 2, 2)
    height, width = sides(m, 27 * out // stride**2)
    return unclamped(convolution(m, (3, 3), (height + 2, width + 2, 3), out, stride, padding=m.pick("SAME", "VALID")))


def unclamped(graph: Graph) -> Graph:
    """A range of outputs smaller than a byte's takes another pass, which costs leave out."""
    op = graph.operators[0]
    return replace(graph, operators=(replace(op, options={**op.options, "activation": "NONE"}),))


def unclamped_of(shapes: Callable[[Maker], Graph]) -> Callable[[Maker], Graph]:
    return lambda m: unclamped(shapes(m))


def square(m: Maker) -> Graph:
    size = m.pick(3, 5, 7)
    return unclamped(_depthwise(m, (size, size)))


def enlarged(m: Maker) -> Graph:
    """Of the same shapes, with an output whose scale is smaller than that of the result."""
    graph = same_shapes(m)
    scale = m.pick(0.002, 0.0008) if m.kind == "MUL" else m.pick(8e-8, 3e-8)
    tensors = list(graph.tensors)
    tensors[-1] = replace(tensors[-1], quantization=Quantization((scale,), (m.pick(-128, 0, 3),)))
    return replace(graph, tensors=tuple(tensors))


UNPACK_ALONE = " unpack"  # in the name of a graph: what unpacks filters, by its call
RANGE_ALONE = " range"  # in the name of a graph: the pass over its outputs alone


def range_alone(m: Maker) -> Graph:
    """Of a convolution whose outputs are clamped to less than the range of a byte."""
    graph = columns(m)
    op = graph.operators[0]
    clamped = replace(op, options={**op.options, "activation": "RELU6"})
    return replace(graph, name=f"micro{RANGE_ALONE}", operators=(clamped,))


def of_many_taps(m: Maker) -> Graph:
    """Patches of more bytes than are put together at a time, pixels whose channels are no multiple of 4."""
    size, depth = m.pick(
        ((3, 3), 29), ((3, 3), 33), ((5, 5), 11), ((5, 5), 18), ((7, 7), 6), ((7, 1), 41), ((1, 7), 62)
    )
    stride, out = m.pick(1, 1, 2), m.pick(*[width for width in WIDTHS if width <= 24])
    height, width = sides(m, size[0] * size[1] * depth * out // stride**2)
    source = (min(height, 8) + size[0] - 1, min(width, 8) + size[1] - 1, depth)
    return unclamped(convolution(m, size, source, out, stride, padding=m.pick("SAME", "VALID")))


FEW = (1, 2, 3, 4, 5, 6, 8, 12, 16)


def long_windows(m: Maker) -> Graph:
    """Depthwise, of many taps or of a stride that no function is unrolled for."""
    size = m.pick((9, 9), (5, 7), (7, 5), (3, 9), (11, 11), (7, 7), (1, 9), (5, 5))
    return unclamped(_depthwise(m, size, depths=FEW, strides=(3,) if size in ((5, 5), (7, 7)) else (1, 1, 2, 3)))


def apart(m: Maker) -> Graph:
    """Depthwise, of taps that are not next to each other."""
    return unclamped(_depthwise(m, m.pick((3, 3), (5, 5)), dilation=m.pick(2, 2, 3), depths=FEW, strides=(1,)))


def far_taps(m: Maker) -> Graph:
    """Dilated convolutions of few channels and many taps."""
    size, depth, out = m.pick((5, 5), (7, 7), (3, 3)), m.pick(1, 2, 3, 4, 6), m.pick(1, 2, 3, 4, 8)
    dilation = m.pick(2, 3)
    height, width = sides(m, size[0] * size[1] * depth * out)
    source = (height + dilation * (size[0] - 1), width + dilation * (size[1] - 1), depth)
    return unclamped(convolution(m, size, source, out, 1, dilation, padding=m.pick("SAME", "VALID")))


def few_pixels(m: Maker) -> Graph:
    """Convolutions whose last pixel is alone, and is much of their work."""
    size, depth = m.pick((3, 3), (5, 5), (9, 9), (4, 4), (1, 5)), m.pick(4, 8, 12, 16, 32, 64)
    most = m.macs // (4 * size[0] * size[1] * depth)
    out = m.pick(*[width for width in WIDTHS if width <= max(2, most)])
    source = (size[0], size[1] + m.pick(0, 0, 2, 4), depth)
    return unclamped(convolution(m, size, source, out, padding="VALID"))


def of_few_channels(m: Maker) -> Graph:
    """Pointwise, of one to three groups of four elements."""
    depth, out = m.pick(1, 2, 3, 4, 4, 5, 6, 12), m.pick(1, 2, 3, 5, 8, 16, 24, 32, 48)
    return unclamped(convolution(m, (1, 1), (*sides(m, depth * out), depth), out))


def of_odd_depth(m: Maker) -> Graph:
    """Pointwise, of pixels and filters most of which begin between words."""
    depth, out = m.pick(7, 9, 11, 15, 18, 19, 27, 27, 33, 50, 75, 79, 101), m.pick(1, 2, 4, 8, 16, 24, 32, 48)
    return unclamped(convolution(m, (1, 1), (*sides(m, depth * out), depth), out))


def plainly(shapes: Callable[[Maker], Graph]) -> Callable[[Maker], Graph]:
    """Calls with output channels that are not rescaled in the quick way: some are scaled by 0.5 to 4."""

    def made(m: Maker) -> Graph:
        graph = shapes(m)
        op, tensors = graph.operators[0], list(graph.tensors)
        filters, source, output = (tensors[i] for i in (op.inputs[1], op.inputs[0], op.outputs[0]))
        channels = tensors[op.inputs[2]].elements
        scales = np.full(channels, filters.quantization.scales[0])
        chosen = m.rng.permutation(channels)[: m.pick(1, 1, 2, channels // 3 + 1, channels)]
        real = 2.0 ** m.rng.uniform(-0.9, 1.9, chosen.size)
        scales[chosen] = real * output.quantization.scales[0] / source.quantization.scales[0]
        quantization = Quantization(tuple(map(float, scales)), (0,) * channels)
        tensors[op.inputs[1]] = replace(filters, quantization=quantization)
        return replace(graph, tensors=tuple(tensors))

    return made


def left_out(shapes: Callable[[Maker], Graph], *techniques: str) -> Callable[[Maker], Graph]:
    """Calls of the functions that do without ``techniques``."""
    return lambda m: replace(shapes(m), name=f"micro{WITHOUT}{' '.join(techniques)}")


OF_TINYENGINE: tuple[Case, ...] = (
    ("CONV_2D", of_a_depth, 120, 4 * MOST),
    ("CONV_2D", of_any_depth, 60, 4 * MOST),
    ("CONV_2D", of_an_image, 40, 4 * MOST),
    ("CONV_2D", unclamped_of(columns), 90, 4 * MOST),
    ("CONV_2D", unclamped_of(dilated), 24, MOST),
    ("DEPTHWISE_CONV_2D", square, 240, 2 * MOST),
    ("DEPTHWISE_CONV_2D", unclamped_of(depthwise_columns), 60, 2 * MOST),
    ("DEPTHWISE_CONV_2D", unclamped_of(depthwise_plain), 30, MOST),
    ("DEPTHWISE_CONV_2D", left_out(square, "tiling"), 120, 2 * MOST),
    ("DEPTHWISE_CONV_2D", left_out(square, "unrolling", "tiling"), 40, 2 * MOST),
    ("CONV_2D", left_out(of_a_depth, "unrolling"), 40, 4 * MOST),
    ("CONV_2D", left_out(of_an_image, "unrolling"), 20, 4 * MOST),
    ("PAD", padded_images, 48, 0),
    ("AVERAGE_POOL_2D", odd_pool, 40, 0),
    ("MAX_POOL_2D", odd_pool, 40, 0),
    ("ADD", enlarged, 16, 0),
    ("MUL", enlarged, 16, 0),
    ("CONV_2D", of_many_taps, 80, 4 * MOST),
    ("CONV_2D", range_alone, 20, MOST),
    ("CONV_2D", plainly(of_many_taps), 80, 4 * MOST),
    ("CONV_2D", plainly(of_a_depth), 60, 4 * MOST),
    ("CONV_2D", plainly(of_any_depth), 30, 4 * MOST),
    ("CONV_2D", plainly(of_an_image), 20, 4 * MOST),
    ("CONV_2D", plainly(unclamped_of(columns)), 60, 4 * MOST),
    ("CONV_2D", plainly(unclamped_of(dilated)), 20, MOST),
    ("DEPTHWISE_CONV_2D", plainly(square), 240, 2 * MOST),
    ("DEPTHWISE_CONV_2D", plainly(unclamped_of(depthwise_columns)), 60, 2 * MOST),
    ("DEPTHWISE_CONV_2D", plainly(left_out(square, "tiling")), 200, 2 * MOST),
    ("DEPTHWISE_CONV_2D", long_windows, 60, 2 * MOST),
    ("DEPTHWISE_CONV_2D", plainly(long_windows), 120, 2 * MOST),
    ("DEPTHWISE_CONV_2D", apart, 30, 2 * MOST),
    ("CONV_2D", far_taps, 30, MOST),
    ("CONV_2D", plainly(far_taps), 30, MOST),
    ("CONV_2D", few_pixels, 30, 4 * MOST),
    ("CONV_2D", plainly(few_pixels), 60, 4 * MOST),
    ("CONV_2D", of_few_channels, 40, MOST),
    ("CONV_2D", plainly(of_few_channels), 40, MOST),
    ("CONV_2D", of_odd_depth, 40, 4 * MOST),
    ("CONV_2D", plainly(of_odd_depth), 60, 4 * MOST),
    *OWN[6:],
)
OF_SET = {"tinyengine": OF_TINYENGINE, "reference": PLAIN, "cmsis-2020": OF_2020, "cmsis-2020-os": OF_2020}


def cases(name: str) -> Iterator[Graph]:
    """Every operator to run for the set of that name."""
    rows = [(case, "int8") for case in OF_SET.get(name, OWN)]
    rows += [(case, "uint8") for case in PLAIN]
    rows += [(case, dtype) for case in SHARED for dtype in ("int8", "uint8")]
    rows += [(case, "int8") for case in BYTES]
    rows += [(case, "int16") for case in (*PLAIN, *SHARED, *WIDE) if case[0] != "HARD_SWISH" and case[1] != requantize]
    rows += [(("QUANTIZE", to_int16, 8, 0), dtype) for dtype in ("int8", "int32")]
    rows += [(case, "float32") for case in (*IN_FLOATS, ("RESIZE_NEAREST_NEIGHBOR", resize, 12, 0))]
    rows += [(case, "int8") for case in (*STATE, ("SOFTMAX", softmax_16, 24, 0))]
    rows += [(("UNIDIRECTIONAL_SEQUENCE_LSTM", lstm, 30, 0), "float32")]
    for (kind, shapes, count, macs), dtype in rows:
        for seed in range(count):
            yield shapes(Maker(kind, dtype, seed, macs or MOST))

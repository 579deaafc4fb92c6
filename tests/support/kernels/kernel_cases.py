"""Random graphs of one operator, for the tests of kernels: shapes, scales and zero points to their edges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mcusim.model import Graph, Operator, Quantization, Tensor
from mcusim.model.geometry import GROUPED, PACKED
from mcusim.model.operators import OPERATORS
from tests.support.kernels import selecting_cases as S
from tests.support.kernels.kernel_case import ACTIVATIONS, RANGE, Case


def _window(c: Case, sizes: tuple[int, ...], dilated: bool) -> dict[str, Any]:
    """Options of a window, and its height and width as filter_h and filter_w."""
    options: dict[str, Any] = {"padding": c.pick("SAME", "VALID"), "activation": c.pick(*ACTIVATIONS)}
    for axis, size in zip("hw", sizes, strict=True):
        options[f"stride_{axis}"] = c.integer(1, 3)
        dilation = c.integer(1, 3) if dilated and c.integer(0, 2) == 0 else 1
        most = (size - 1) // dilation + 1 if options["padding"] == "VALID" else 5
        options[f"filter_{axis}"] = c.integer(1, min(5, most))
        if dilated:
            options[f"dilation_{axis}"] = dilation
    return options


def _convolution_output(c: Case, source: int, weights: int, count: int) -> float:
    """An output scale that spreads the sums over the output's range; one in eight anything."""
    sums = 150 * np.sqrt(count) + (c.reach / RANGE[c.dtype][1] if c.reach > 1000 else 0)
    spread = c.scales(source)[0] * max(c.scales(weights)) * sums
    return c.scale() if c.integer(0, 7) == 0 else float(np.float32(spread * c.rng.uniform(0.2, 2)))


def conv(c: Case, grouped: bool = False) -> Graph:
    shape = c.shape(4, 9)
    source = c.activation((*shape[:3], c.pick(2, 3, 4, 6, 8, 9, 12)) if grouped else shape)
    _, height, width, channels = c.tensors[source].shape
    options = _window(c, (height, width), True)
    size, out = (options.pop("filter_h"), options.pop("filter_w")), c.integer(1, 9)
    if grouped:
        groups = c.pick(*(n for n in range(2, channels + 1) if channels % n == 0))
        channels, out = channels // groups, c.integer(1, 3) * groups
    weights = c.weights((out, *size, channels), out, 0)
    inputs = [source, weights, c.bias(source, weights, out)]  # LiteRT refuses an int8 convolution without a bias
    scale = _convolution_output(c, source, weights, size[0] * size[1] * channels)
    return c.graph(inputs, options, scale=scale)


def depthwise(c: Case) -> Graph:
    multiplier = c.pick(1, 1, 1, 2, 3)
    source = c.activation(c.shape(4, 9))
    _, height, width, channels = c.tensors[source].shape
    options = _window(c, (height, width), True) | {"depth_multiplier": multiplier}
    size, out = (options.pop("filter_h"), options.pop("filter_w")), channels * multiplier
    weights = c.weights((1, *size, out), out, 3)
    inputs = [source, weights, c.bias(source, weights, out)]
    return c.graph(inputs, options, scale=_convolution_output(c, source, weights, size[0] * size[1]))


def fully_connected(c: Case) -> Graph:
    rows, depth, units = c.integer(1, 3), c.integer(1, 70), c.integer(1, 20)
    source = c.activation((rows, depth))
    weights = c.weights((units, depth), units, 0)
    options = {"activation": c.pick(*ACTIVATIONS), "keep_num_dims": False, "weights_format": 0}
    inputs = [source, weights, c.bias(source, weights, units)][: c.pick(2, 3, 3, 3)]
    scale = _convolution_output(c, source, weights, depth)
    # LiteRT converts a float64 to int32 here: what that does out of range is not C's to say
    least = c.scales(source)[0] * max(c.scales(weights))
    scale = min(scale, least * 2**20) if c.dtype == "int16" else scale  # below 2**-31 multipliers are 0
    return c.graph(inputs, options, scale=float(np.float32(max(scale, least))))


def pool(c: Case) -> Graph:
    source = c.activation(c.shape(4, 9))
    shape, found = c.tensors[source].shape, c.tensors[source].quantization
    assert found is not None
    options = _window(c, shape[1:3], False)
    return c.graph([source], options, scale=found.scales[0], zero=found.zero_points[0])


def binary(c: Case) -> Graph:
    shape = list(c.shape(c.pick(1, 2, 3, 4, 4, 4), 6))
    first, second = [*shape], [*shape]
    for axis in range(len(shape)):
        if c.integer(0, 4) == 0:
            c.pick(first, second)[axis] = 1
    extremum = c.kind in ("MAXIMUM", "MINIMUM")
    a = c.activation(first)
    found = c.tensors[a].quantization
    assert found is not None
    same = {"scale": found.scales[0], "zero": found.zero_points[0]} if extremum else {}
    b = c.activation(second, **same)
    if not extremum:
        scale = max(c.scales(a)[0], c.scales(b)[0]) * c.rng.uniform(0.3, 3)
        if c.kind == "MUL":
            scale = c.scales(a)[0] * c.scales(b)[0] * c.rng.uniform(3, 300) * RANGE[c.dtype][1] / 127
        if c.kind == "SQUARED_DIFFERENCE":
            scale = max(c.scales(a)[0], c.scales(b)[0]) ** 2 * c.rng.uniform(3, 600)
        same = {"scale": float(np.float32(scale))}
    options = {} if extremum or not OPERATORS[c.kind].fields else {"activation": c.pick(*ACTIVATIONS)}
    if c.dtype == "int16" and c.kind in ("ADD", "SUB"):
        options["pot_scale_int16"] = c.pick(False, True, True)
        whole = first == second or c.kind == "SUB"  # LiteRT stops at an ADD of powers of two that is broadcast
        same = {"scale": _powers(c, a, b)} if c.integer(0, 3) == 0 and whole else same
    return c.graph([a, b], options, **same)


def _powers(c: Case, a: int, b: int) -> float:
    """Makes all scales powers of two, one input's that of the output, which is returned."""
    step = c.pick(0, 1, 3, 7)
    for index, power in zip((a, b), c.pick((-12, -12 - step), (-12 - step, -12)), strict=True):
        c.tensors[index] = replace(c.tensors[index], quantization=Quantization((2.0**power,), (0,)))
    return 2.0**-12


def concatenation(c: Case) -> Graph:
    shape = c.shape(c.pick(1, 2, 3, 4), 6)
    axis = c.integer(-len(shape), len(shape) - 1)
    scale, zero = (c.scale(), c.zero()) if c.dtype in RANGE else (None, None)
    inputs = []
    for _ in range(c.integer(1, 5)):
        size = [*shape]
        size[axis] = c.integer(1, 6)
        own = c.dtype == "uint8" and c.integer(0, 1)
        inputs.append(c.activation(size) if own else c.activation(size, scale=scale, zero=zero))
    return c.graph(inputs, {"axis": axis, "activation": "NONE"}, scale=scale, zero=zero)


def mean(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(2, 3, 4, 4), 8))
    rank = len(c.tensors[source].shape)
    axes = sorted(c.rng.choice(rank, c.integer(1, rank), replace=False)) if c.integer(0, 1) or rank < 4 else [1, 2]
    scale = c.scales(source)[0] * c.rng.uniform(0.3, 3)
    return c.graph([source, c.integers(axes)], {"keep_dims": c.pick(True, False)}, scale=float(np.float32(scale)))


def _kept(c: Case, source: int) -> dict[str, Any]:
    """Scale and zero point of the input, for operators that move bytes."""
    if c.dtype not in RANGE:
        return {}
    found = c.tensors[source].quantization
    assert found is not None
    return {"scale": found.scales[0], "zero": found.zero_points[0]}


def pad(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4, 4), 5))
    kept, rank = _kept(c, source), len(c.tensors[source].shape)
    amounts = c.rng.integers(0, 4, (rank, 2))
    amounts[0] *= c.integer(0, 1)
    inputs = [source, c.integers(amounts)]
    if c.kind == "PADV2":
        inputs.append(c.add((1,), kept["scale"], kept["zero"], data=[c.integer(*RANGE[c.dtype])]))
    return c.graph(inputs, {}, **kept)


def reshape(c: Case) -> Graph:
    source = c.activation(c.shape(4, 5))
    shape, kept = c.tensors[source].shape, _kept(c, source)
    if c.kind == "EXPAND_DIMS":
        axis = c.integer(0, 3)
        return c.graph([source, c.integers([axis])], {}, shape=(*shape[:axis], 1, *shape[axis:]), **kept)
    if c.kind == "SQUEEZE":
        kept_axes = tuple(d for d in shape if d > 1) or (1,)
        squeezed = kept_axes if max(shape) > 1 else ()
        return c.graph([source], {}, shape=squeezed, **kept)
    turned = (shape[0] * shape[1], shape[2] * shape[3])
    return c.graph([source, c.integers(turned)], {}, shape=turned, **kept)


def softmax(c: Case, to: str = "") -> Graph:
    source = c.activation(
        c.shape(c.pick(1, 2, 4), 12), scale=c.pick(c.scale(), *((0.1, 0.05) if c.dtype != "int16" else (3e-4, 1e-3)))
    )
    beta = c.pick(1.0, 1.0, 0.5, 2.0)
    if c.dtype == "int16":
        return c.graph([source], {"beta": beta}, scale=2**-15)
    if to:
        return c.graph([source], {"beta": beta}, scale=2**-16, zero=RANGE[to][0], dtype=to)
    return c.graph([source], {"beta": beta}, scale=1 / 256, zero=RANGE[c.dtype][0])


def transpose_conv(c: Case) -> Graph:
    source = c.activation(c.shape(4, 6))
    batch, height, width, channels = c.tensors[source].shape
    padding, out = c.pick("SAME", "VALID"), c.integer(1, 7)
    kernel, stride = (c.integer(1, 5), c.integer(1, 5)), (c.integer(1, 3), c.integer(1, 3))
    sizes = [
        (n - 1) * s + 1 + c.integer(0, s - 1) if padding == "SAME" else (n - 1) * s + k + c.integer(0, s - 1)
        for n, s, k in zip((height, width), stride, kernel, strict=True)
    ]
    weights = c.weights((out, *kernel, channels), out, 0)
    inputs = [c.integers((batch, *sizes, out)), weights, source, c.bias(source, weights, out)][: c.pick(3, 4, 4)]
    options = {"padding": padding, "stride_h": stride[0], "stride_w": stride[1], "activation": c.pick(*ACTIVATIONS)}
    scale = _convolution_output(c, source, weights, kernel[0] * kernel[1] * channels)
    return c.graph(inputs, options, scale=scale)


def log_softmax(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 4), 12), scale=c.pick(0.5, 0.1, 0.05, 0.01, 0.002))
    return c.graph([source], {}, scale=16 / 256, zero=RANGE[c.dtype][1])


def l2_normalization(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4), 12))
    return c.graph([source], {}, scale=1 / 128, zero=sum(RANGE[c.dtype]) // 2 + 1)


def unary(c: Case) -> Graph:
    source, options, more = c.activation(c.shape(c.pick(1, 2, 4), 12)), {}, {}
    if c.kind == "LEAKY_RELU":
        options["alpha"] = float(np.float32(c.pick(0.1, 0.3, 0.01, 1.5)))
    if c.kind in ("LOGISTIC", "TANH") and c.dtype == "int16":
        if c.integer(0, 2) == 0:
            source = c.activation(c.tensors[source].shape, scale=c.pick(2**-12, 2**-11, 2**-13, 2**-10))
            c.data.pop(0)
        more = {"scale": 2**-15}
    elif c.kind == "LOGISTIC":
        more = {"scale": 1 / 256, "zero": c.pick(*(RANGE[c.dtype][0],) * 2, c.zero())}
    elif c.kind == "TANH":
        more = {"scale": c.pick(1 / 128, 1 / 128, 0.01), "zero": c.pick(0, 0, c.zero())}
    elif c.kind == "HARD_SWISH":
        more = {"scale": float(np.float32(c.scales(source)[0] * c.rng.uniform(0.1, 4)))}
    elif c.integer(0, 3):
        more = {"scale": float(np.float32(c.scales(source)[0] * c.rng.uniform(0.3, 3)))}
    return c.graph([source], options, **more)


def dequantize(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 4), 12))
    shape = c.tensors[source].shape
    out = c.add(shape, dtype="float32")
    op = Operator(0, "DEQUANTIZE", (source,), (out,), {})
    return Graph("case", tuple(c.tensors), (op,), (source,), (out,), "")


def strided_slice(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4), 9))
    shape, begin, end, step = c.tensors[source].shape, [], [], []
    for size in shape:
        low, high = sorted((c.integer(0, size - 1), c.integer(1, size)))
        high, by = max(high, low + 1), c.pick(1, 1, 2, 3)
        if c.integer(0, 4) == 0:  # backwards
            low, high, by = high - 1, low - 1 if low else -size - 1, -by
        elif c.integer(0, 3) == 0:
            low -= size
        begin, end, step = [*begin, low], [*end, high], [*step, by]
    masks = {name: c.integer(0, 15) & c.integer(0, 15) for name in ("begin_mask", "end_mask")}
    shrink = c.pick(0, 0, c.integer(0, 15))
    for axis in range(len(shape)):
        if shrink & 1 << axis:
            begin[axis], step[axis] = c.integer(0, shape[axis] - 1), 1
            end[axis] = begin[axis] + 1
            masks = {name: mask & ~(1 << axis) for name, mask in masks.items()}
    options = masks | {"ellipsis_mask": 0, "new_axis_mask": 0, "shrink_axis_mask": shrink}
    return c.graph([source, *map(c.integers, (begin, end, step))], options, **_kept(c, source))


def slice_(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(1, 2, 3, 4), 9))
    begin = [c.integer(0, size - 1) for size in c.tensors[source].shape]
    sizes = [c.pick(-1, c.integer(1, n - b)) for n, b in zip(c.tensors[source].shape, begin, strict=True)]
    return c.graph([source, c.integers(begin), c.integers(sizes)], {}, **_kept(c, source))


def split(c: Case) -> Graph:
    parts, shape = c.integer(1, 4), [*c.shape(c.pick(1, 2, 3, 4), 4)]
    axis = c.integer(-len(shape), len(shape) - 1)
    shape[axis] *= parts
    where = c.integers([axis])
    source = c.activation(shape)
    return c.graph([where, source], {"num_splits": parts}, **_kept(c, source))


def transpose(c: Case) -> Graph:
    source = c.activation(c.shape(c.pick(2, 3, 4, 4, 5), 5))
    order = c.rng.permutation(len(c.tensors[source].shape))
    return c.graph([source, c.integers(order)], {}, **_kept(c, source))


def resize(c: Case) -> Graph:
    source = c.activation(c.shape(4, 9))
    align = c.pick(False, False, True)
    options = {"align_corners": align, "half_pixel_centers": c.pick(False, True) and not align}
    size = c.integers([c.integer(1, 12), c.integer(1, 12)])
    return c.graph([source, size], options, **_kept(c, source))


_MAKERS: dict[str, Callable[[Case], Graph]] = {
    "conv": conv, "depthwise": depthwise, "fully_connected": fully_connected, "broadcast": binary,
    "concatenation": concatenation, "pool": pool, "mean": mean, "pad": pad, "elements": reshape, "same": unary,
    "strided_slice": strided_slice, "slice": slice_, "split": split, "transpose": transpose, "resize": resize,
    "transpose_conv": transpose_conv, **S.MAKERS,
}  # fmt: skip


def in_floats(graph: Graph, seed: int) -> Graph:
    """With floats for all that has a scale."""
    rng = np.random.default_rng(seed)

    def as_float(t: Tensor) -> Tensor:
        if t.quantization is None:
            return t
        data = None if t.data is None else rng.normal(0, rng.choice([0.1, 1, 30]), t.shape).astype("<f4")
        return replace(t, dtype="float32", quantization=None, data=data)

    return replace(graph, tensors=tuple(map(as_float, graph.tensors)))


def packed(graph: Graph) -> Graph:
    """With a filter of int4, two values a byte; that of a FULLY_CONNECTED has one scale."""
    op, tensors = graph.operators[0], [*graph.tensors]
    weights = tensors[op.inputs[1]]
    assert weights.data is not None
    values = np.append(weights.data.reshape(-1).view(np.int8) >> 4, 0)[: (weights.elements + 1) // 2 * 2]
    data = (values[0::2] & 15 | values[1::2] << 4).astype(np.uint8)
    tensors[op.inputs[1]] = replace(weights, dtype="int4", data=data, stored_bytes=data.nbytes)
    for index in op.inputs[1:] if not op.traits.per_channel else ():
        quantization = tensors[index].quantization
        if quantization is not None:
            single = Quantization(quantization.scales[:1], quantization.zero_points[:1])
            tensors[index] = replace(tensors[index], quantization=single)
    return replace(graph, tensors=tuple(tensors))


def one_operator(kind: str, types: str, seed: int) -> Graph:
    """A random graph of one ``kind``; ``types`` as a manifest writes them (``int8``, ``float32_to_int8`` ...)."""
    if PACKED in types or GROUPED in types:
        c = Case(kind, types.split("_", maxsplit=1)[0], seed)
        graph = conv(c, True) if GROUPED in types else _MAKERS[OPERATORS[kind].rule](c)
        return packed(graph) if PACKED in types else graph
    spec = OPERATORS[kind]
    if types.startswith("float32") and "int8" in spec.traits.types and not (spec.traits.casts or spec.traits.fills):
        return in_floats(one_operator(kind, types.replace("float32", "int8"), seed), seed)
    first, _, last = types.partition("_to_")
    c = Case(kind, last if last in RANGE and first not in RANGE else first, seed)
    if kind == "SOFTMAX":
        return softmax(c, last)
    if kind == "DEQUANTIZE":
        return dequantize(c)
    c.types = first, last or first
    own: dict[str, Callable[[Case], Graph]]
    own = {"CAST": S.cast, "LOG_SOFTMAX": log_softmax, "L2_NORMALIZATION": l2_normalization}
    if kind in own:
        return own[kind](c)
    if c.dtype not in RANGE and OPERATORS[kind].rule in ("broadcast", "same"):
        return S.plain_binary(c) if OPERATORS[kind].rule == "broadcast" else S.plain_unary(c)
    if last and not OPERATORS[kind].traits.output_types:
        source = c.add(c.shape(c.pick(1, 2, 4), 12), c.scale() if first in RANGE else None, c.zero(last), first)
        c.data.append(source)
        wide = "int16" in (first, last) and first in RANGE
        scale = c.scales(source)[0] * RANGE[first][1] / RANGE[last][1] * c.rng.uniform(0.3, 3) if wide else None
        return c.graph([source], {}, dtype=last, scale=scale)
    return _MAKERS[OPERATORS[kind].rule](c)


def inputs_for(graph: Graph, seed: int) -> list[Any]:
    """Random data for the graph's inputs, its extremes included."""
    rng, found = np.random.default_rng([seed, 7]), []
    for index in graph.inputs:
        tensor = graph.tensors[index]
        if tensor.dtype == "float32":
            reach = 10.0 ** rng.uniform(-3, 2)
            found.append(rng.normal(0, reach, tensor.shape).astype(np.float32))
            if graph.operators[0].type == "SQRT":
                found[-1] = np.abs(found[-1])
            continue
        if tensor.dtype not in RANGE:  # sums and products of some that do not overflow, more than a byte holds
            found.append(rng.integers(-30_000, 30_000, tensor.shape).astype(tensor.dtype))
            continue
        low, high = RANGE[tensor.dtype]
        spread = rng.integers(low, high + 1, tensor.shape)
        edge = rng.choice([low, high], tensor.shape)
        found.append(np.where(rng.random(tensor.shape) < rng.choice([0, 0.1, 0.9]), edge, spread).astype(tensor.dtype))
    return found

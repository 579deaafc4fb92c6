"""Output shapes that follow from an operator's inputs and options; the reader checks a file's shapes against them.
Every rule takes (inputs, options) and returns the expected output shapes; it raises ModelError, without naming
the operator, when the inputs contradict each other. Windows of convolutions and pools follow TFLite's ``padding.h``.

``LOOP_NESTS`` has, by rule, the loops of operators that do more than go over their elements, as fields of a
:class:`mcusim.model.geometry.Geometry`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

from mcusim.errors import ModelError
from mcusim.model import matrix_shapes as M
from mcusim.model import rearranged_shapes as R
from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.shape_checks import Inputs, Options, Shape, axis_of, constant_integers, rank4
from mcusim.model.shapes_of_state import lstm, svdf


def output_size(size: int, kernel: int, stride: int, dilation: int, padding: str) -> int:
    """Outputs along one axis; 0 or less when a VALID window is larger than the input."""
    if padding == "SAME":
        return -(-size // stride)
    return (size + stride - ((kernel - 1) * dilation + 1)) // stride


def padding_split(size: int, kernel: int, stride: int, dilation: int, out: int) -> tuple[int, int]:
    """Padding (before, after) that makes ``out`` windows fit; the odd element goes after, as in TFLite."""
    total = max(0, (out - 1) * stride + (kernel - 1) * dilation + 1 - size)
    return total // 2, total - total // 2


def _spatial(source: Shape, kernel: tuple[int, int], options: Options) -> tuple[int, int]:
    sizes = []
    for axis, size, length in (("h", source[1], kernel[0]), ("w", source[2], kernel[1])):
        dilation = options.get(f"dilation_{axis}", 1)
        out = output_size(size, length, options[f"stride_{axis}"], dilation, options["padding"])
        if out < 1:
            raise ModelError(f"a window of {length} (dilation {dilation}) does not fit an input of {size} along {axis}")
        sizes.append(out)
    return sizes[0], sizes[1]


def _bias(inputs: Inputs, channels: int) -> None:
    if len(inputs) > 2 and inputs[2].elements != channels:
        raise ModelError(f"bias '{inputs[2].name}' has {inputs[2].elements} elements for {channels} output channels")


def conv(inputs: Inputs, options: Options) -> list[Shape]:
    source, kernel = rank4(inputs[0], "input"), rank4(inputs[1], "filter")
    if kernel[3] == 0 or source[3] % kernel[3]:
        raise ModelError(f"filter has {kernel[3]} input channels, the input has {source[3]}")
    groups = source[3] // kernel[3]
    if kernel[0] % groups:
        raise ModelError(f"{kernel[0]} output channels are not divided by {groups} groups ({source[3]} / {kernel[3]})")
    _bias(inputs, kernel[0])
    return [(source[0], *_spatial(source, kernel[1:3], options), kernel[0])]  # type: ignore[arg-type]


def depthwise(inputs: Inputs, options: Options) -> list[Shape]:
    source, kernel = rank4(inputs[0], "input"), rank4(inputs[1], "filter")
    multiplier = options["depth_multiplier"] or kernel[3] // source[3]
    if kernel[0] != 1 or kernel[3] != source[3] * multiplier:
        raise ModelError(
            f"depthwise filter {list(kernel)} does not match {source[3]} input channels x depth multiplier {multiplier}"
        )
    _bias(inputs, kernel[3])
    return [(source[0], *_spatial(source, kernel[1:3], options), kernel[3])]  # type: ignore[arg-type]


def fully_connected(inputs: Inputs, options: Options) -> list[Shape]:
    source, weights = inputs[0], inputs[1].shape
    if len(weights) != 2 or not source.shape or source.elements % weights[1]:
        raise ModelError(f"filter {list(weights)} does not match input {list(source.shape)}")
    if options["weights_format"] != 0:
        raise ModelError(f"weights format {options['weights_format']} (shuffled) is not supported")
    _bias(inputs, weights[0])
    if options["keep_num_dims"]:
        return [(*source.shape[:-1], weights[0])]
    return [(source.elements // weights[1], weights[0])]


def broadcast(inputs: Inputs, _: Options) -> list[Shape]:
    first, second = inputs[0].shape, inputs[1].shape
    rank = max(len(first), len(second))
    pairs = list(zip((1,) * (rank - len(first)) + first, (1,) * (rank - len(second)) + second, strict=True))
    if any(a != b and 1 not in (a, b) for a, b in pairs):
        raise ModelError(f"shapes {list(first)} and {list(second)} do not broadcast")
    return [tuple(max(pair) for pair in pairs)]


def concatenation(inputs: Inputs, options: Options) -> list[Shape]:
    first = inputs[0].shape
    axis = axis_of(options["axis"], len(first), "axis")
    for tensor in inputs[1:]:
        if len(tensor.shape) != len(first) or tensor.shape[:axis] + tensor.shape[axis + 1 :] != (
            first[:axis] + first[axis + 1 :]
        ):
            raise ModelError(f"shapes {list(first)} and {list(tensor.shape)} do not join along axis {axis}")
    return [(*first[:axis], sum(t.shape[axis] for t in inputs), *first[axis + 1 :])]


def pool(inputs: Inputs, options: Options) -> list[Shape]:
    source = rank4(inputs[0], "input")
    return [(source[0], *_spatial(source, (options["filter_h"], options["filter_w"]), options), source[3])]


def mean(inputs: Inputs, options: Options) -> list[Shape]:
    source = inputs[0].shape
    axes = {axis_of(a, len(source), "axis") for a in constant_integers(inputs[1], "axes")}
    if options["keep_dims"]:
        return [tuple(1 if i in axes else d for i, d in enumerate(source))]
    return [tuple(d for i, d in enumerate(source) if i not in axes)]


def pad(inputs: Inputs, _: Options) -> list[Shape]:
    source = inputs[0].shape
    table = constant_integers(inputs[1], "paddings", 2 * len(source))
    if min(table, default=0) < 0 or inputs[1].shape != (len(source), 2):
        raise ModelError(f"paddings {table} must be pairs that are not negative, one for each dimension")
    return [tuple(d + table[2 * i] + table[2 * i + 1] for i, d in enumerate(source))]


def slice_(inputs: Inputs, _: Options) -> list[Shape]:
    source = inputs[0].shape
    begin, size = constant_integers(inputs[1], "begin", len(source)), constant_integers(inputs[2], "size", len(source))
    out = tuple(d - b if s == -1 else s for d, b, s in zip(source, begin, size, strict=True))
    if any(b < 0 or n < 1 or b + n > d for d, b, n in zip(source, begin, out, strict=True)):
        raise ModelError(f"slice from {begin} of size {size} is not inside {list(source)}")
    return [out]


def strided_slice(inputs: Inputs, options: Options) -> list[Shape]:
    source = inputs[0].shape
    if options["ellipsis_mask"] or options["new_axis_mask"]:
        raise ModelError("an ellipsis or new axis in a strided slice is not supported")
    begin, end, step = (
        constant_integers(t, what, len(source)) for t, what in zip(inputs[1:], _SLICE_PARTS, strict=True)
    )
    out = []
    for i, size in enumerate(source):
        bit = 1 << i
        if options["shrink_axis_mask"] & bit:
            axis_of(begin[i], size, "begin")
            continue
        if step[i] == 0:
            raise ModelError("a stride of a strided slice is 0")
        first = None if options["begin_mask"] & bit else begin[i]
        last = None if options["end_mask"] & bit else end[i]
        out.append(len(range(*slice(first, last, step[i]).indices(size))))
    return [tuple(out)]


_SLICE_PARTS = ("begin", "end", "strides")


def split(inputs: Inputs, options: Options) -> list[Shape]:
    source, parts = inputs[1].shape, options["num_splits"]
    axis = axis_of(constant_integers(inputs[0], "axis", 1)[0], len(source), "axis")
    if not 1 <= parts <= source[axis] or source[axis] % parts:
        raise ModelError(f"axis {axis} of {list(source)} does not split into {parts} parts")
    return [(*source[:axis], source[axis] // parts, *source[axis + 1 :])] * parts


def transpose(inputs: Inputs, _: Options) -> list[Shape]:
    source, order = inputs[0].shape, constant_integers(inputs[1], "permutation", len(inputs[0].shape))
    if sorted(order) != list(range(len(source))):
        raise ModelError(f"{order} is not a permutation of the axes of {list(source)}")
    return [tuple(source[i] for i in order)]


def resize(inputs: Inputs, _: Options) -> list[Shape]:
    source, size = rank4(inputs[0], "input"), constant_integers(inputs[1], "size", 2)
    return [(source[0], size[0], size[1], source[3])]


def same(inputs: Inputs, _: Options) -> list[Shape]:
    return [inputs[0].shape]


RULES: dict[str, Callable[[Inputs, Options], list[Shape]]] = {
    "conv": conv, "depthwise": depthwise, "fully_connected": fully_connected, "broadcast": broadcast,
    "concatenation": concatenation, "pool": pool, "mean": mean, "pad": pad, "slice": slice_,
    "strided_slice": strided_slice, "split": split, "transpose": transpose, "resize": resize, "same": same,
    "svdf": svdf, "lstm": lstm,
    "reduce": mean, "batch_matmul": M.batch_matmul, **R.RULES,
}  # fmt: skip


def check_shapes(rule: str, inputs: Inputs, options: Options, shapes: list[Shape]) -> None:
    """Raise ModelError unless the outputs have the shapes that ``rule`` gives; ``elements`` asks for equal counts only.

    A FULLY_CONNECTED may keep leading dimensions of 1 that the options do not ask for, as some converters write it. An
    output shape that is an input of the network has to be the one that the file has.
    """
    if rule == "elements":
        if len(shapes) != 1 or prod(shapes[0]) != inputs[0].elements:
            raise ModelError(f"cannot give {[list(s) for s in shapes]} from the shape {list(inputs[0].shape)}")
        return
    if rule == "transpose_conv" and not inputs[0].constant and len(shapes) == 1:
        inputs = [_stated(inputs[0], shapes[0]), *inputs[1:]]
    expected = RULES[rule](inputs, options)
    if rule == "fully_connected" and len(shapes) == 1 and shapes[0][-1:] == expected[0][-1:]:
        expected = [shapes[0]] if prod(shapes[0]) == prod(expected[0]) else expected
    if shapes != expected:
        raise ModelError(f"output shape should be {_text(expected)}, the file has {_text(shapes)}")


def _stated(tensor: Tensor, shape: Shape) -> Tensor:
    """A tensor that holds ``shape``."""
    import numpy as np

    return replace(tensor, shape=(len(shape),), dtype="int32", data=np.array(shape, np.int32))


def _text(shapes: list[Shape]) -> str:
    return ", ".join(str(list(s)) for s in shapes) or "none"


def nhwc(source: Shape, target: Shape) -> dict[str, int]:
    """Sizes of a geometry of two shapes of rank 4."""
    names = ("in_h", "in_w", "in_c", "out_h", "out_w", "out_c")
    return {"batch": target[0], **dict(zip(names, source[1:] + target[1:], strict=True))}


def _window(sizes: dict[str, int], kernel: tuple[int, int], options: Any) -> dict[str, int]:
    """Add kernel, stride, dilation and the padding they imply to NHWC ``sizes``."""
    for axis, length, names in (("h", kernel[0], ("top", "bottom")), ("w", kernel[1], ("left", "right"))):
        stride, dilation = options[f"stride_{axis}"], options.get(f"dilation_{axis}", 1)
        sizes |= {f"kernel_{axis}": length, f"stride_{axis}": stride, f"dilation_{axis}": dilation}
        pads = _given_pads(axis, options)
        pads = pads or padding_split(sizes[f"in_{axis}"], length, stride, dilation, sizes[f"out_{axis}"])
        sizes |= {f"pad_{name}": pad for name, pad in zip(names, pads, strict=True)}
    return sizes


def _given_pads(axis: str, options: Any) -> tuple[int, int] | None:
    """Padding (before, after) of a window that has absorbed a PAD; None for TFLite's own."""
    if options["padding"] != "EXPLICIT":
        return None
    top, bottom, left, right = options["pads"]
    return (top, bottom) if axis == "h" else (left, right)


def _ends(graph: Graph, op: Operator) -> dict[str, int]:
    return nhwc(graph.tensors[op.inputs[0]].shape, graph.tensors[op.outputs[0]].shape)


def _convolution(graph: Graph, op: Operator) -> dict[str, int]:
    kernel = graph.tensors[op.inputs[1]].shape  # CONV_2D: OHWI, DEPTHWISE_CONV_2D: 1HWC
    sizes = _window(_ends(graph, op), (kernel[1], kernel[2]), op.options)
    return sizes | {"inputs": 1, "depth_multiplier": sizes["out_c"] // sizes["in_c"] if op.traits.depthwise else 1}


def _transposed(graph: Graph, op: Operator) -> dict[str, int]:
    """The padding is that of a convolution of the output."""
    source, target = (graph.tensors[i].shape for i in (op.inputs[op.traits.data_input], op.outputs[0]))
    kernel = graph.tensors[op.inputs[1]].shape
    made = [
        output_size(size, length, op.options[f"stride_{axis}"], 1, op.options["padding"])
        for axis, size, length in zip("hw", target[1:3], kernel[1:3], strict=True)
    ]
    sizes = _window(nhwc(target, (target[0], *made, kernel[0])), (kernel[1], kernel[2]), op.options)
    return sizes | nhwc(source, target) | {"inputs": 1}


def _pool(graph: Graph, op: Operator) -> dict[str, int]:
    return _window(_ends(graph, op), (op.options["filter_h"], op.options["filter_w"]), op.options)


def _fully_connected(graph: Graph, op: Operator) -> dict[str, int]:
    units, depth = graph.tensors[op.inputs[1]].shape
    batch = prod(graph.tensors[op.inputs[0]].shape) // depth
    return nhwc((batch, 1, 1, depth), (batch, 1, 1, units)) | {"inputs": 1}


def _mean(graph: Graph, op: Operator) -> dict[str, int]:
    source, target = graph.tensors[op.inputs[0]].shape, graph.tensors[op.outputs[0]]
    axes = graph.tensors[op.inputs[1]].data
    if len(source) != 4 or axes is None or {int(a) % 4 for a in axes.reshape(-1)} != {1, 2}:
        return {}
    sizes = nhwc(source, (source[0], 1, 1, target.elements // source[0]))
    return sizes | {"kernel_h": source[1], "kernel_w": source[2]}


def _pads(graph: Graph, op: Operator) -> dict[str, Any]:
    source, target = (graph.tensors[i].shape for i in (op.inputs[0], op.outputs[0]))
    table = graph.tensors[op.inputs[1]].data
    if table is None:
        return {}
    before = [int(v) for v in table.reshape(-1)[::2]]
    axes = {"paddings": tuple(zip(before, source, target, strict=True))}
    if len(source) != 4:
        return nhwc((1, 1, 1, prod(source)), (1, 1, 1, prod(target))) | axes
    sizes: dict[str, Any] = {"pad_top": before[1], "pad_left": before[2]}
    sizes |= {"pad_bottom": target[1] - source[1] - before[1], "pad_right": target[2] - source[2] - before[2]}
    plain = source[::3] == target[::3]
    return _ends(graph, op) | sizes | ({} if plain else axes)


def _svdf(graph: Graph, op: Operator) -> dict[str, int]:
    batch, depth = graph.tensors[op.inputs[0]].shape
    units, memory = graph.tensors[op.outputs[0]].shape[1], graph.tensors[op.inputs[2]].shape[1]
    sizes = nhwc((batch, 1, 1, depth), (batch, 1, 1, units))
    return sizes | {"inputs": 1, "kernel_w": memory, "depth_multiplier": int(op.options["rank"])}


def _lstm(graph: Graph, op: Operator) -> dict[str, int]:
    first, second, depth = graph.tensors[op.inputs[0]].shape
    batch, steps = (second, first) if op.options["time_major"] else (first, second)
    units = graph.tensors[op.outputs[0]].shape[2]
    return nhwc((batch, steps, 1, depth), (batch, steps, 1, units)) | {"inputs": 1}


LOOP_NESTS: dict[str, Callable[[Graph, Operator], dict[str, Any]]] = {
    "conv": _convolution, "depthwise": _convolution, "fully_connected": _fully_connected, "mean": _mean, "pad": _pads,
    "pool": _pool, "svdf": _svdf, "lstm": _lstm, "transpose_conv": _transposed,
    "batch_matmul": M.batch_matmul_nest, **R.NESTS,
}  # fmt: skip
"""Loop nests by rule: fields of a geometry that differ from those of input and output shape; none for odd ranks."""

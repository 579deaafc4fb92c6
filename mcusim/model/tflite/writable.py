"""What a graph must fulfil to be written as a ``.tflite`` (the reader's rules), and the version of each operator.

The version is the lowest that the operator's types and options need: a runtime refuses a version it does not know, and
an older one may read a too low version as another type. The rules are those of TensorFlow's converter
(``tensorflow/lite/tools/versioning/op_version.cc``) for int8, uint8, int16 and the two casts; the reader's other types
do not reach them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model.graph import ITEM_BYTES, Graph, Operator, Quantization, Tensor
from mcusim.model.graph_check import check_graph
from mcusim.model.operators import ACTIVATIONS, DEFAULTS, LARGEST_WINDOW, OPERATORS, PADDINGS, is_opaque, shown_type
from mcusim.model.tflite.flatbuffer import LARGEST_FILE, shown
from mcusim.model.tflite.tensors import ANY_ZERO_POINT, MOST_DIMENSIONS, ZERO_POINTS

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_CHOICES = {"padding": PADDINGS, "activation": ACTIVATIONS}


def writable(graph: Graph) -> Graph:
    """``graph`` with every option of its operators filled in, after it proved to be one that the reader would accept.

    Raises UnsupportedError for operators the writer does not know, all at once; ModelError otherwise, naming the
    graph, the operator or tensor and the value.
    """
    source = f"cannot write {graph.name}"
    unknown = sorted({shown_type(op.type) for op in graph.operators if is_opaque(op.type)})
    if unknown:
        raise UnsupportedError(f"{source}: operators mcusim does not know: {', '.join(unknown)}")
    for index, tensor in enumerate(graph.tensors):
        _tensor(tensor, f"{source}: tensor {index} '{shown(tensor.name)}'")
    size = constant_bytes(graph)
    if size > LARGEST_FILE:
        raise ModelError(f"{source}: its constants take {size:,} B; files up to {LARGEST_FILE:,} B are read")
    complete = replace(graph, operators=tuple(_complete(op, source) for op in graph.operators))
    check_graph(complete, source)
    for op in complete.operators:
        ends = [graph.tensors[i].shape for i in (op.inputs[0], op.outputs[0])]
        if op.type == "SQUEEZE" and squeezed_axes(*ends) is None:
            raise ModelError(f"{source}: operator {op.index} SQUEEZE: cannot give {list(ends[1])} from {list(ends[0])}")
    return complete


def memory_of(data: Array) -> Hashable:
    """Equal for arrays that are the same bytes of memory: a file's tensors may share a buffer, and thousands of them
    would make a large file of a small one."""
    if not data.flags.c_contiguous:
        return id(data)
    return data.__array_interface__["data"][0], data.nbytes, data.dtype.byteorder


def constant_bytes(graph: Graph) -> int:
    """What the constants take in a file, in bytes."""
    return sum({memory_of(t.data): t.data.nbytes for t in graph.tensors if t.data is not None}.values())


def squeezed_axes(source: tuple[int, ...], target: tuple[int, ...]) -> tuple[int, ...] | None:
    """The axes of size 1 that must go for ``source`` to become ``target``; the last ones where several would do."""
    axes: list[int] = []
    kept = 0
    for axis, size in enumerate(source):
        if kept < len(target) and target[kept] == size:
            kept += 1
        elif size == 1:
            axes.append(axis)
        else:
            return None
    return tuple(axes) if kept == len(target) else None


def _complete(op: Operator, source: str) -> Operator:
    where = f"{source}: operator {op.index} {op.type}"
    names = list(OPERATORS[op.type].fields)
    other = [name for name in op.options if name not in names]
    if other:
        raise ModelError(f"{where}: has no option {', '.join(other)}")
    return replace(op, options={name: _option(op.options, name, where) for name in names})


def _option(options: Mapping[str, Any], name: str, where: str) -> Any:
    value = options.get(name, DEFAULTS.get(name))
    if value is None:
        raise ModelError(f"{where}: option {name} is missing")
    choices = _CHOICES.get(name)
    if choices is not None and value not in choices:
        raise ModelError(f"{where}: {name} is {value!r}, must be one of {', '.join(choices)}")
    if name.startswith(("stride_", "dilation_", "filter_")) and not 1 <= value <= LARGEST_WINDOW:
        raise ModelError(f"{where}: {name} is {value}, must be within 1 to {LARGEST_WINDOW:,}")
    return value


def _tensor(tensor: Tensor, where: str) -> None:
    if tensor.dtype not in ITEM_BYTES:
        raise UnsupportedError(f"{where} is of type {tensor.dtype}, which is not supported")
    if len(tensor.shape) > MOST_DIMENSIONS or any(d < 0 for d in tensor.shape):
        raise ModelError(
            f"{where}: shape {list(tensor.shape)} is negative or has more than {MOST_DIMENSIONS} dimensions"
        )
    data, quantization = tensor.data, tensor.quantization
    if data is not None and (data.shape != tensor.shape or data.dtype.name != tensor.dtype or not data.size):
        raise ModelError(
            f"{where} is {tensor.dtype}{list(tensor.shape)}, its values are {data.dtype.name}{list(data.shape)}"
        )
    if quantization is not None:
        _quantization(tensor, quantization, where)


def _quantization(tensor: Tensor, quantization: Quantization, where: str) -> None:
    low, high = ZERO_POINTS.get(tensor.dtype, ANY_ZERO_POINT)
    count = len(quantization.scales)
    if not count or len(quantization.zero_points) != count:
        raise ModelError(f"{where} has {count} scales and {len(quantization.zero_points)} zero points")
    if not all(map(math.isfinite, quantization.scales)):
        raise ModelError(f"{where}: a scale is not a finite number")
    if not all(low <= p <= high for p in quantization.zero_points):
        raise ModelError(f"{where}: a zero point is not within {low} to {high} ({tensor.dtype})")
    fits = 0 <= quantization.axis < len(tensor.shape) and tensor.shape[quantization.axis] == count
    if count > 1 and not fits:
        raise ModelError(
            f"{where}: {count} scales do not fit axis {quantization.axis} of the shape {list(tensor.shape)}"
        )


Rule = Callable[[Operator, list[Tensor]], int]


def operator_version(graph: Graph, operator: Operator) -> int:
    """The version of ``operator``; 1 where no rule asks for more."""
    inputs = [graph.tensors[i] for i in operator.inputs if i >= 0]
    data = inputs[min(operator.traits.data_input, len(inputs) - 1)] if inputs else None
    spec = OPERATORS.get(operator.type)
    basic = spec.int8_version if spec and data is not None and data.dtype == "int8" else 1
    if data is not None and data.dtype == "int16":
        basic = _WIDE_VERSIONS.get(operator.type, 1)
    rule = _RULES.get(operator.type)
    return max(basic, rule(operator, [*inputs, graph.tensors[operator.outputs[0]]])) if rule and inputs else basic


def _rank(limit: int, version: int, more: int = 0) -> Rule:
    """``version`` above ``limit`` dimensions, ``more`` (when given) above ``limit + 1``."""

    def rule(_: Operator, tensors: list[Tensor]) -> int:
        rank = len(tensors[0].shape)
        return more if more and rank > limit + 1 else version if rank > limit else 1

    return rule


def _wide_broadcast(_: Operator, tensors: list[Tensor]) -> int:
    first, second = tensors[0].shape, tensors[1].shape
    return 3 if first != second and max(len(first), len(second)) > 4 else 1


def _multiplication(_: Operator, tensors: list[Tensor]) -> int:
    """3 when the rescaling of the product is 1 or more."""
    first, second, out = (t.quantization.scales[0] if t.quantization else 0.0 for t in (*tensors[:2], tensors[-1]))
    return 3 if out > 0 and first > 0 and second > 0 and first * second / out >= 1 else 1


def _depthwise(op: Operator, tensors: list[Tensor]) -> int:
    return 2 if op.options.get("dilation_h", 1) != 1 or op.options.get("dilation_w", 1) != 1 else 1


def _fully_connected(op: Operator, tensors: list[Tensor]) -> int:
    """6 without a bias, 5 when it keeps the leading dimensions."""
    return 6 if len(op.inputs) == 2 else 5 if op.options.get("keep_num_dims") else 1


def _dequantize(_: Operator, tensors: list[Tensor]) -> int:
    return 5 if _per_channel(tensors[0]) else 3 if tensors[0].dtype == "float16" else 1


def _quantize(_: Operator, tensors: list[Tensor]) -> int:
    return 3 if _per_channel(tensors[-1]) else 2 if tensors[-1].dtype == "int16" else 1


def _per_channel(tensor: Tensor) -> bool:
    return tensor.quantization is not None and len(tensor.quantization.scales) > 1


def _resize(*options: str) -> Rule:
    return lambda op, _: 3 if any(op.options.get(name) for name in options) else 1


def _sum(powers: int, others: int) -> Rule:
    """The version for int16 whose scales are said to be powers of two, and for others; that of broadcasts if higher."""

    def rule(op: Operator, tensors: list[Tensor]) -> int:
        wide = powers if op.options.get("pot_scale_int16", True) else others
        broadcast = _wide_broadcast(op, tensors) if op.type == "SUB" else 1
        return max(broadcast, wide if tensors[0].dtype == "int16" else 1)

    return rule


_WIDE_VERSIONS = {  # of int16 tensors
    "CONV_2D": 4, "DEPTHWISE_CONV_2D": 5, "FULLY_CONNECTED": 7, "MUL": 4, "MAXIMUM": 4, "MINIMUM": 4,
    "CONCATENATION": 3, "AVERAGE_POOL_2D": 3, "MAX_POOL_2D": 3, "MEAN": 3, "PAD": 3, "PADV2": 3, "SOFTMAX": 3,
    "RELU": 3, "RELU6": 3, "LEAKY_RELU": 2, "LOGISTIC": 3, "TANH": 3, "DEQUANTIZE": 3, "SLICE": 4, "SPLIT": 4,
    "TRANSPOSE": 5, "RESIZE_NEAREST_NEIGHBOR": 4, "RESIZE_BILINEAR": 4,
}  # fmt: skip
_RULES: dict[str, Rule] = {
    "RELU": lambda _, tensors: 2,
    "ADD": _sum(1, 3),
    "SUB": _sum(1, 5),
    "BROADCAST_TO": lambda _, tensors: 2,
    "MAXIMUM": _wide_broadcast,
    "MINIMUM": _wide_broadcast,
    "MUL": _multiplication,
    "DEPTHWISE_CONV_2D": _depthwise,
    "FULLY_CONNECTED": _fully_connected,
    "DEQUANTIZE": _dequantize,
    "QUANTIZE": _quantize,
    "PAD": _rank(4, 4),
    "PADV2": _rank(4, 4),
    "SLICE": _rank(4, 5),
    "STRIDED_SLICE": _rank(4, 4),
    "TRANSPOSE": _rank(4, 4, 6),
    "RESIZE_BILINEAR": _resize("half_pixel_centers"),
    "RESIZE_NEAREST_NEIGHBOR": _resize("half_pixel_centers", "align_corners"),
}

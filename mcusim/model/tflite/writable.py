"""The version each operator of a ``.tflite`` is written with: the lowest that the operator's types and options need.

A runtime refuses a version it does not know, and an older one may read a too low version as another type. The rules
are those of TensorFlow's converter (``tensorflow/lite/tools/versioning/op_version.cc``) for int8, uint8 and the two
casts; the reader's other types do not reach them.
"""

from __future__ import annotations

from collections.abc import Callable

from mcusim.model.graph import Graph, Operator, Tensor

Rule = Callable[[Operator, list[Tensor]], int]

_INT8 = {
    **dict.fromkeys(
        (
            "ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "CONCATENATION", "AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "PAD",
            "PADV2", "SOFTMAX", "RELU6", "LOGISTIC", "TANH", "DEQUANTIZE", "STRIDED_SLICE", "SLICE", "SPLIT",
            "TRANSPOSE", "RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR",
        ),
        2,
    ),
    "CONV_2D": 3,
    "DEPTHWISE_CONV_2D": 3,
    "FULLY_CONNECTED": 4,
}  # fmt: skip


def operator_version(graph: Graph, operator: Operator) -> int:
    """The version of ``operator``; 1 where no rule asks for more."""
    inputs = [graph.tensors[i] for i in operator.inputs if i >= 0]
    data = inputs[1] if operator.type == "SPLIT" and len(inputs) > 1 else inputs[0] if inputs else None
    basic = _INT8.get(operator.type, 1) if data is not None and data.dtype == "int8" else 1
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
    return 3 if _per_channel(tensors[-1]) else 1


def _per_channel(tensor: Tensor) -> bool:
    return tensor.quantization is not None and len(tensor.quantization.scales) > 1


def _resize(*options: str) -> Rule:
    return lambda op, _: 3 if any(op.options.get(name) for name in options) else 1


_RULES: dict[str, Rule] = {
    "RELU": lambda _, tensors: 2,
    "SUB": _wide_broadcast,
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

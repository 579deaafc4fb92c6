"""The operators the reader knows: how many inputs, which options, which shape rule."""

from __future__ import annotations

from dataclasses import dataclass

PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
LARGEST_WINDOW = 4096
PARAMETRIC = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")  # filter is input 1, bias input 2
# TFLite's, of the options that a file may leave out
DEFAULTS = {
    "activation": "NONE", "beta": 1.0, "alpha": 0.0, "keep_dims": False, "keep_num_dims": False, "weights_format": 0,
    "axis": 0, "depth_multiplier": 0, "dilation_h": 1, "dilation_w": 1, "align_corners": False,
    "half_pixel_centers": False, "begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0,
    "shrink_axis_mask": 0,
}  # fmt: skip

_ACTIVATION = {"activation": "FusedActivationFunction"}
_STRIDES = {"padding": "Padding", "stride_h": "StrideH", "stride_w": "StrideW"}
_DILATIONS = {"dilation_h": "DilationHFactor", "dilation_w": "DilationWFactor"}
_RESIZE = {"align_corners": "AlignCorners", "half_pixel_centers": "HalfPixelCenters"}
_SLICES = {
    "begin_mask": "BeginMask",
    "end_mask": "EndMask",
    "ellipsis_mask": "EllipsisMask",
    "new_axis_mask": "NewAxisMask",
    "shrink_axis_mask": "ShrinkAxisMask",
}


@dataclass(frozen=True)
class Spec:
    """``inputs`` is (fewest, most). ``fields`` maps our option names to the methods of the flatbuffer ``table``.

    ``rule`` names a function of :mod:`mcusim.model.shapes`. ``needs_table``: without its option table the operator
    means nothing (strides would be 0). ``constants`` are the inputs that must be stored in the file.
    """

    inputs: tuple[int, int]
    rule: str
    table: str = ""
    fields: tuple[tuple[str, str], ...] = ()
    needs_table: bool = False
    constants: tuple[int, ...] = ()


def _spec(inputs: tuple[int, int], rule: str, table: str = "", *fields: dict[str, str], **more: object) -> Spec:
    pairs = tuple(pair for part in fields for pair in part.items())
    return Spec(inputs, rule, table, pairs, **more)  # type: ignore[arg-type]


_POOL = _spec(
    (1, 1), "pool", "Pool2DOptions", _STRIDES, {"filter_h": "FilterHeight", "filter_w": "FilterWidth"}, _ACTIVATION,
    needs_table=True,
)  # fmt: skip
_SAME = _spec((1, 1), "same")

OPERATORS: dict[str, Spec] = {
    "CONV_2D": _spec(
        (2, 3), "conv", "Conv2DOptions", _STRIDES, _DILATIONS, _ACTIVATION, needs_table=True, constants=(1, 2)
    ),
    "DEPTHWISE_CONV_2D": _spec(
        (2, 3),
        "depthwise",
        "DepthwiseConv2DOptions",
        _STRIDES,
        _DILATIONS,
        {"depth_multiplier": "DepthMultiplier"},
        _ACTIVATION,
        needs_table=True,
        constants=(1, 2),
    ),
    "FULLY_CONNECTED": _spec(
        (2, 3),
        "fully_connected",
        "FullyConnectedOptions",
        _ACTIVATION,
        {"keep_num_dims": "KeepNumDims", "weights_format": "WeightsFormat"},
        constants=(1, 2),
    ),
    "ADD": _spec((2, 2), "broadcast", "AddOptions", _ACTIVATION),
    "SUB": _spec((2, 2), "broadcast", "SubOptions", _ACTIVATION),
    "MUL": _spec((2, 2), "broadcast", "MulOptions", _ACTIVATION),
    "MAXIMUM": _spec((2, 2), "broadcast"),
    "MINIMUM": _spec((2, 2), "broadcast"),
    "CONCATENATION": _spec((1, 1024), "concatenation", "ConcatenationOptions", {"axis": "Axis"}, _ACTIVATION),
    "AVERAGE_POOL_2D": _POOL,
    "MAX_POOL_2D": _POOL,
    "MEAN": _spec((2, 2), "mean", "ReducerOptions", {"keep_dims": "KeepDims"}, constants=(1,)),
    "PAD": _spec((2, 2), "pad", constants=(1,)),
    "PADV2": _spec((3, 3), "pad", constants=(1, 2)),
    "RESHAPE": _spec((1, 2), "elements"),
    "SQUEEZE": _spec((1, 1), "elements"),
    "EXPAND_DIMS": _spec((2, 2), "elements", constants=(1,)),
    "SOFTMAX": _spec((1, 1), "same", "SoftmaxOptions", {"beta": "Beta"}),
    "RELU": _SAME,
    "RELU6": _SAME,
    "RELU_N1_TO_1": _SAME,
    "LEAKY_RELU": _spec((1, 1), "same", "LeakyReluOptions", {"alpha": "Alpha"}),
    "LOGISTIC": _SAME,
    "TANH": _SAME,
    "HARD_SWISH": _SAME,
    "QUANTIZE": _SAME,
    "DEQUANTIZE": _SAME,
    "STRIDED_SLICE": _spec((4, 4), "strided_slice", "StridedSliceOptions", _SLICES, constants=(1, 2, 3)),
    "SLICE": _spec((3, 3), "slice", constants=(1, 2)),
    "SPLIT": _spec((2, 2), "split", "SplitOptions", {"num_splits": "NumSplits"}, needs_table=True, constants=(0,)),
    "TRANSPOSE": _spec((2, 2), "transpose", constants=(1,)),
    "RESIZE_NEAREST_NEIGHBOR": _spec((2, 2), "resize", "ResizeNearestNeighborOptions", _RESIZE, constants=(1,)),
    "RESIZE_BILINEAR": _spec((2, 2), "resize", "ResizeBilinearOptions", _RESIZE, constants=(1,)),
}

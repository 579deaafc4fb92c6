"""The operators the reader knows, one entry each: inputs, options, shape rule, traits. Nothing else spells their names.

A further operator is one entry here and its function in the manifest of a kernel set. Where no rule fits, its shape and
loop nest are a rule in :mod:`mcusim.model.shapes`; where the parameters of its function are computed in another way,
that is in :mod:`mcusim.kernels.calls.prepare`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from mcusim.model.traits import QUANTIZED, Traits

__all__ = [
    "ACTIVATIONS",
    "CONTROL_FLOW",
    "CROP",
    "DEFAULTS",
    "JOIN",
    "LARGEST_WINDOW",
    "OPERATORS",
    "PADDINGS",
    "OperatorSpec",
    "Traits",
    "is_opaque",
    "may_have_tables",
    "opaque",
    "shown_type",
    "traits_of",
]

PADDINGS = ("SAME", "VALID")
ACTIVATIONS = ("NONE", "RELU", "RELU_N1_TO_1", "RELU6", "TANH", "SIGN_BIT")
CONTROL_FLOW = ("WHILE", "IF")  # operators that run subgraphs
CROP, JOIN = "SLICE", "CONCATENATION"  # of operators that transformations of graphs put in
FUSED: dict[str, tuple[float | None, float | None]] = {
    "NONE": (None, None), "RELU": (0.0, None), "RELU6": (0.0, 6.0), "RELU_N1_TO_1": (-1.0, 1.0)
}  # fmt: skip
"""Activations that kernels fuse: least and most of an output, None for no limit."""
CELL_ACTIVATION = "TANH"  # the one that an LSTM's kernel has for its cell
LARGEST_WINDOW = 4096
_BYTES = QUANTIZED[:2]  # of operators that TFLite, or the kernel sets, have not for 16 bits
# TFLite's, of the options that a file may leave out
DEFAULTS = {
    "activation": "NONE", "beta": 1.0, "alpha": 0.0, "keep_dims": False, "keep_num_dims": False, "weights_format": 0,
    "axis": 0, "batch_dims": 0, "depth_multiplier": 0, "dilation_h": 1, "dilation_w": 1, "align_corners": False,
    "half_pixel_centers": False, "begin_mask": 0, "end_mask": 0, "ellipsis_mask": 0, "new_axis_mask": 0,
    "shrink_axis_mask": 0, "cell_clip": 0.0, "time_major": False, "pot_scale_int16": True, "output_type": 0, "mode": 0,
    "in_type": 0, "out_type": 0, "adj_x": False, "adj_y": False,
}  # fmt: skip


@dataclass(frozen=True)
class OperatorSpec:
    """An operator's entry. ``inputs`` is (fewest, most); ``constants`` are those that must be stored in the file.

    ``rule`` names a shape rule of :mod:`mcusim.model.shapes`, ``call`` the structure ``<call>_call`` of
    ``kernels/sets/include/kernels.h`` that its kernel is called with. ``fields`` maps our option names to the methods
    of the flatbuffer ``table``; with ``needs_table`` the operator means nothing without it (strides would be 0).
    ``omitted``: inputs that must not be there, which ``inputs`` and ``constants`` do not count. ``int8_version``: the
    version that TFLite gives it for int8 tensors at least.
    """

    inputs: tuple[int, int]
    rule: str
    call: str
    traits: Traits = field(default_factory=Traits)
    constants: tuple[int, ...] = ()
    table: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    needs_table: bool = False
    int8_version: int = 2
    omitted: tuple[int, ...] = ()


_ACTIVATION = {"activation": "FusedActivationFunction"}
_POWERS = {"pot_scale_int16": "PotScaleInt16"}
_STRIDES = {"padding": "Padding", "stride_h": "StrideH", "stride_w": "StrideW"}
_DILATIONS = {"dilation_h": "DilationHFactor", "dilation_w": "DilationWFactor"}
_CONVOLUTION = _STRIDES | _DILATIONS
_POOL = _STRIDES | {"filter_h": "FilterHeight", "filter_w": "FilterWidth"} | _ACTIVATION
_RESIZE = {"align_corners": "AlignCorners", "half_pixel_centers": "HalfPixelCenters"}
_SLICES = {
    "begin_mask": "BeginMask", "end_mask": "EndMask", "ellipsis_mask": "EllipsisMask", "new_axis_mask": "NewAxisMask",
    "shrink_axis_mask": "ShrinkAxisMask",
}  # fmt: skip
_REAL = (*QUANTIZED, "float32")
_REAL_BYTES = (*_BYTES, "float32")
_WORDS = (*QUANTIZED, "int32", "float32")
_FLOATS = (*QUANTIZED, "int32", "float16", "float32")
_CASTS = ("int8", "uint8", "int16", "int32", "uint32", "float32")

_REDUCED = ((1,), "ReducerOptions", {"keep_dims": "KeepDims"})
_EXTREME = Traits(reduces=True, selects=True, types=_REAL_BYTES, costed_as="elementwise", computes="reduce")
_EXTREMUM = OperatorSpec((2, 2), "reduce", "mean", _EXTREME, *_REDUCED)
_PAIRS = Traits(broadcast=True, elementwise=True, types=_BYTES, costed_as="elementwise")
_ELEMENT = Traits(elementwise=True, types=_REAL, costed_as="elementwise")
_PLACE = Traits(types=_REAL_BYTES, output_types=("int32", "int64"), costed_as="elementwise")
_STATE = Traits(copies_state=True, types=_REAL)
_TYPE = {"output_type": "OutputType"}

OPERATORS: dict[str, OperatorSpec] = {
    "CONV_2D": OperatorSpec(
        (2, 3), "conv", "conv", constants=(1, 2), int8_version=3, needs_table=True,
        table="Conv2DOptions", fields=_CONVOLUTION | _ACTIVATION,
        traits=Traits(
            types=_REAL, parametric=True, per_channel=True, windowed=True, partitionable=True, costed_as="conv"
        ),
    ),
    "DEPTHWISE_CONV_2D": OperatorSpec(
        (2, 3), "depthwise", "conv", constants=(1, 2), int8_version=3, needs_table=True,
        table="DepthwiseConv2DOptions", fields=_CONVOLUTION | {"depth_multiplier": "DepthMultiplier"} | _ACTIVATION,
        traits=Traits(
            types=_REAL, parametric=True, depthwise=True, per_channel=True, windowed=True, partitionable=True,
            costed_as="depthwise",
        ),
    ),
    "FULLY_CONNECTED": OperatorSpec(
        (2, 3), "fully_connected", "conv", constants=(1, 2), int8_version=4, table="FullyConnectedOptions",
        fields=_ACTIVATION | {"keep_num_dims": "KeepNumDims", "weights_format": "WeightsFormat"},
        traits=Traits(types=_REAL, parametric=True, costed_as="fully_connected"),
    ),
    "ADD": OperatorSpec(
        (2, 2), "broadcast", "binary", table="AddOptions", fields=_ACTIVATION | _POWERS,
        traits=Traits(
            broadcast=True, elementwise=True, partitionable=True, costed_as="add", types=_WORDS, computes="add",
        ),
    ),
    "SUB": OperatorSpec(
        (2, 2), "broadcast", "binary", table="SubOptions", fields=_ACTIVATION | _POWERS,
        traits=Traits(broadcast=True, elementwise=True, costed_as="elementwise", types=_WORDS),
    ),
    "MUL": OperatorSpec(
        (2, 2), "broadcast", "binary", table="MulOptions", fields=_ACTIVATION,
        traits=Traits(
            broadcast=True, elementwise=True, partitionable=True, costed_as="elementwise", types=_WORDS, computes="mul",
        ),
    ),
    "MAXIMUM": OperatorSpec(
        (2, 2), "broadcast", "binary", traits=Traits(types=_WORDS, broadcast=True, elementwise=True, selects=True)
    ),
    "MINIMUM": OperatorSpec(
        (2, 2), "broadcast", "binary", traits=Traits(types=_WORDS, broadcast=True, elementwise=True, selects=True)
    ),
    "CONCATENATION": OperatorSpec(
        (1, 1024), "concatenation", "join", table="ConcatenationOptions", fields={"axis": "Axis"} | _ACTIVATION,
        traits=Traits(joins=True, types=_WORDS),
    ),
    "AVERAGE_POOL_2D": OperatorSpec(
        (1, 1), "pool", "pool", table="Pool2DOptions", fields=_POOL, needs_table=True,
        traits=Traits(types=_REAL, windowed=True, sums=True, partitionable=True, costed_as="pool"),
    ),
    "MAX_POOL_2D": OperatorSpec(
        (1, 1), "pool", "pool", table="Pool2DOptions", fields=_POOL, needs_table=True,
        traits=Traits(types=_REAL, windowed=True, costed_as="pool"),
    ),
    "MEAN": OperatorSpec(
        (2, 2), "mean", "mean", constants=(1,), table="ReducerOptions", fields={"keep_dims": "KeepDims"},
        traits=Traits(types=_REAL, reduces=True, costed_as="pool"),
    ),
    "PAD": OperatorSpec(
        (2, 2), "pad", "move", constants=(1,),
        traits=Traits(types=_REAL, pads=True, partitionable=True, costed_as="pad"),
    ),
    "PADV2": OperatorSpec(
        (3, 3), "pad", "move", constants=(1, 2),
        traits=Traits(types=_REAL, pads=True, costed_as="pad", computes="constant_pad"),
    ),
    "RESHAPE": OperatorSpec((1, 2), "elements", "move", int8_version=1, traits=Traits(view=True, types=_WORDS)),
    "SQUEEZE": OperatorSpec((1, 1), "elements", "move", int8_version=1, traits=Traits(view=True, types=_WORDS)),
    "EXPAND_DIMS": OperatorSpec(
        (2, 2), "elements", "move", constants=(1,), int8_version=1, traits=Traits(view=True, types=_WORDS)
    ),
    "SOFTMAX": OperatorSpec(
        (1, 1), "same", "softmax", table="SoftmaxOptions", fields={"beta": "Beta"},
        traits=Traits(types=_REAL, along_depth=True, widens=True, costed_as="lookup"),
    ),
    "RELU": OperatorSpec(
        (1, 1), "same", "unary", int8_version=1, traits=replace(_ELEMENT, computes="relu")
    ),
    "RELU6": OperatorSpec((1, 1), "same", "unary", traits=replace(_ELEMENT, computes="relu6")),
    "RELU_N1_TO_1": OperatorSpec(
        (1, 1), "same", "unary", Traits(elementwise=True, types=_REAL_BYTES, computes="relu_n1_to_1"), int8_version=1
    ),
    "LEAKY_RELU": OperatorSpec(
        (1, 1), "same", "unary", table="LeakyReluOptions", fields={"alpha": "Alpha"}, int8_version=1,
        traits=replace(_ELEMENT, computes="leaky_relu"),
    ),
    "LOGISTIC": OperatorSpec((1, 1), "same", "unary", traits=replace(_ELEMENT, computes="logistic")),
    "TANH": OperatorSpec((1, 1), "same", "unary", traits=replace(_ELEMENT, computes="tanh")),
    "ELU": OperatorSpec(
        (1, 1), "same", "unary", int8_version=1, traits=replace(_ELEMENT, types=("int8", "float32"), computes="elu")
    ),
    "HARD_SWISH": OperatorSpec(
        (1, 1), "same", "unary", int8_version=1,
        traits=Traits(
            elementwise=True, partitionable=True, types=_REAL_BYTES, costed_as="elementwise", computes="hard_swish",
        ),
    ),
    "QUANTIZE": OperatorSpec(
        (1, 1), "same", "unary", int8_version=1,
        traits=Traits(elementwise=True, casts=True, costed_as="elementwise", types=_FLOATS, computes="requantize"),
    ),
    "DEQUANTIZE": OperatorSpec(
        (1, 1), "same", "unary", traits=Traits(elementwise=True, casts=True, costed_as="elementwise", types=_FLOATS)
    ),
    "STRIDED_SLICE": OperatorSpec(
        (4, 4), "strided_slice", "move", constants=(1, 2, 3), table="StridedSliceOptions", fields=_SLICES,
        traits=Traits(types=_WORDS, rows=True),
    ),
    "SLICE": OperatorSpec((3, 3), "slice", "move", constants=(1, 2), traits=Traits(types=_WORDS, rows=True)),
    "SPLIT": OperatorSpec(
        (2, 2), "split", "move", constants=(0,), table="SplitOptions", fields={"num_splits": "NumSplits"},
        needs_table=True, traits=Traits(types=_REAL, data_input=1, splits=True, rows=True),
    ),
    "TRANSPOSE": OperatorSpec((2, 2), "transpose", "move", constants=(1,), traits=Traits(types=_REAL, rows=True)),
    "RESIZE_NEAREST_NEIGHBOR": OperatorSpec(
        (2, 2), "resize", "resize", constants=(1,), table="ResizeNearestNeighborOptions", fields=_RESIZE,
        traits=Traits(types=_REAL),
    ),
    "RESIZE_BILINEAR": OperatorSpec(
        (2, 2), "resize", "resize", constants=(1,), table="ResizeBilinearOptions", fields=_RESIZE,
        traits=Traits(types=_REAL),
    ),
    "SVDF": OperatorSpec(
        (5, 5), "svdf", "svdf", constants=(1, 2, 3), int8_version=3, needs_table=True,
        table="SVDFOptions", fields={"rank": "Rank"} | _ACTIVATION,
        traits=Traits(keeps_state=True, filters_in_time=True),
    ),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": OperatorSpec(
        (15, 15), "lstm", "lstm", constants=tuple(range(1, 13)), int8_version=3, needs_table=True,
        omitted=(9, 10, 11, 16, 17, 20, 21, 22, 23),
        table="UnidirectionalSequenceLSTMOptions",
        fields=_ACTIVATION | {"cell_clip": "CellClip", "time_major": "TimeMajor"},
        traits=Traits(types=_REAL, keeps_state=True, gates=4),
    ),
    "READ_VARIABLE": OperatorSpec((1, 1), "elements", "move", int8_version=1, traits=_STATE),
    "ASSIGN_VARIABLE": OperatorSpec((1, 1), "elements", "move", int8_version=1, traits=_STATE),
    "TRANSPOSE_CONV": OperatorSpec(
        (3, 4), "transpose_conv", "conv", constants=(1, 3), needs_table=True, table="TransposeConvOptions",
        fields=_STRIDES | _ACTIVATION,
        traits=Traits(
            parametric=True, types=_REAL, per_channel=True, transposed=True, data_input=2, indices=(0,),
            costed_as="elementwise",
        ),
    ),
    "LOG_SOFTMAX": OperatorSpec(
        (1, 1), "normalized", "normalize", Traits(types=_REAL_BYTES, costed_as="elementwise", computes="log_softmax")
    ),
    "L2_NORMALIZATION": OperatorSpec(
        (1, 1), "normalized", "normalize", Traits(types=_REAL_BYTES, costed_as="elementwise")
    ),
    "PRELU": OperatorSpec(
        (2, 2), "prelu", "binary", replace(_PAIRS, types=_REAL_BYTES, computes="prelu"), int8_version=1
    ),
    "SQUARED_DIFFERENCE": OperatorSpec(
        (2, 2), "broadcast", "binary", replace(_PAIRS, types=_REAL_BYTES, computes="squared_difference")
    ),
    "DIV": OperatorSpec(
        (2, 2), "broadcast", "binary", table="DivOptions", fields=_ACTIVATION,
        traits=Traits(broadcast=True, elementwise=True, costed_as="elementwise", types=("int32", "float32")),
    ),
    "FLOOR_DIV": OperatorSpec(
        (2, 2), "broadcast", "binary",
        traits=Traits(broadcast=True, elementwise=True, costed_as="elementwise", types=("int32",)),
    ),
    "SQRT": OperatorSpec((1, 1), "same", "unary", replace(_PAIRS, broadcast=False, types=("float32",))),
    "CAST": OperatorSpec(
        (1, 1), "same", "cast", table="CastOptions", fields={"in_type": "InDataType", "out_type": "OutDataType"},
        int8_version=1, traits=Traits(elementwise=True, casts=True, costed_as="elementwise", types=_CASTS),
    ),
    "ARG_MAX": OperatorSpec((2, 2), "arg", "arg", _PLACE, (1,), "ArgMaxOptions", _TYPE, needs_table=True),
    "ARG_MIN": OperatorSpec((2, 2), "arg", "arg", _PLACE, (1,), "ArgMinOptions", _TYPE, needs_table=True),
    "REDUCE_MAX": _EXTREMUM, "REDUCE_MIN": _EXTREMUM,
    "SUM": OperatorSpec((2, 2), "reduce", "mean", replace(_EXTREME, selects=False), *_REDUCED),
    "PACK": OperatorSpec(
        (1, 1024), "pack", "join", table="PackOptions", fields={"values_count": "ValuesCount", "axis": "Axis"},
        needs_table=True, traits=Traits(joins=True, selects=True, types=_WORDS),
    ),
    "UNPACK": OperatorSpec(
        (1, 1), "unpack", "move", table="UnpackOptions", fields={"num": "Num", "axis": "Axis"}, needs_table=True,
        traits=Traits(splits=True, selects=True, rows=True, types=_WORDS),
    ),
    "SPLIT_V": OperatorSpec(
        (3, 3), "split_v", "move", constants=(1, 2), table="SplitVOptions", fields={"num_splits": "NumSplits"},
        needs_table=True, traits=Traits(types=_REAL, splits=True, selects=True, rows=True),
    ),
    "GATHER": OperatorSpec(
        (2, 2), "gather", "gather", table="GatherOptions", fields={"axis": "Axis", "batch_dims": "BatchDims"},
        traits=Traits(constants=True, selects=True, indices=(1,), types=_WORDS),
    ),
    "GATHER_ND": OperatorSpec(
        (2, 2), "gather_nd", "gather",
        traits=Traits(constants=True, selects=True, indices=(1,), types=_WORDS, computes="gather_nd"),
    ),
    "SPACE_TO_BATCH_ND": OperatorSpec((3, 3), "space_to_batch", "blocks", Traits(types=_REAL_BYTES), (1, 2)),
    "BATCH_TO_SPACE_ND": OperatorSpec(
        (3, 3), "batch_to_space", "blocks", constants=(1, 2), traits=Traits(selects=True, types=_REAL_BYTES)
    ),
    "SPACE_TO_DEPTH": OperatorSpec(
        (1, 1), "space_to_depth", "move", table="SpaceToDepthOptions", fields={"block_size": "BlockSize"},
        needs_table=True, traits=Traits(selects=True, rows=True, types=_REAL_BYTES),
    ),
    "DEPTH_TO_SPACE": OperatorSpec(
        (1, 1), "depth_to_space", "move", table="DepthToSpaceOptions", fields={"block_size": "BlockSize"},
        needs_table=True, int8_version=1, traits=Traits(selects=True, rows=True, types=_REAL_BYTES),
    ),
    "MIRROR_PAD": OperatorSpec(
        (2, 2), "mirror_pad", "move", constants=(1,), table="MirrorPadOptions", fields={"mode": "Mode"},
        traits=Traits(types=_REAL, selects=True, mirrors=True, computes="mirror_pad"),
    ),
    "TILE": OperatorSpec(
        (2, 2), "tile", "move", constants=(1,), traits=Traits(types=_REAL, selects=True, repeats=True, computes="tile")
    ),
    "BATCH_MATMUL": OperatorSpec(
        (2, 2), "batch_matmul", "batch_matmul", table="BatchMatMulOptions", fields={"adj_x": "AdjX", "adj_y": "AdjY"},
        traits=Traits(constants=True, multiplies=True, types=("int8", "int16", "float32")),
    ),
    "ZEROS_LIKE": OperatorSpec(
        (1, 1), "same", "move", int8_version=1,
        traits=Traits(fills=True, types=("int8", "int32", "float32")),
    ),
    "BROADCAST_TO": OperatorSpec(
        (2, 2), "broadcast_to", "move", constants=(1,), traits=Traits(types=_REAL, selects=True, rows=True)
    ),
}  # fmt: skip

# of floats: their values depend on whose exp and log they are made with
_CURVES = frozenset(("ELU", "LOGISTIC", "LOG_SOFTMAX", "SOFTMAX", "TANH"))
# the reader does not know these; in a graph built by hand they count as element-wise
_ELEMENTWISE_WITHOUT_ENTRY = frozenset((
    "ABS", "CEIL", "COS", "EXP", "FLOOR", "FLOOR_MOD", "GELU", "LOG", "NEG", "POW",
    "RELU_0_TO_1", "ROUND", "RSQRT", "SIN", "SQUARE",
))  # fmt: skip
# what TensorFlow Lite Micro has a kernel for and the reader has no entry; of those that ask for scratch buffers the
# rule of :mod:`mcusim.runtime.tflm` (its python_ops_resolver.cc, and RequestScratchBufferInArena in its kernels)
_IN_INTERPRETER = frozenset((
    "ABS", "BROADCAST_ARGS", "CALL_ONCE", "CEIL", "COS", "CUMSUM", "DYNAMIC_UPDATE_SLICE",
    "EMBEDDING_LOOKUP", "EQUAL", "EXP", "FILL", "FLOOR", "FLOOR_MOD", "GREATER", "GREATER_EQUAL", "L2_POOL_2D", "LESS",
    "LESS_EQUAL", "LOG", "LOGICAL_AND", "LOGICAL_NOT", "LOGICAL_OR", "NEG", "NOT_EQUAL", "REVERSE_V2", "ROUND", "RSQRT",
    "SELECT_V2", "SHAPE", "SIN", "SQUARE", "VAR_HANDLE",
    *(f"CUSTOM(Signal{name})" for name in (
        "Delay", "Energy", "FftAutoScale", "FilterBank", "FilterBankLog", "FilterBankSpectralSubtraction",
        "FilterBankSquareRoot", "Framer", "Irfft", "OverlapAdd", "PCAN", "Stacker", "Window",
    )),
))  # fmt: skip
_SCRATCH_IN_INTERPRETER = {
    "ADD_N": "pointers",
    "REDUCE_ALL": "axes",
    "CUSTOM(SignalRfft)": "spectrum",
    "CUSTOM(TFLite_Detection_PostProcess)": "detections",
}
_UNKNOWN = "UNKNOWN:"  # what the reader writes in front of a type without an entry
_NONE, _ELEMENTWISE = Traits(), Traits(elementwise=True)


def may_have_tables(kind: str) -> bool:
    """Whether an operator of type ``kind`` may have a constant that is no data: a table of shapes, axes or paddings,
    which its kernel need not read. True for a type without an entry."""
    spec = OPERATORS.get(kind)
    if spec is None:
        return True
    plain = spec.traits.parametric and spec.traits.data_input == 0
    return spec.inputs[1] > 1 and not plain and not spec.traits.constants_are_data


def traits_of(kind: str) -> Traits:
    """The traits of operator type ``kind``; none are set for a type without an entry that is not element-wise."""
    spec = OPERATORS.get(kind)
    if spec is not None:
        return spec.traits
    return _ELEMENTWISE if kind in _ELEMENTWISE_WITHOUT_ENTRY else _NONE


def is_control_flow(kind: str) -> bool:
    """Whether an operator runs subgraphs, or says where one of them begins or ends."""
    return shown_type(kind).partition(" (")[0] in CONTROL_FLOW


def interpreter_scratch(kind: str) -> str | None:
    """Of an operator type without an entry the rule of its scratch buffers in TensorFlow Lite Micro, empty for none;
    None where that has no kernel for it, as far as is known here."""
    name = shown_type(kind)
    return (
        ""
        if name in _IN_INTERPRETER or name in OPERATORS or is_control_flow(name)
        else _SCRATCH_IN_INTERPRETER.get(name)
    )


def is_curve(kind: str) -> bool:
    """Whether an operator's floats are made of exp or log, which libraries round in several ways."""
    return kind in _CURVES


def opaque(kind: str) -> str:
    """The type that an operator of a file has in a graph when there is no entry for ``kind``."""
    return _UNKNOWN + kind


def is_opaque(kind: str) -> bool:
    """Whether an operator type has no entry: nothing is known of it but its inputs and outputs."""
    return kind not in OPERATORS


def shown_type(kind: str) -> str:
    """An operator type as the file names it."""
    return kind.removeprefix(_UNKNOWN)

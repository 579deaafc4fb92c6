"""The loop nest of each compiled function, and the names of its levels.

A *kind* is a function of a kernel set, ``reference_conv_u8``, or one of the cases that a function chooses from,
``cmsis_conv-pointwise``. Not modelled: sets with functions of other names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.model.geometry import Geometry, Tile, whole
from mcusim.model.strided_copy import AXES


class NestKind(NamedTuple):
    """``nest`` is a function of a ``nests`` module; ``levels`` names its levels from the second on."""

    nest: str
    levels: tuple[str, ...]


_COPY = ("copy", "word", "byte", "shifted")
_COPIES = ("word_pairs", "shifted_words", "bytes_behind")
_COLUMN = ("pixel", "row", "tap", "quad", "element", "outside", "zero_word", "zero_byte")


def _loops(*names: str) -> str:
    """The levels of ``nest.iterations`` for each loop."""
    return " ".join(f"{name}_{end}" for name in names for end in ("entered", "again", "once"))


_TWO_COLUMNS = (
    f"widened widened_rest {_loops('widened')} output quad rest odd odd_quad {_loops('quads')}"  # from the fourth on
)
_PATCHES = f"call checked pixel {_TWO_COLUMNS} patch_row outside edge word byte twin"
_PLANE = "call cleared channel row four one"
_PLAIN_CHANNEL = f"plain plain_output plain_row plain_tap {_loops('plain_taps', 'plain_rows')}"
PLAIN = "-plain"  # behind the name of a function with a quick way: calls that have channels outside of it
_NESTS: Mapping[str, str] = {
    "pointwise": "call pair sum output quad rest odd odd_quad odd_rest last last_pixel last_mac "
    + _loops("blocks", "rests")
    + " quad_bank quad_bank_2 rest_bank rest_bank_2 last_bank",
    "conv": f"call {' '.join(_COLUMN)} pixels output quad_2 element_2 odd odd_quad odd_element one channel "
    + _loops("taps", "quads", "elements", "quads_2", "elements_2")
    + " column_bank filter_bank",
    "depthwise_3x3": "call pixel output row left right one one_row one_left one_right "
    + _loops("rows")
    + " bank one_bank",
    "depthwise_columns": f"call {' '.join(_COLUMN)} output pair odd one one_tap "
    + _loops("taps", "quads", "elements", "pairs")
    + " filter_bank column_bank",
    **dict.fromkeys(
        ("vector_by_rows", "vector_by_sixteens"),
        "call vector output quad element odd odd_quad odd_element "
        + _loops("quads", "elements")
        + " odd_element_bank odd_bank quad_bank",
    ),
    **dict.fromkeys(
        ("depthwise_by_fours", "depthwise_by_ones"),
        "call pixel channel output row tap " + _loops("taps", "rows") + " bank",
    ),
    "average_by_halves": "call pixel row first first_quad first_element tap quad element output "
    + _loops("quads", "elements", "first_quads", "first_elements"),
    "convolution": "call pixel output row outside tap mac " + _loops("macs", "taps", "rows") + " bank",
    "depthwise": "call pixel channel output row outside mac " + _loops("taps", "rows") + " bank",
    "fully_connected": "call output mac " + _loops("macs") + " bank",
    "binary_by_four": "call quad element",
    "binary": "call row element",
    "average_by_sums": "call pixel row tap first sum output",
    "maxima": f"call pixel row {' '.join(_COPY)} tap quad element last_quad last "
    + _loops("quads", "elements", *_COPIES),
    "pool": "call pixel output row tap " + _loops("taps", "rows"),
    "mean": "call clear row element output",
    "unary": "call element",
    "softmax": "call row largest sum element",
    "move": f"call {' '.join(_COPY)} " + _loops(*_COPIES),
    "pad": f"call row {' '.join(_COPY)} {_loops(*_COPIES)} filled filled_word filled_byte filled_element"
    f" {_loops('fills', 'filled_words')} checked outside",
    "join": f"call piece {' '.join(_COPY)} " + _loops(*_COPIES),
    "resize_nearest": f"call row {' '.join(_COPY)} " + _loops(*_COPIES),
    "resize_bilinear": "call row pixel element",
    **dict.fromkeys(("pairs_of_pixels", "pairs_of_a_depth"), f"call checked pair {_TWO_COLUMNS}"),
    **dict.fromkeys(("window_patches", "byte_patches", "byte_patches_rolled"), _PATCHES),
    "tap_patches": f"{_PATCHES} {_loops('elements')}",
    **dict.fromkeys(
        ("channel_by_channel", "channel_alone"),
        f"{_PLANE} taps line together single {_loops('fours', 'ones', 'groups', 'singles', 'lines')} {_PLAIN_CHANNEL}",
    ),
    "range_pass": f"call four one {_loops('fours', 'ones')}",
    "pad_by_words": "call row filled filled_byte copied copied_byte off "
    + _loops("filled_words", "filled_bytes", "copied_words", "copied_bytes"),
    "plane_by_pairs": f"{_PLANE} line output filter_row pair {_loops('fours', 'ones', 'pairs', 'rows')} filter_tap odd"
    f" {_PLAIN_CHANNEL}",
    "vector_by_pairs": "call vector output quad element odd odd_quad odd_element " + _loops("quads", "elements"),
    **dict.fromkeys(
        ("average_by_fours", "pool_by_fours"), f"call pixel four row tap one one_row one_tap {_loops('taps')}"
    ),
    "svdf": f"call shift filter mac {_loops('macs')} sum product {_loops('products')} wide {_loops('wides')} unit part"
    " output",
    "lstm": f"call step gate row mac {_loops('macs')} curve cell hidden copy",
    **dict.fromkeys(("rows", "elements"), f"call row each {' '.join(_COPY)} " + _loops(*_COPIES)),
    "compared": "call output element larger",
    "reduced": "call clear row element",
    "normalized": "call row square element",
    "transposed": "call clear input row outside tap mac output",
    "unpacked": f"call pair odd {_loops('pairs')}",
    "matrices": f"call turned element matrix row output mac {_loops('macs')} bank " + _loops("elements", "outputs"),
}
_PLANE_BY_PAIRS = "tinyengine_depthwise_plane"  # which without a bias has the plain way alone
UNPACK = "reference_unpack_s4"  # of filters of int4, before the function for int8
RANGE = "tinyengine_range"  # the pass over outputs that are clamped to less than the range of a byte
_QUICK = {  # functions of the set tinyengine that have a quick way, and their nests
    "tinyengine_conv_1x1": "pairs_of_pixels",
    **{f"tinyengine_conv_1x1_{depth}": "pairs_of_a_depth" for depth in (8, 16, 24, 48)},
    "tinyengine_conv_3x3_3": "byte_patches",
    "tinyengine_conv_window": "window_patches",
    "tinyengine_conv_taps": "tap_patches",
    **{f"tinyengine_depthwise_{k}x{k}_{stride}": "channel_by_channel" for k in (3, 5, 7) for stride in (1, 2)},
    **{f"tinyengine_depthwise_{k}x{k}_{stride}_alone": "channel_alone" for k in (3, 5, 7) for stride in (1, 2)},
    _PLANE_BY_PAIRS: "plane_by_pairs",
}
_ROLLED = {
    "pairs_of_a_depth": "pairs_of_pixels",
    "byte_patches": "byte_patches_rolled",
}  # the plain way has no unrolled loop
_CASES = {
    "cmsis_conv-pointwise": "pointwise",
    "cmsis_conv-columns": "conv",
    "cmsis_conv-dilated": "convolution",
    "cmsis_depthwise-3x3": "depthwise_3x3",
    "cmsis_depthwise-columns": "depthwise_columns",
    "cmsis_depthwise-plain": "depthwise",
    "cmsis_fully_connected": "vector_by_rows",
    "cmsis_2020_conv-pointwise": "pointwise",
    "cmsis_2020_conv-columns": "conv",
    "cmsis_2020_conv-plain": "convolution",
    "cmsis_2020_depthwise-columns": "depthwise_columns",
    "cmsis_2020_depthwise-fours": "depthwise_by_fours",
    "cmsis_2020_depthwise-ones": "depthwise_by_ones",
    "cmsis_2020_depthwise-dilated": "depthwise",
    "cmsis_2020_fully_connected": "vector_by_sixteens",
    "cmsis_2020_average_pool-halves": "average_by_halves",
    "cmsis_2020_average_pool-large": "pool",
    "cmsis_add-same": "binary_by_four",
    "cmsis_add-broadcast": "binary",
    "cmsis_mul-same": "binary_by_four",
    "cmsis_mul-broadcast": "binary",
    "cmsis_average_pool": "average_by_sums",
    "cmsis_max_pool": "maxima",
    **_QUICK,
    **{f"{symbol}{PLAIN}": _ROLLED.get(nest, nest) for symbol, nest in _QUICK.items()},
    RANGE: "range_pass",
    "tinyengine_pad": "pad_by_words",
    "tinyengine_depthwise_plain": "depthwise",
    "tinyengine_fully_connected": "vector_by_pairs",
    "tinyengine_add-same": "binary_by_four",
    "tinyengine_add-broadcast": "binary",
    "tinyengine_mul-same": "binary",
    "tinyengine_mul-broadcast": "binary",
    f"tinyengine_add{PLAIN}": "binary",
    f"tinyengine_mul{PLAIN}": "binary",
    "tinyengine_relu": "unary",
    "tinyengine_average_pool": "average_by_fours",
    "tinyengine_max_pool": "pool_by_fours",
    "reference_join": "join",
    "reference_move": "move",
    "reference_pad": "pad",
    "reference_resize_nearest": "resize_nearest",
}
_BOTH = {  # int8 and uint8
    "conv": "convolution",
    "conv_grouped": "convolution",
    "depthwise": "depthwise",
    "fully_connected": "fully_connected",
    **dict.fromkeys(("add", "sub", "mul", "maximum", "minimum"), "binary"),
    **dict.fromkeys(("average_pool", "max_pool"), "pool"),
    "mean": "mean",
    **dict.fromkeys(("requantize", "relu", "leaky_relu", "logistic", "tanh", "hard_swish"), "unary"),
    **dict.fromkeys(("quantize", "dequantize"), "unary"),
    "softmax": "softmax",
    "resize_bilinear": "resize_bilinear",
}
_SELECTING = {  # int8 and uint8
    **dict.fromkeys(("arg_max", "arg_min"), "compared"),
    **dict.fromkeys(("reduce_max", "reduce_min"), "reduced"),
    "prelu": "binary",
    "log_softmax": "softmax",
    "l2": "normalized",
    "transpose_conv": "transposed",
}
_FLOATS = {
    "conv": "convolution",
    "depthwise": "depthwise",
    "fully_connected": "fully_connected",
    **dict.fromkeys(("add", "sub", "mul", "maximum", "minimum", "prelu", "squared_difference"), "binary"),
    **dict.fromkeys(("average_pool", "max_pool"), "pool"),
    **dict.fromkeys(("mean", "sum"), "mean"),
    **dict.fromkeys(("relu", "leaky_relu", "logistic", "tanh", "elu", "hard_swish"), "unary"),
    **dict.fromkeys(("softmax", "log_softmax"), "softmax"),
    **dict.fromkeys(("arg_max", "arg_min"), "compared"),
    **dict.fromkeys(("reduce_max", "reduce_min"), "reduced"),
    "l2": "normalized",
    "transpose_conv": "transposed",
    "resize_nearest": "resize_nearest",
    "resize_bilinear": "resize_bilinear",
    "batch_matmul": "matrices",
    "lstm": "lstm",
}
_ONE = {  # whatever the type
    **{f"reference_{name}-rows": "rows" for name in ("move", "move_halves", "move_words")},
    **{f"reference_{name}": "rows" for name in ("gather", "space_to_batch", "batch_to_space", "mirror_pad", "tile")},
    **{f"reference_{name}_s32": "binary" for name in ("add", "sub", "mul", "floor_div", "div", "maximum", "minimum")},
    "reference_cast_words": "unary",
    "reference_squared_difference": "binary",
    "reference_div_f32": "binary",
    "reference_sqrt_f32": "unary",
    **{f"reference_cast-{case}": "unary" for case in ("bytes", "integers", "to_float", "from_float")},
}
_ALL = {
    **_CASES,
    **_ONE,
    **{f"reference_{name}{end}": nest for name, nest in _SELECTING.items() for end in ("", "_u8")},
    **{f"reference_{name}{end}": nest for name, nest in _BOTH.items() for end in ("", "_u8")},
    **{f"reference_{name}_f32": nest for name, nest in _FLOATS.items()},
    "reference_requantize_u8_to_s8": "unary",
    "reference_requantize_s8_to_u8": "unary",
    **{f"reference_{name}_s16": nest for name, nest in _BOTH.items() if name != "hard_swish"},
    **{f"reference_requantize_{types}": "unary" for types in ("s16_to_s8", "s8_to_s16", "s16_to_s32", "s32_to_s16")},
    "reference_resize_nearest_s16": "resize_nearest",
    "reference_transpose_conv_s16": "transposed",
    **{f"reference_pad{width}": "pad" for width in ("-wide", "-words")},
    **{f"reference_mirror_pad{width}": "elements" for width in ("-wide", "-words")},
    "reference_pad-zeros": "pad",
    "reference_pad-zero_words": "pad",
    "reference_softmax_s8_to_s16": "softmax",
    "reference_svdf": "svdf",
    "reference_lstm": "lstm",
    UNPACK: "unpacked",
    "reference_batch_matmul": "matrices",
    "reference_batch_matmul_s16": "matrices",
}
KINDS: Mapping[str, NestKind] = {
    name: NestKind(nest, ("unaligned", *_NESTS[nest].split())) for name, nest in sorted(_ALL.items())
}


def _conv(g: Geometry) -> str:
    single = g.kernel_h == g.kernel_w == g.stride_h == g.stride_w == 1 and g.in_c % 4 == 0
    if single and not (g.pad_top or g.pad_left or g.pad_bottom or g.pad_right):
        return "pointwise"
    return "columns" if g.dilation_h * g.dilation_w == 1 else "dilated"


def _depthwise(g: Geometry) -> str:
    if g.depth_multiplier != 1 or g.batch != 1 or g.dilation_h * g.dilation_w != 1:
        return "plain"
    inside = (g.out_w - 1) * g.stride_w - g.pad_left + 1 < g.in_w
    small = g.kernel_h == g.kernel_w == 3 and g.pad_top <= 1 and g.pad_left <= 1
    return "3x3" if small and inside else "columns"


def _conv_2020(g: Geometry) -> str:
    case = _conv(g)
    counted = max(g.in_c * g.kernel_h * g.kernel_w, g.out_c) < 1 << 16
    return case if case != "dilated" and counted else "plain"


def _depthwise_2020(g: Geometry) -> str:
    if g.dilation_h * g.dilation_w != 1:
        return "dilated"
    if g.depth_multiplier == 1 and g.batch == 1:
        return "columns"
    return "ones" if g.depth_multiplier % 4 else "fours"


def _average_2020(g: Geometry) -> str:
    return "large" if g.kernel_h * g.kernel_w > 256 else "halves"


def _cast(g: Geometry) -> str:
    first, _, last = g.types.partition("_to_")
    if "float32" in (first, last):
        return "from_float" if first == "float32" else "to_float"
    return "bytes" if first.endswith("int8") and last.endswith("int8") else "integers"


_CHOICE: Mapping[str, Callable[[Geometry], str]] = {
    "cmsis_conv": _conv,
    "cmsis_depthwise": _depthwise,
    "cmsis_2020_conv": _conv_2020,
    "cmsis_2020_depthwise": _depthwise_2020,
    "cmsis_2020_average_pool": _average_2020,
    "reference_cast": _cast,
}


_WIDTHS, _BY_WIDTH = {1: "", 2: "-wide", 4: "-words"}, ("reference_pad", "reference_mirror_pad")  # bytes of an element
_ELEMENTS = ("cmsis_add", "cmsis_mul", "tinyengine_add", "tinyengine_mul")  # two cases, by what the inputs have


def kind_of(symbol: str, g: Geometry, sizes: Mapping[str, int]) -> str:
    """The kind of a call of function ``symbol``; ``sizes``: bytes by role."""
    if symbol in _CHOICE:
        return f"{symbol}-{_CHOICE[symbol](g)}"
    if g.traits.rows:
        return f"{symbol}-rows"
    if g.traits.fills:
        return f"{symbol}-{'zeros' if g.item == 1 else 'zero_words'}"
    if symbol in _ELEMENTS:
        same = sizes.get("input0") == sizes.get("input1", sizes.get("input0")) == sizes.get("output")
        if same and g.slow_channels:
            return f"{symbol}{PLAIN}"
        return f"{symbol}-{'same' if same else 'broadcast'}"
    if symbol in _QUICK and (g.slow_channels or (symbol == _PLANE_BY_PAIRS and "bias" not in sizes)):
        return f"{symbol}{PLAIN}"
    if symbol == "tinyengine_pad" and (g.item > 1 or _pads_other_axes(g)):
        symbol = "reference_pad"
    return f"{symbol}{_WIDTHS[g.item]}" if symbol in _BY_WIDTH else symbol


def _padded_axes(g: Geometry, rows: Tile) -> list[tuple[int, int, int]]:
    """Elements of each axis as the kernel of a PAD gets them: before the input, of the input, of the output."""
    if g.traits.fills:
        return [(0, 0, 1)] * (AXES - 1) + [(0, 0, g.batch * g.out_h * g.out_w * g.out_c)]
    axes = [*g.paddings] or [(0, g.batch, g.batch), (0, 0, 0), (g.pad_left, g.in_w, g.out_w), (0, g.in_c, g.out_c)]
    if len(axes) == 4:
        axes[1] = (g.pad_top - rows.out_row + rows.in_row, rows.in_rows, rows.out_rows)
    return [(0, 1, 1)] * (AXES - len(axes)) + axes


def _pads_other_axes(g: Geometry) -> bool:
    """Is an axis padded that is not one of the two before the last?"""
    axes = _padded_axes(g, whole(g))
    return any(inside != size for _, inside, size in (*axes[:2], axes[4]))


def passes(symbol: str, g: Geometry) -> tuple[str, ...]:
    """Kinds of what function ``symbol`` calls behind the loops of its own kind."""
    return (RANGE,) if g.clamped and symbol in (*_QUICK, "tinyengine_depthwise_plain") else ()


def describe(call: NestCall, g: Geometry, rows: Tile, sizes: Mapping[str, int]) -> None:
    """Fill in what of a call does not depend on where the operands are."""
    call.batch, call.rows = g.batch, rows.out_rows
    call.in_h, call.in_w, call.in_c, call.filter_c = rows.in_rows, g.in_w, g.in_c, g.filter_c
    call.out_w, call.out_c = g.out_w, g.out_c
    call.kernel_h, call.kernel_w, call.stride_h, call.stride_w = g.kernel_h, g.kernel_w, g.stride_h, g.stride_w
    call.dilation_h, call.dilation_w = g.dilation_h, g.dilation_w
    call.pad_top, call.pad_left = g.pad_top - rows.out_row * g.stride_h + rows.in_row, g.pad_left
    call.depth_multiplier, call.slow_channels = g.depth_multiplier, g.slow_channels
    call.input_size, call.second_size = sizes.get("input0", 0), sizes.get("input1", 0)
    call.output_size, call.output_elements = sizes.get("output", 0), g.batch * rows.out_rows * g.out_w * g.out_c
    call.element, call.pieces = g.item, _pieces(g)
    call.weight = g.item if g.traits.multiplies else 4 if g.is_float else 1
    if g.traits.pads or g.traits.fills:
        call.axes.table(AXES)[:] = _padded_axes(g, rows)


def _pieces(g: Geometry) -> int:
    """Pieces that are joined: the axes before the one in which input and output differ."""
    if not g.traits.joins:
        return 1
    if g.in_h != g.out_h:
        return g.batch
    return g.batch * g.out_h if g.in_w != g.out_w else g.batch * g.out_h * g.out_w


def nest(kind: str) -> Any:
    """The native function that replays ``kind``."""
    from mcusim.kernels.cost.fitted import (
        nests_2020,
        nests_cmsis,
        nests_data_movement,
        nests_pool,
        nests_reference,
        nests_state,
        nests_tinyengine,
    )

    modules = (nests_2020, nests_cmsis, nests_reference, nests_pool, nests_state, nests_data_movement, nests_tinyengine)
    name = KINDS[kind].nest
    return next(getattr(m, name) for m in modules if hasattr(m, name))

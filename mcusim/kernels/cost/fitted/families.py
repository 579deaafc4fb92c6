"""Costs by family of kernels, of code that is not here: cycles as a function of an operator's shape.

A family has one or two features of a shape and as many coefficients, cycles for each. It is for code that was measured
call by call, as a firmware runs it, where no loop of it can be counted (:mod:`mcusim.kernels.cost.fitted.kinds` is for
those). What a family was not measured for is refused.

Not modelled: that the last of an odd number of pixels takes longer (but where a feature says so), and how alignment of
operands changes the cycles. Source of the families: functions of TinyEngine (Lin et al., "MCUNet", 2020), which are
written out for depths of 8, 16, 24 and 48, and by window and stride of a depthwise convolution.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mcusim.errors import UnsupportedError, UsageError
from mcusim.kernels.cost.fitted.fitted_shapes import Ranges
from mcusim.kernels.cost.profile_fields import number, shape_ranges, table_of
from mcusim.model.geometry import Geometry, Tile
from mcusim.model.operators import OPERATORS, shown_type

_DEPTHS = (8, 16, 24, 48)  # of which pointwise convolutions are written out
_WINDOWS = (3, 5, 7)
_TRANSPOSED = "transpose"  # the shape rule of what TinyEngine's converter leaves out, besides views


class FamilyCosts(NamedTuple):
    """Of one family: ``cycles`` for each of its features, the ``layers`` fitted to and those left out, the largest
    error of each in percent, and the shapes that they all had."""

    cycles: tuple[float, ...]
    layers: int
    left_out: int
    error: float
    left_out_error: float
    shapes: Ranges


_FIELDS = ("layers", "left_out", "error", "left_out_error")


def read_families(where: str, key: str, tables: Mapping[str, Any]) -> Mapping[str, FamilyCosts]:
    """Those of the table ``key`` of a profile's file. Raises UsageError for one that is missing, unknown or wrong."""
    for problem, names in (("no family", set(tables) - set(FAMILIES)), ("missing", set(FAMILIES) - set(tables))):
        if names:
            raise UsageError(
                f"kernel profile {where}: {key}.{min(names)} is {problem}; there are {', '.join(FAMILIES)}"
            )
    return {name: _read_family(where, f"{key}.{name}", name, table_of(where, tables, name, key)) for name in FAMILIES}


def _read_family(where: str, key: str, name: str, table: Mapping[str, Any]) -> FamilyCosts:
    unknown = set(table) - {"cycles", "shapes", *_FIELDS}
    if unknown:
        raise UsageError(f"kernel profile {where}: unknown key {key}.{min(unknown)}")
    cycles = table.get("cycles")
    if not isinstance(cycles, list) or len(cycles) != len(FAMILIES[name]):
        raise UsageError(f"kernel profile {where}: {key}.cycles: of {', '.join(FAMILIES[name])} are needed")
    layers, left_out, error, left_out_error = (number(where, f"{key}.{what}", table.get(what)) for what in _FIELDS)
    numbers = tuple(number(where, f"{key}.cycles", value) for value in cycles)
    shapes = shape_ranges(where, f"{key}.shapes", table.get("shapes"))
    return FamilyCosts(numbers, int(layers), int(left_out), error, left_out_error, shapes)


def _macs(g: Geometry, rows: Tile) -> float:
    return g.macs * rows.out_rows / g.out_h


def _outputs(g: Geometry, rows: Tile) -> float:
    return g.batch * rows.out_rows * g.out_w * g.out_c


def _inputs(g: Geometry, rows: Tile) -> float:
    return g.batch * rows.in_rows * g.in_w * g.in_c


def _plane(g: Geometry, rows: Tile) -> float:
    """Elements of the padded inputs."""
    return g.in_c * (rows.in_rows + g.kernel_h // 2 * 2) * (g.in_w + g.kernel_w // 2 * 2)


def _of_pairs(of: Callable[[Geometry, Tile], float]) -> Callable[[Geometry, Tile], float]:
    """With rows of an even number of outputs: two are computed together."""
    return lambda g, rows: of(g, rows) * (g.out_w + g.out_w % 2) / g.out_w


Feature = Callable[[Geometry, Tile], float]
FEATURES: Mapping[str, Feature] = {
    "macs": _macs,
    "outputs": _outputs,
    "inputs": _inputs,
    "padded_inputs": _plane,
    "macs_of_pairs": _of_pairs(_macs),
    "outputs_of_pairs": _of_pairs(_outputs),
}
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "pointwise": ("macs", "outputs"),
    "pointwise_8": ("macs",),
    **{f"pointwise_{depth}": ("macs", "inputs") for depth in _DEPTHS[1:]},
    "pointwise_of_a_pixel": ("macs",),
    "conv_3x3_of_3": ("macs",),
    "depthwise_3x3": ("macs", "padded_inputs"),
    "depthwise": ("macs_of_pairs", "outputs_of_pairs"),
    "depthwise_strided": ("macs_of_pairs", "outputs_of_pairs"),
    "add": ("outputs",),
    "average": ("inputs",),
}


def family(g: Geometry) -> str:
    """The family of an operator; empty for one that takes no time. Raises UnsupportedError, with the reason, for what
    was not measured."""
    if g.types != "int8" or g.batch != 1:
        raise UnsupportedError(
            f"{shown_type(g.type)} of {g.types}, batch {g.batch}: one int8 image is what was measured"
        )
    if g.traits.view or OPERATORS[g.type].rule == _TRANSPOSED:
        return ""
    choose = _CHOICE.get(g.traits.costed_as)
    name = choose(g) if choose else ""
    if not name:
        raise UnsupportedError(f"{_shape(g)} was not measured; measured were {_MEASURED}")
    return name


_MEASURED = (
    "1x1 convolutions of a depth that is a multiple of 4, 3x3 of stride 2 and depth 3, depthwise of 3x3, 5x5 and 7x7"
    " and stride 1 or 2, ADD of equal shapes, averages, fully connected layers"
)


def _shape(g: Geometry) -> str:
    windowed = g.traits.parametric or g.kernel_h * g.kernel_w > 1
    window = f" {g.kernel_h}x{g.kernel_w}, stride {g.stride_h}x{g.stride_w}," if windowed else ""
    return f"{g.type}{window} {g.in_h}x{g.in_w}x{g.in_c} to {g.out_h}x{g.out_w}x{g.out_c}"


def _conv(g: Geometry) -> str:
    window = (g.kernel_h, g.kernel_w, g.stride_h, g.stride_w)
    if g.dilation_h * g.dilation_w != 1 or window not in ((1, 1, 1, 1), (3, 3, 2, 2)):
        return ""
    if window == (3, 3, 2, 2):
        return "conv_3x3_of_3" if g.in_c == 3 else ""
    return _pointwise(g)


def _pointwise(g: Geometry) -> str:
    if g.in_c % 4:
        return ""
    if g.out_h * g.out_w == 1:
        return "pointwise_of_a_pixel"
    return f"pointwise_{g.in_c}" if g.in_c in _DEPTHS else "pointwise"


def _depthwise(g: Geometry) -> str:
    square = g.kernel_h == g.kernel_w in _WINDOWS and g.stride_h == g.stride_w in (1, 2)
    if not square or g.depth_multiplier != 1 or g.dilation_h * g.dilation_w != 1:
        return ""
    if g.stride_h == 2:
        return "depthwise_strided"
    return "depthwise_3x3" if g.kernel_h == 3 else "depthwise"


def _average(g: Geometry) -> str:
    return "average" if g.traits.sums or g.traits.reduces else ""


def _add(g: Geometry) -> str:
    return "add" if g.inputs == 2 and g.in_bytes == g.out_bytes else ""


_CHOICE: Mapping[str, Callable[[Geometry], str]] = {
    "conv": _conv,
    "fully_connected": _pointwise,
    "depthwise": _depthwise,
    "add": _add,
    "pool": _average,
}


def features(g: Geometry, rows: Tile) -> tuple[float, ...]:
    """Of an operator that takes time, those of its family."""
    return tuple(FEATURES[name](g, rows) for name in FAMILIES[family(g)])


def family_cycles(g: Geometry, rows: Tile, costs: Mapping[str, FamilyCosts]) -> float:
    """Cycles of a call, waits for its operands aside. Raises UnsupportedError."""
    name = family(g)
    if not name:
        return 0.0
    return sum(cycles * feature for cycles, feature in zip(costs[name].cycles, features(g, rows), strict=True))

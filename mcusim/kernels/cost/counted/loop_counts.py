"""How often each loop level of a kernel runs, cumulated over output rows, and the cycles that makes.

A tile costs ``F(r1) - F(r0)`` with ``F`` the whole cycles of output rows ``0..r``, so the tiles of an operator sum to
the operator exactly. Levels (counts are per operator, rows ``0..r``):

* pointwise: ``block`` MACs in groups of 16 input channels, ``rest`` the others, ``output`` requantised values; ``sum``
  weights summed for the input offset, in every call
* conv, depthwise: ``tap`` copied window positions, ``element`` im2col elements copied four at a time, ``element_rest``
  the odd ones, ``zero`` padding bytes cleared, ``block``/``rest``/``mac`` MACs, ``output``
* pad: ``element`` bytes copied one by one, ``zero`` bytes of padding, ``pixel``
* pool: ``tap`` window elements read, ``output``; the others: ``element`` output elements (``copy``: bytes)

What a kernel call does again for every tile (pointwise's ``sum`` over its weights) is in :func:`per_call`. Not
modelled: a call's prologue.
"""

from __future__ import annotations

from functools import cache
from itertools import accumulate

from mcusim.kernels.cost.counted.variants import variant
from mcusim.kernels.cost.profile import CoreCosts
from mcusim.model.geometry import Geometry, Tile

PER_CALL = ("sum",)


def inside(out: int, size: int, kernel: int, stride: int, dilation: int, pad: int) -> list[int]:
    """For each output position, how many of the ``kernel`` taps lie inside ``0..size``."""
    starts = (position * stride - pad for position in range(out))
    return [
        max(0, min(kernel, -(-(size - start) // dilation)) - max(0, -(start // dilation) if start < 0 else 0))
        for start in starts
    ]


@cache
def _taps(g: Geometry) -> tuple[int, ...]:
    """Window positions inside the input, cumulated over output rows (index r: rows 0..r)."""
    across = sum(inside(g.out_w, g.in_w, g.kernel_w, g.stride_w, g.dilation_w, g.pad_left))
    down = inside(g.out_h, g.in_h, g.kernel_h, g.stride_h, g.dilation_h, g.pad_top)
    return tuple(accumulate((n * across for n in down), initial=0))


def counts(g: Geometry, rows: int) -> dict[str, int]:
    """Level counts of output rows ``0..rows`` of ``g``."""
    kind = variant(g)
    outputs = g.batch * rows * g.out_w * g.out_c
    window = g.kernel_h * g.kernel_w
    if kind == "pointwise":
        blocked = g.in_c // 16 * 16
        return {"block": outputs * blocked, "rest": outputs * (g.in_c - blocked), "output": outputs}
    if kind == "conv":
        return _conv(g, rows, outputs)
    if kind == "depthwise":
        taps = _taps(g)[rows]
        missed = rows * g.out_w * window - taps
        copied = {"tap": taps, "element": taps * g.in_c, "zero": missed * g.in_c * 2}
        return copied | {"mac": outputs * window, "output": outputs}
    if kind == "depthwise_3x3":
        return {"mac": _taps(g)[rows] * g.out_c, "output": outputs}
    if kind == "depthwise_basic":
        return {"mac": g.batch * _taps(g)[rows] * g.out_c, "output": outputs}
    if kind == "fully_connected":
        return {"mac": outputs * g.in_c * window, "output": outputs}
    if kind == "pool":
        if g.traits.reduces:
            return {"tap": g.in_bytes // g.item * rows // g.out_h, "output": outputs}
        return {"tap": g.batch * _taps(g)[rows] * g.in_c, "output": outputs}
    if kind == "pad":
        inside = g.batch * max(0, min(rows - g.pad_top, g.in_h)) * g.in_w * g.in_c
        return {"element": inside, "zero": outputs - inside, "pixel": outputs // g.out_c}
    return {"element": outputs * (g.item if kind == "copy" else 1)}


def _conv(g: Geometry, rows: int, outputs: int) -> dict[str, int]:
    taps = g.batch * _taps(g)[rows]
    window = g.kernel_h * g.kernel_w
    pixels = g.batch * rows * g.out_w
    odd, depth = g.in_c % 4, window * g.in_c
    return {
        "tap": taps,
        "element": taps * (g.in_c - odd),
        "element_rest": taps * odd,
        "zero": (pixels * window - taps) * g.in_c * 2,
        "block": outputs * (depth - depth % 4),
        "rest": outputs * (depth % 4),
        "output": outputs,
    }


def per_call(g: Geometry) -> dict[str, int]:
    """Level counts of what every kernel call does again, however few rows its tile has."""
    return {"sum": g.in_c * g.out_c} if variant(g) == "pointwise" else {}


@cache
def _cumulated(g: Geometry, rows: int, levels: tuple[tuple[str, int], ...]) -> int:
    number = counts(g, rows)
    return sum(number[level] * cost for level, cost in levels) // 1000


def compute_cycles(g: Geometry, tile: Tile, costs: CoreCosts) -> int:
    """Cycles of one kernel call in an ideal memory; tiles of an operator sum to the whole, but for :func:`per_call`."""
    rows = tuple((level, cost) for level, cost in costs.levels[variant(g)].items() if level not in PER_CALL)
    cycles = _cumulated(g, tile.out_row + tile.out_rows, rows) - _cumulated(g, tile.out_row, rows)
    again = sum(costs.levels[variant(g)][level] * number for level, number in per_call(g).items())
    return cycles + (again // 1000 if tile.out_rows else 0)

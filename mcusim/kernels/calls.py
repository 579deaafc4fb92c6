"""One kernel call: its parameter array for the native streams, its code sweeps, its cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mcusim.kernels import streams as S
from mcusim.kernels.profile import CoreCosts, Profile
from mcusim.kernels.variants import VARIANTS, variant
from mcusim.kernels.work import compute_cycles
from mcusim.memory import layout as L
from mcusim.memory import path
from mcusim.model.geometry import Geometry, Tile

_STREAM = {
    "pointwise": S.pointwise,
    "conv": S.conv,
    "depthwise": S.depthwise,
    "depthwise_3x3": S.depthwise_direct,
    "depthwise_basic": S.depthwise_direct,
    "fully_connected": S.fully_connected,
    "pool": S.pool,
}
_ROLE = {
    "input0": S.IN, "input1": S.IN2, "filter": S.W, "output": S.OUT,
    "bias": S.BIAS, "multiplier": S.MUL, "shift": S.SHIFT, "scratch": S.SCR,
}  # fmt: skip
# outputs per time round the outermost loop that sweeps the whole code
_PER_SWEEP = {"pointwise": 4, "conv": 4, "depthwise": 4, "depthwise_3x3": 4, "depthwise_basic": 1}
_PER_SWEEP |= {"fully_connected": 2, "add": 4}


def play(
    state: Any, g: Geometry, rows: Tile, operands: Mapping[str, tuple[int, int]], profile: Profile, costs: CoreCosts
) -> None:
    """Play the data accesses of a kernel call on the memory state. ``operands``: role -> (address, bytes)."""
    kind = variant(g)
    p = np.full(S.SLOTS, -1, np.int64)
    for role, (address, _) in operands.items():
        if role in _ROLE:
            p[_ROLE[role]] = address
    p[S.IN_H : S.PL + 1] = (
        g.in_h, g.in_w, g.in_c, g.out_w, g.out_c, g.kernel_h, g.kernel_w, g.stride_h, g.stride_w,
        g.dilation_h, g.dilation_w, g.pad_top, g.pad_left,
    )  # fmt: skip
    p[S.ROW], p[S.ROWS], p[S.IROW] = rows.out_row, rows.out_rows * g.batch, rows.in_row
    _gaps(p, g, kind, costs)
    if p[S.IN] < 0 or p[S.OUT] < 0:
        return
    if kind in _STREAM and g.type != "MEAN":
        _STREAM[kind](state, p)
        return
    _sizes(p, g, rows, operands)
    S.sequential(state, p)


def _sizes(p: Any, g: Geometry, rows: Tile, operands: Mapping[str, tuple[int, int]]) -> None:
    size = {role: bytes_ for role, (_, bytes_) in operands.items()}
    p[S.SIZE] = size.get("input0", 0)
    p[S.SIZE2] = size.get("input1", 0)
    p[S.OUT_SIZE] = size.get("output", 0)


def _gaps(p: Any, g: Geometry, kind: str, costs: CoreCosts) -> None:
    """Ticks of core work per access in each loop level (accesses per MAC or element as the streams issue them)."""
    level = {name: cost / 1000 for name, cost in costs.levels[kind].items()}
    gap = {S.G_BLOCK: 0.0, S.G_REST: 0.0, S.G_SUM: 0.0, S.G_COPY: 0.0, S.G_ZERO: 0.0, S.G_OUT: 0.0}
    gap[S.G_OUT] = level.get("output", 0.0) / 3
    if kind == "pointwise":
        gap |= {S.G_BLOCK: 4 * level["block"], S.G_REST: level["rest"], S.G_SUM: level["sum"]}
    elif kind in ("conv", "depthwise"):
        element = level.get("element_rest", 0.0) if g.in_c < 4 else level["element"]
        accesses = (2 if g.in_c < 4 else 0.75) * g.in_c
        gap[S.G_COPY] = (level["tap"] + element * g.in_c) / accesses
        gap[S.G_ZERO] = level["zero"]
        gap[S.G_BLOCK] = 16 * level["block"] / 6 if kind == "conv" else 8 * level["mac"] / 6
    elif kind in ("depthwise_3x3", "depthwise_basic"):
        gap[S.G_BLOCK] = 2 * level["mac"]
    elif kind == "fully_connected":
        gap[S.G_BLOCK] = 8 * level["mac"] / 3
    elif kind == "pool":
        gap[S.G_BLOCK] = level["tap"] / (3 if g.type == "AVERAGE_POOL_2D" else 1)
    else:
        gap[S.G_BLOCK] = 4 * level["element"] / (3 if kind == "add" else 2)
    for slot, cycles in gap.items():
        p[slot] = round(cycles * L.TICK)


def fetch(
    state: Any, code: int, g: Geometry, rows: Tile, first: bool, profile: Profile, costs: CoreCosts, cycles: int
) -> int:
    """Play the instruction fetches of a kernel call whose set starts at address ``code``; stall in ticks."""
    kind = variant(g)
    address = code
    for name in VARIANTS[: VARIANTS.index(kind)]:
        address += -(-profile.code[name] // 64) * 64
    sweeps = _sweeps(g, kind, rows.out_row + rows.out_rows) - _sweeps(g, kind, rows.out_row)
    executed = int(cycles * costs.bytes_per_cycle)
    return int(path.fetch(state, address, profile.code[kind], sweeps, int(first), executed))


def _sweeps(g: Geometry, kind: str, rows: int) -> int:
    outputs = g.batch * rows * g.out_w * g.out_c
    return outputs // _PER_SWEEP[kind] if kind in _PER_SWEEP else g.batch * rows * g.out_w


def cycles(g: Geometry, rows: Tile, costs: CoreCosts) -> int:
    """Compute cycles of the call."""
    return compute_cycles(g, rows, costs)

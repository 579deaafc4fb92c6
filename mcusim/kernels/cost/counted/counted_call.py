"""One kernel call: its parameter array for the native streams, its code sweeps, its cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from mcusim.errors import ProgramError
from mcusim.kernels.cost.counted import access_streams as S
from mcusim.kernels.cost.counted.loop_counts import compute_cycles
from mcusim.kernels.cost.counted.variants import VARIANTS, scratch_bytes, variant
from mcusim.kernels.cost.profile import CoreCosts, Profile
from mcusim.memory import state_layout as L
from mcusim.memory.ports import replay
from mcusim.memory.state_layout import CacheState, MemoryState
from mcusim.model.geometry import Geometry, Tile

_STREAM = {
    "pointwise": S.pointwise,
    "conv": S.conv,
    "depthwise": S.depthwise,
    "depthwise_3x3": S.depthwise_direct,
    "depthwise_basic": S.depthwise_direct,
    "fully_connected": S.fully_connected,
    "pool": S.pool,
    "pad": S.pad,
}
_ROLE = {
    "input0": S.IN, "input1": S.IN2, "filter": S.W, "output": S.OUT,
    "bias": S.BIAS, "multiplier": S.MUL, "shift": S.SHIFT, "scratch": S.SCR,
}  # fmt: skip
_SCRATCH = ("conv", "depthwise")
_WEIGHTED = ("pointwise", "conv", "depthwise", "depthwise_3x3", "depthwise_basic", "fully_connected")
# outputs per time round the outermost loop that sweeps the whole code
_PER_SWEEP = {"pointwise": 4, "conv": 4, "depthwise": 4, "depthwise_3x3": 4, "depthwise_basic": 1}
_PER_SWEEP |= {"fully_connected": 2, "add": 4}


def replay_call(
    memory: MemoryState,
    g: Geometry,
    rows: Tile,
    operands: Mapping[str, tuple[int, int]],
    profile: Profile,
    costs: CoreCosts,
) -> None:
    """Play the data accesses of a kernel call on the memory state. ``operands``: role -> (address, bytes).

    Raises ProgramError if an operand that the kernel needs is missing or its scratch too short.
    """
    kind = variant(g)
    p = np.full(S.SLOTS, -1, np.int64)
    p[S.HELD :] = memory.data_cache + CacheState.WORDS  # its first line, as good as any
    for role, (address, _) in operands.items():
        if role in _ROLE:
            p[_ROLE[role]] = address
    p[S.IN_H : S.PL + 1] = (
        g.in_h, g.in_w, g.in_c, g.out_w, g.out_c, g.kernel_h, g.kernel_w, g.stride_h, g.stride_w,
        g.dilation_h, g.dilation_w, g.pad_top, g.pad_left,
    )  # fmt: skip
    p[S.ROW], p[S.ROWS], p[S.IROW] = rows.out_row, rows.out_rows, rows.in_row
    p[S.SIZE], p[S.SIZE2], p[S.OUT_SIZE] = (operands.get(r, (0, 0))[1] for r in ("input0", "input1", "output"))
    _gaps(p, g, kind, costs)
    _require(g, kind, operands)
    if kind not in _STREAM or g.traits.reduces:
        S.sequential(memory, p)
        return
    images = g.batch
    if kind == "pointwise":  # one matrix over the pixels of all images
        p[S.ROWS], images = rows.out_rows * images, 1
    for _ in range(images):  # images are contiguous
        _STREAM[kind](memory, p)
        p[S.IN] += rows.in_rows * g.in_w * g.in_c
        p[S.OUT] += rows.out_rows * g.out_w * g.out_c


def _require(g: Geometry, kind: str, operands: Mapping[str, tuple[int, int]]) -> None:
    """Raise ProgramError for a call without an operand its kernel reads or writes."""
    needs = {"input0": 1, "output": 1}
    if kind in _WEIGHTED:
        needs["filter"] = 1
    if kind in _SCRATCH or g.traits.sums:
        needs["scratch"] = scratch_bytes(g)
    for role, need in needs.items():
        have = operands.get(role, (0, 0))[1]
        if have < need:
            raise ProgramError(f"a {g.type} call has {have:,} B of operand {role}; kernel {kind} needs {need:,} B")


def _gaps(p: Any, g: Geometry, kind: str, costs: CoreCosts) -> None:
    """Ticks of core work per access in each loop level.

    Accesses as the inner loops of CMSIS-NN 5.8.0 issue them, in words unless said: pointwise 4 loads for 16 MACs
    (bytes: 4 for 4), conv and depthwise 6 for 16 and 8, depthwise 3x3 2 for 4, fully connected 3 for 8, im2col 3 for 4
    elements (bytes: 2 for 1), PAD 2 a byte, requantisation 3 an output.
    """
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
    elif kind == "pad":
        gap |= {S.G_COPY: level["element"] / 2, S.G_ZERO: level["zero"]}
    elif kind == "pool":
        gap[S.G_BLOCK] = level["tap"] / (3 if g.traits.sums else 1)
    else:
        gap[S.G_BLOCK] = 4 * level["element"] / (3 if kind == "add" else 2)
    for slot, cycles in gap.items():
        p[slot] = round(cycles * L.TICK)


def fetch(
    memory: MemoryState, code: int, g: Geometry, rows: Tile, profile: Profile, costs: CoreCosts, cycles: int
) -> int:
    """Play the instruction fetches of a call of ``cycles`` whose kernel set starts at ``code``; stall in ticks."""
    kind = variant(g)
    address = code
    for name in VARIANTS[: VARIANTS.index(kind)]:
        address += -(-profile.code[name] // 64) * 64
    end = rows.out_row + rows.out_rows
    sweeps = _sweeps(g, kind, end) - _sweeps(g, kind, rows.out_row)
    before = compute_cycles(g, Tile(0, rows.out_row, 0, 0), costs)
    begun, executed = (int(n * costs.bytes_per_cycle) for n in (before, before + cycles))
    rate = round((L.TICK << 16) / costs.bytes_per_cycle)
    return int(replay.fetch(memory, address, profile.code[kind], sweeps, int(rows.out_row == 0), begun, executed, rate))


def away(memory: MemoryState, code: int, costs: CoreCosts, cycles: int) -> int:
    """``cycles`` of a call as they are where its code comes word by word; plays the waits for the words."""
    region = replay.word_by_word(memory, code)
    if region is None:
        return cycles
    factor, words, anew = (cycles * rate for rate in costs.away)
    word, more = replay.word_ticks(memory, region)
    stall = round(words * word + anew * more)
    replay.count_words(memory, region, round(words))
    region.stall += stall
    region.fetch_stall += stall
    memory.now += stall
    return round(factor)


def _sweeps(g: Geometry, kind: str, rows: int) -> int:
    outputs = g.batch * rows * g.out_w * g.out_c
    return outputs // _PER_SWEEP[kind] if kind in _PER_SWEEP else g.batch * rows * g.out_w


def cycles(g: Geometry, rows: Tile, costs: CoreCosts) -> int:
    """Compute cycles of the call."""
    return compute_cycles(g, rows, costs)

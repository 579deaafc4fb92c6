"""One kernel call: its parameter array for the native streams, its code sweeps, its cycles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from mcusim.errors import ProgramError
from mcusim.kernels.cost.counted import access_streams as S
from mcusim.kernels.cost.counted import call_streams
from mcusim.kernels.cost.counted.call_streams import KINDS
from mcusim.kernels.cost.counted.loop_counts import compute_cycles
from mcusim.kernels.cost.counted.variants import VARIANTS, scratch_bytes, variant
from mcusim.kernels.cost.profile import CoreCosts, Profile
from mcusim.memory import state_layout as L
from mcusim.memory.ports import replay
from mcusim.memory.state_layout import CacheState, CodeSweep, MemoryState
from mcusim.model.geometry import Geometry, Tile
from mcusim.native.structs import offset_of

_FIELD = {role: role for role in ("filter", "output", "bias", "multiplier", "shift", "scratch")}
_FIELD |= {"input0": "input", "input1": "second_input"}
_SCRATCH = ("conv", "depthwise")
_WEIGHTED = ("pointwise", "conv", "depthwise", "depthwise_3x3", "depthwise_basic", "fully_connected")
# outputs per time round the outermost loop that sweeps the whole code
_PER_SWEEP = {"pointwise": 4, "conv": 4, "depthwise": 4, "depthwise_3x3": 4, "depthwise_basic": 1}
_PER_SWEEP |= {"fully_connected": 2, "add": 4}


class PreparedCall(NamedTuple):
    """A kernel call's data accesses: ``images`` of a ``kind`` of :data:`~.call_streams.KINDS`, one behind the other."""

    call: S.CountedCall
    kind: int
    images: int
    input_step: int
    output_step: int


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
    call_streams.play_images(*prepared(memory, g, rows, operands, costs))


def prepared(
    memory: MemoryState, g: Geometry, rows: Tile, operands: Mapping[str, tuple[int, int]], costs: CoreCosts
) -> PreparedCall:
    """What :func:`replay_call` plays."""
    kind = variant(g)
    call = _call(memory, g, rows, operands)
    _gaps(call, g, kind, costs)
    _require(g, kind, operands)
    if kind not in KINDS or g.traits.reduces:
        return PreparedCall(call, call_streams.SEQUENTIAL, 1, 0, 0)
    images = g.batch
    if kind == "pointwise":  # one matrix over the pixels of all images
        call.rows, images = rows.out_rows * images, 1
    steps = rows.in_rows * g.in_w * g.in_c, rows.out_rows * g.out_w * g.out_c  # images are contiguous
    return PreparedCall(call, KINDS.index(kind), images, *steps)


def _call(memory: MemoryState, g: Geometry, rows: Tile, operands: Mapping[str, tuple[int, int]]) -> S.CountedCall:
    call = S.empty_call()
    call.memory = memory
    line = memory.data_cache + CacheState.WORDS  # its first line, as good as any
    call.array[offset_of(S.CountedCall.hints) :] = line  # and of the operands
    for role, (address, _) in operands.items():
        if role in _FIELD:
            setattr(call, _FIELD[role], address)
    call.in_h, call.in_w, call.in_c, call.out_w, call.out_c = g.in_h, g.in_w, g.in_c, g.out_w, g.out_c
    call.kernel_h, call.kernel_w, call.stride_h, call.stride_w = g.kernel_h, g.kernel_w, g.stride_h, g.stride_w
    call.dilation_h, call.dilation_w = g.dilation_h, g.dilation_w
    call.pad_top, call.pad_left = g.pad_top, g.pad_left
    call.first_row, call.rows, call.first_input_row = rows.out_row, rows.out_rows, rows.in_row
    sizes = (operands.get(role, (0, 0))[1] for role in ("input0", "input1", "output"))
    call.input_size, call.second_size, call.output_size = sizes
    return call


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


def _gaps(call: S.CountedCall, g: Geometry, kind: str, costs: CoreCosts) -> None:
    """Ticks of core work per access in each loop level.

    Accesses as the inner loops of CMSIS-NN 5.8.0 issue them, in words unless said: pointwise 4 loads for 16 MACs
    (bytes: 4 for 4), conv and depthwise 6 for 16 and 8, depthwise 3x3 2 for 4, fully connected 3 for 8, im2col 3 for 4
    elements (bytes: 2 for 1), PAD 2 a byte, requantisation 3 an output.
    """
    level = {name: cost / 1000 for name, cost in costs.levels[kind].items()}
    gap = dict.fromkeys(("block", "rest", "sum", "copy", "zero"), 0.0) | {"output": level.get("output", 0.0) / 3}
    if kind == "pointwise":
        gap |= {"block": 4 * level["block"], "rest": level["rest"], "sum": level["sum"]}
    elif kind in ("conv", "depthwise"):
        element = level.get("element_rest", 0.0) if g.in_c < 4 else level["element"]
        accesses = (2 if g.in_c < 4 else 0.75) * g.in_c
        gap["copy"] = (level["tap"] + element * g.in_c) / accesses
        gap["zero"] = level["zero"]
        gap["block"] = 16 * level["block"] / 6 if kind == "conv" else 8 * level["mac"] / 6
    elif kind in ("depthwise_3x3", "depthwise_basic"):
        gap["block"] = 2 * level["mac"]
    elif kind == "fully_connected":
        gap["block"] = 8 * level["mac"] / 3
    elif kind == "pad":
        gap |= {"copy": level["element"] / 2, "zero": level["zero"]}
    elif kind == "pool":
        gap["block"] = level["tap"] / (3 if g.traits.sums else 1)
    else:
        gap["block"] = 4 * level["element"] / (3 if kind == "add" else 2)
    S.set_gaps(call, {part: round(cycles * L.TICK) for part, cycles in gap.items()})


def code_sweep(code: int, g: Geometry, rows: Tile, profile: Profile, costs: CoreCosts, cycles: int) -> CodeSweep:
    """The instruction fetches of a call of ``cycles`` whose kernel set starts at ``code``."""
    kind = variant(g)
    address = code
    for name in VARIANTS[: VARIANTS.index(kind)]:
        address += -(-profile.code[name] // 64) * 64
    end = rows.out_row + rows.out_rows
    sweeps = _sweeps(g, kind, end) - _sweeps(g, kind, rows.out_row)
    before = compute_cycles(g, Tile(0, rows.out_row, 0, 0), costs)
    begun, executed = (int(n * costs.bytes_per_cycle) for n in (before, before + cycles))
    rate = round((L.TICK << 16) / costs.bytes_per_cycle)
    cold = int(rows.out_row == 0)
    return CodeSweep(np.array((address, profile.code[kind], sweeps, cold, begun, executed, rate), np.int64))


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

"""The call structures of operators that select, reorder, repeat, cast or normalise elements, member by member.

Not modelled: what :mod:`mcusim.kernels.calls.call_bytes` does not model; indices of int64; more than four changes
between axes that are reduced and axes that are kept; TILE of more than five axes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from mcusim.errors import UnsupportedError
from mcusim.kernels.calls import quantize as Q
from mcusim.kernels.calls.prepare import CallJob
from mcusim.kernels.calls.structs import pack
from mcusim.model.graph import ITEM_BYTES
from mcusim.model.strided_copy import five

CASTS = ("int8", "uint8", "int16", "int32", "float32")
"""The types of a CAST, in the order of their numbers."""


def _constants(job: CallJob, position: int) -> list[int]:
    data = job.graph.tensors[job.op.inputs[position]].data
    assert data is not None  # the reader checks it
    return [int(v) for v in data.reshape(-1)]


def _ends(job: CallJob) -> dict[str, Any]:
    return {"input": job.places.inputs[0], "output": job.places.outputs[job.part]}


def _arg(job: CallJob) -> bytes:
    shape = job.inputs[0].shape
    axis = _constants(job, 1)[0] % len(shape)
    values = {"outer": prod(shape[:axis]), "size": shape[axis], "inner": prod(shape[axis + 1 :])}
    return pack("arg_call", _ends(job) | values | {"wide": int(job.output.dtype == "int64")})


def _reduced_axes(job: CallJob) -> tuple[list[int], list[int]]:
    """Shape and marks of four axes, those that are alike and follow each other joined, ones in front.

    Raises UnsupportedError where four are too few.
    """
    shape: list[int] = []
    marks: list[int] = []
    axes = {a % len(job.inputs[0].shape) for a in _constants(job, 1)}
    for axis, size in enumerate(job.inputs[0].shape):
        mark = int(axis in axes)
        if size == 1:
            continue
        if marks and marks[-1] == mark:
            shape[-1] *= size
        else:
            shape, marks = [*shape, size], [*marks, mark]
    if len(shape) > 4:
        raise UnsupportedError(f"operator {job.op.index} {job.op.type}: {len(shape)} axes; its kernel has 4")
    room = 4 - len(shape)
    return [1] * room + shape, [0] * room + marks


def _reduce(job: CallJob) -> bytes:
    source, output = job.inputs[0], job.output
    shape, marks = _reduced_axes(job)
    values: dict[str, Any] = {"shape": shape, "reduce": marks, "scratch": job.places.scratch}
    if job.op.traits.selects or output.dtype == "float32":
        return pack("mean_call", _ends(job) | values)
    multiplier, shift = Q.quantize_multiplier(Q.divide(Q.real_scale(source), Q.real_scale(output)))
    least, most = Q.limits(output.dtype)
    values |= {"multiplier": multiplier, "shift": shift, "least": least, "most": most}
    return pack(
        "mean_call",
        _ends(job) | values | {"input_offset": -Q.zero_point(source), "output_offset": Q.zero_point(output)},
    )


def _gather(job: CallJob) -> bytes:
    source, indices = job.inputs
    shape, item = source.shape, ITEM_BYTES[source.dtype]
    values: dict[str, Any] = {"input": job.places.inputs[0], "indices": job.places.inputs[1]}
    values |= {"output": job.places.outputs[0]}
    if job.op.traits.computes == "gather_nd":
        depth = indices.shape[-1]
        steps = [item * prod(shape[d + 1 :]) for d in range(depth)]
        values |= {"batch": 1, "outer": 1, "count": indices.elements // depth, "bytes": steps[-1]}
        return pack("gather_call", values | {"depth": depth, "step": _five(steps), "limit": _five(shape[:depth])})
    axis, batch = job.op.options["axis"] % len(shape), job.op.options["batch_dims"]
    batch += len(indices.shape) * (batch < 0)
    inner = item * prod(shape[axis + 1 :])
    values |= {"batch": prod(shape[:batch]), "outer": prod(shape[batch:axis]), "bytes": inner}
    values |= {"count": prod(indices.shape[batch:]), "part": inner * shape[axis], "depth": 1}
    return pack("gather_call", values | {"step": _five([inner]), "limit": _five(shape[axis : axis + 1])})


def _five(values: Sequence[int]) -> list[int]:
    return [*values, *(0,) * (5 - len(values))]


def _blocks(job: CallJob) -> bytes:
    source, target = (_nhwc(t.shape) for t in (job.inputs[0], job.output))
    block, pads = _constants(job, 1), _constants(job, 2)
    values: dict[str, Any] = dict(zip(("batch", "in_h", "in_w"), source, strict=False))
    values |= dict(zip(("out_batch", "out_h", "out_w"), target, strict=False))
    values |= {"depth": source[3] * ITEM_BYTES[job.output.dtype], "block_h": block[0], "top": pads[0]}
    values |= {"block_w": block[1] if len(block) > 1 else 1, "left": pads[2] if len(pads) > 2 else 0}
    return pack("blocks_call", _ends(job) | values | {"value": Q.zero_point(job.output) & 0xFF})


def _nhwc(shape: Sequence[int]) -> tuple[int, int, int, int]:
    n, h, w, c = shape if len(shape) == 4 else (shape[0], shape[1], 1, shape[2])
    return n, h, w, c


def _mirror_pad(job: CallJob) -> bytes:
    before = _constants(job, 1)[::2]
    values: dict[str, Any] = {"shape": five(job.output.shape, 1), "before": five(before, 0)}
    values |= {"inside": five(job.inputs[0].shape, 1), "item": ITEM_BYTES[job.output.dtype]}
    return pack("move_call", _ends(job) | values | {"value": 1 - job.op.options["mode"]})


def _tile(job: CallJob) -> bytes:
    """Axes behind the last that is repeated are joined to it."""
    own, out = [1, *job.inputs[0].shape], [1, *job.output.shape]
    while len(own) > 1 and own[-1] == out[-1]:
        last = own.pop()
        out.pop()
        own[-1], out[-1] = own[-1] * last, out[-1] * last
    own, out = (own[1:], out[1:]) if len(own) > 1 and own[0] == 1 else (own, out)
    values: dict[str, Any] = {"shape": five(out, 1), "inside": five(own, 1)}
    return pack("move_call", _ends(job) | values | {"item": ITEM_BYTES[job.output.dtype]})


def _normalize(job: CallJob) -> bytes:
    source = job.inputs[0]
    depth = source.shape[-1]
    values = {"rows": source.elements // depth, "depth": depth, "offset": -Q.zero_point(source)}
    if job.op.traits.computes == "log_softmax" and source.dtype != "float32":
        multiplier, shift, least = Q.softmax_scaling(1.0, Q.real_scale(source))
        back, right = Q.quantize_multiplier((1 << (31 - shift)) / multiplier)
        values |= {"multiplier": multiplier, "shift": shift, "least_difference": least}
        values |= {"reverse_multiplier": back, "reverse_shift": -right}
    return pack("normalize_call", _ends(job) | values)


def _cast(job: CallJob) -> bytes:
    first, last = (t.dtype.replace("uint32", "int32") for t in (job.inputs[0], job.output))  # the same bits
    values = {"from": CASTS.index(first), "to": CASTS.index(last)}
    return pack("cast_call", _ends(job) | values | {"elements": job.output.elements})


BUILDERS: Mapping[str, Callable[[CallJob], bytes]] = {
    "arg_call": _arg, "gather_call": _gather, "blocks_call": _blocks, "cast_call": _cast,
    "normalize_call": _normalize,
}  # fmt: skip
"""By structure: what fills it in."""
OWN: Mapping[str, Callable[[CallJob], bytes]] = {
    "mirror_pad": _mirror_pad, "tile": _tile, "reduce": _reduce,
}  # fmt: skip
"""By trait ``computes``: where another fills the structure in than for others that are called with it."""

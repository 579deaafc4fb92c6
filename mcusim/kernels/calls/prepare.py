"""The call structures of every operator, member by member, as TFLite's Prepare functions compute them.

Not modelled: what :mod:`mcusim.kernels.calls.call_bytes` does not model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mcusim.errors import UnsupportedError
from mcusim.kernels.calls import quantize as Q
from mcusim.kernels.calls.lookup_tables import CURVES, concatenation_table, lookup_table, softmax_tables
from mcusim.kernels.calls.structs import pack, size_of
from mcusim.model.geometry import Geometry, Tile
from mcusim.model.graph import ITEM_BYTES, Graph, Operator, Tensor
from mcusim.model.operators import FUSED
from mcusim.model.strided_copy import five, move


@dataclass(frozen=True)
class Places:
    """Guest addresses of a call's operands; ``inputs`` as :func:`data_inputs` lists them, 0 for what is not there.

    ``call`` is where the structure goes: pointers and tables that belong to it follow it.
    """

    call: int
    inputs: Sequence[int]
    outputs: Sequence[int]
    filter: int = 0
    bias: int = 0
    multiplier: int = 0
    shift: int = 0
    scratch: int = 0


@dataclass(frozen=True)
class CallJob:
    """One call to be written down: call ``part`` of an operator, for the rows of a tile."""

    graph: Graph
    op: Operator
    geometry: Geometry
    tile: Tile
    places: Places
    part: int

    @property
    def inputs(self) -> list[Tensor]:
        return [self.graph.tensors[i] for i in data_inputs(self.op)]

    @property
    def output(self) -> Tensor:
        return self.graph.tensors[self.op.outputs[self.part]]


def data_inputs(op: Operator) -> tuple[int, ...]:
    """The tensors that the kernel of ``op`` reads as data: not filters, biases, shapes, axes, paddings."""
    return tuple(op.inputs) if op.traits.constants_are_data else (op.inputs[op.traits.data_input],)


def _window(job: CallJob) -> dict[str, int]:
    """Window members that convolutions and pools share; a tile's padding is counted from its own first row."""
    g, tile = job.geometry, job.tile
    top = g.pad_top - tile.out_row * g.stride_h + tile.in_row
    return {
        "batch": g.batch, "in_h": tile.in_rows, "in_w": g.in_w, "out_h": tile.out_rows, "out_w": g.out_w,
        "filter_h": g.kernel_h, "filter_w": g.kernel_w, "stride_h": g.stride_h, "stride_w": g.stride_w,
        "pad_top": top, "pad_left": g.pad_left, "scratch": job.places.scratch,
    }  # fmt: skip


def _range(job: CallJob) -> dict[str, int]:
    if job.output.dtype in ("int32", "float32"):
        return _plain_range(job)
    least, most = Q.activation_range(job.op.options.get("activation", "NONE"), job.output)
    return {"least": least, "most": most}


def _ends(job: CallJob) -> dict[str, int]:
    return {"input": job.places.inputs[0], "output": job.places.outputs[job.part]}


def _convolution(job: CallJob) -> bytes:
    g, at = job.geometry, job.places
    values = _window(job) | _range(job) | _ends(job)
    values |= {"filter": at.filter, "bias": at.bias, "multiplier": at.multiplier, "shift": at.shift}
    values |= {"in_c": g.in_c, "out_c": g.out_c, "dilation_h": g.dilation_h, "dilation_w": g.dilation_w}
    if job.output.dtype == "float32":
        return pack("conv_call", values | {"depth_multiplier": max(g.groups, g.depth_multiplier)})
    values |= {"depth_multiplier": g.groups if g.groups > 1 else g.depth_multiplier}
    values |= {"output_offset": Q.zero_point(job.output)}
    values |= {"input_offset": -Q.zero_point(job.inputs[0])}
    filters = job.graph.tensors[job.op.inputs[1]]
    symmetric = filters.dtype in ("int8", "int4") and job.op.traits.per_channel  # TFLite takes those for 0
    values["filter_offset"] = 0 if symmetric else -Q.zero_point(filters)
    if at.bias:
        values["bias_bytes"] = ITEM_BYTES[job.graph.tensors[job.op.inputs[job.op.traits.bias_input]].dtype]
    return pack("conv_call", values)


def _pool(job: CallJob) -> bytes:
    return pack("pool_call", _window(job) | _range(job) | _ends(job) | {"channels": job.geometry.in_c})


def _four(job: CallJob, tensor: Tensor, rows: int) -> list[int]:
    shape = tensor.shape
    if len(shape) > 4:
        raise UnsupportedError(f"operator {job.op.index} {job.op.type}: {len(shape)} axes; its kernel has 4")
    four = [*(1,) * (4 - len(shape)), *shape]
    if len(shape) == 4 and four[1] > 1:
        four[1] = rows
    return four


def _binary(job: CallJob) -> bytes:
    first, second = job.inputs
    values: dict[str, Any] = {"input1": job.places.inputs[0], "input2": job.places.inputs[1]}
    values |= {"output": job.places.outputs[0], "shape": _four(job, job.output, job.tile.out_rows)}
    values |= {"shape1": _four(job, first, job.tile.out_rows), "shape2": _four(job, second, job.tile.out_rows)}
    values |= _range(job)
    if job.op.traits.selects or job.output.dtype in ("int32", "float32"):
        return pack("binary_call", values)
    values |= {"input1_offset": -Q.zero_point(first), "input2_offset": -Q.zero_point(second)}
    values |= {"output_offset": Q.zero_point(job.output)} | _binary_scales(job, first, second)
    return pack("binary_call", values)


def _plain_range(job: CallJob) -> dict[str, int]:
    """Least and most of an output that is not quantised; those of floats as their bits."""
    activation = job.op.options.get("activation", "NONE")
    floats, infinite = job.output.dtype == "float32", float("inf")
    if activation not in FUSED:
        raise UnsupportedError(f"operator {job.op.index} {job.op.type}: the activation {activation} is not fused")
    least, most = FUSED[activation]
    ends = (-infinite if least is None else least, infinite if most is None else most)
    if floats:
        low, high = (float_bits(value) for value in ends)
    else:
        low, high = (int(max(-(2.0**31), min(value, 2.0**31 - 1))) for value in ends)
    return {"least": low, "most": high}


def _binary_scales(job: CallJob, first: Tensor, second: Tensor) -> dict[str, int]:
    a, b, last = Q.real_scale(first), Q.real_scale(second), Q.real_scale(job.output)
    if job.op.traits.computes == "prelu":
        reals = {"input1": Q.divide(a, last), "output": float(Q.F32(a) * Q.F32(b) / Q.F32(last))}
        return _multipliers(reals)
    if job.op.traits.computes == "mul":
        real = float(Q.F32(a) * Q.F32(b) / Q.F32(last))
        return dict(zip(("output_multiplier", "output_shift"), Q.quantize_multiplier(real), strict=True))
    shifts = _power_shifts(job, a, b, last)
    if shifts:
        return shifts
    twice = 2 * max(a, b)
    inputs = {"input1": a / twice, "input2": b / twice}
    if job.op.traits.computes == "squared_difference":
        return {"left_shift": 7} | _multipliers(inputs | {"output": twice * twice / ((1 << 14) * last)})
    bits = 15 if job.output.dtype == "int16" else 20
    return {"left_shift": bits} | _multipliers(inputs | {"output": twice / ((1 << bits) * last)})


def _multipliers(reals: Mapping[str, float]) -> dict[str, int]:
    multipliers: dict[str, int] = {}
    for name, real in reals.items():
        multipliers[f"{name}_multiplier"], multipliers[f"{name}_shift"] = Q.quantize_multiplier(real)
    return multipliers


def _power_shifts(job: CallJob, first: float, second: float, last: float) -> dict[str, int]:
    """ADD, SUB of int16 whose scales are powers of two, one input at the output's: shifts alone; {} for others."""
    powers = [Q.exponent(scale) for scale in (first, second, last)]
    if job.output.dtype != "int16" or not job.op.options.get("pot_scale_int16", True) or None in powers:
        return {}
    if job.op.traits.computes == "add" and job.inputs[0].shape != job.inputs[1].shape:
        return {}
    a, b, base = (int(power or 0) for power in powers)
    if max(a, b) != base:
        return {}
    return {"input1_shift": a - base, "input2_shift": b - base}


def _elements(job: CallJob) -> int:
    shape = job.output.shape
    if len(shape) != 4:
        return job.output.elements
    return shape[0] * job.tile.out_rows * shape[2] * shape[3]


def _unary(job: CallJob) -> bytes:
    source, output, curve = job.inputs[0], job.output, job.op.traits.computes
    values = _ends(job) | {"elements": _elements(job)}
    values |= {"input_offset": -Q.zero_point(source), "output_offset": Q.zero_point(output)}
    if output.dtype in Q.LIMITS:
        values["least"], values["most"] = Q.limits(output.dtype)
    if curve in CURVES and output.dtype == "int16":
        multiplier, shift = Q.curve_scaling(Q.real_scale(source), 1 if curve == "tanh" else 0)
        return pack("unary_call", values | {"multiplier": multiplier, "shift": shift})
    if curve in CURVES and output.dtype != "float32":
        table = lookup_table(curve, source, output)
        return pack("unary_call", values | {"table": job.places.call + size_of("unary_call")}) + table
    return pack("unary_call", values | _unary_scales(job, source, output))


def _unary_scales(job: CallJob, source: Tensor, output: Tensor) -> dict[str, int]:
    kind = job.op.traits.computes
    if source.dtype == output.dtype == "float32":
        return _float_parameters(kind, job)
    if "float32" in (source.dtype, output.dtype):
        scale = Q.real_scale(source if output.dtype == "float32" else output)
        return {"multiplier": float_bits(scale)}
    a, b = Q.real_scale(source), Q.real_scale(output)
    first = Q.quantize_multiplier(a / b if kind == "requantize" else Q.divide(a, b))
    values = {"multiplier": first[0], "shift": first[1]}
    if kind.startswith("relu"):
        values["least"], values["most"] = Q.activation_range(kind.upper(), output)
    elif kind == "leaky_relu":
        alpha = float(Q.F32(a) * Q.F32(job.op.options["alpha"]) / Q.F32(b))
        values["second_multiplier"], values["second_shift"] = Q.quantize_multiplier(alpha)
    elif kind == "hard_swish":
        fine = float(Q.F32(1 / 128) * Q.F32(a))
        pairs = [Q.quantize_multiplier(Q.divide(fine, unit)) for unit in (b, 3 / 32768)]
        values = {"multiplier": Q.half_word(pairs[0][0]), "shift": pairs[0][1]}
        values |= {"second_multiplier": Q.half_word(pairs[1][0]), "second_shift": pairs[1][1]}
    return values


def _float_parameters(kind: str, job: CallJob) -> dict[str, int]:
    """Limits and slopes as bits."""
    least, most = FUSED.get(kind.upper(), (None, None)) if kind.startswith("relu") else (None, None)
    values = {"least": -float("inf") if least is None else least, "most": float("inf") if most is None else most}
    if kind == "leaky_relu":
        values["second_multiplier"] = job.op.options["alpha"]
    return {name: float_bits(value) for name, value in values.items()}


def float_bits(value: float) -> int:
    """The word that a float32 is."""
    return int(np.array(value, "<f4").view("<u4"))


def _softmax(job: CallJob) -> bytes:
    source = job.inputs[0]
    depth = source.shape[-1]
    if source.dtype == "float32":
        values = {"rows": source.elements // depth, "depth": depth, "multiplier": float_bits(job.op.options["beta"])}
        return pack("softmax_call", _ends(job) | values)
    if source.dtype == "int16":
        real = Q.real_scale(source) * float(Q.F32(job.op.options["beta"])) / (10 / 65535)
        multiplier, shift = Q.quantize_multiplier(real)
        at = job.places.call + size_of("softmax_call")
        values = {"rows": source.elements // depth, "depth": depth, "multiplier": multiplier, "shift": shift}
        return pack("softmax_call", _ends(job) | values | {"tables": at}) + softmax_tables()
    multiplier, shift, least = Q.softmax_scaling(job.op.options["beta"], Q.real_scale(source))
    values = {"rows": source.elements // depth, "depth": depth, "multiplier": multiplier, "shift": shift}
    return pack("softmax_call", _ends(job) | values | {"least_difference": least})


def tables(graph: Graph, op: Operator) -> list[bytes | None]:
    """A table for each input of CONCATENATION that is not a plain copy; PACK copies all."""
    if op.traits.selects:
        return [None] * len(op.inputs)
    output = graph.tensors[op.outputs[0]]
    return [concatenation_table(graph.tensors[i], output) for i in op.inputs]


def _join(job: CallJob) -> bytes:
    axis = job.op.options["axis"] % len(job.output.shape)
    pieces = int(np.prod(job.output.shape[:axis], dtype=np.int64))
    count = len(job.inputs)
    inputs = job.places.call + size_of("join_call")
    at, pointers, tail = inputs + 12 * count, [], b""
    for table in tables(job.graph, job.op):
        pointers.append(at + len(tail) if table else 0)
        tail += table or b""
    values = {"inputs": inputs, "bytes": inputs + 4 * count, "output": job.places.outputs[0], "inputs_count": count}
    values |= {"count": pieces, "tables": inputs + 8 * count if tail else 0}
    sizes = [tensor.bytes // pieces for tensor in job.inputs]
    arrays = np.array([*job.places.inputs, *sizes, *pointers], "<u4").tobytes()
    return pack("join_call", values) + arrays + tail


def _move(job: CallJob) -> bytes:
    if job.op.traits.pads:
        return _pad(job)
    if job.op.traits.fills:
        return _fill(job)
    pair = move(job.graph, job.op, job.part)
    values: dict[str, Any] = {"shape": pair.shape, "step": pair.step, "begin": pair.begin}
    return pack("move_call", _ends(job) | values | {"item": ITEM_BYTES[job.output.dtype]})


def _pad(job: CallJob) -> bytes:
    source, output = job.inputs[0], job.output
    table = job.graph.tensors[job.op.inputs[1]].data
    assert table is not None  # the reader checks it
    before, inside, shape = [int(row[0]) for row in table.reshape(-1, 2)], [*source.shape], [*output.shape]
    if len(shape) == 4:
        before[1] += job.tile.in_row - job.tile.out_row
        inside[1], shape[1] = job.tile.in_rows, job.tile.out_rows
    value = Q.zero_point(output)
    if job.op.traits.computes == "constant_pad":
        constant = job.graph.tensors[job.op.inputs[2]].data
        assert constant is not None
        first = constant.reshape(-1)[0]
        value = float_bits(float(first)) if output.dtype == "float32" else int(first)
    values: dict[str, Any] = {
        "shape": five(shape, 1),
        "before": five(before, 0),
        "inside": five(inside, 1),
        "value": value,
    }
    return pack("move_call", _ends(job) | values | {"item": ITEM_BYTES[output.dtype]})


def _fill(job: CallJob) -> bytes:
    """The call of a PAD that has no input."""
    values: dict[str, Any] = {"shape": five([job.output.elements], 1), "item": ITEM_BYTES[job.output.dtype]}
    return pack("move_call", _ends(job) | values)


def _resize(job: CallJob) -> bytes:
    g, options = job.geometry, job.op.options
    values = {"batch": g.batch, "in_h": g.in_h, "in_w": g.in_w, "channels": g.in_c, "out_h": g.out_h, "out_w": g.out_w}
    values |= {name: int(options[name]) for name in ("align_corners", "half_pixel_centers")}
    return pack("resize_call", _ends(job) | values)


def _mean(job: CallJob) -> bytes:
    source, output = job.inputs[0], job.output
    axes = job.graph.tensors[job.op.inputs[1]].data
    assert axes is not None  # the reader checks it
    rank = len(source.shape)
    shape = _four(job, source, source.shape[1] if len(source.shape) == 4 else 1)
    reduced = {int(a) % rank + 4 - rank for a in axes.reshape(-1)}
    if output.dtype == "float32":
        axes_only: dict[str, Any] = {"shape": shape, "reduce": [int(a in reduced) for a in range(4)]}
        return pack("mean_call", _ends(job) | axes_only)
    count = int(np.prod([shape[a] for a in reduced], dtype=np.int64))
    multiplier, shift = Q.quantize_multiplier(Q.real_scale(source) / Q.real_scale(output))
    room = min(count.bit_length() - 1, 32, 31 + shift)  # the division by count goes into the multiplier
    values: dict[str, Any] = {"shape": shape, "reduce": [int(a in reduced) for a in range(4)]}
    values |= {"multiplier": (multiplier << room) // count, "shift": shift - room, "scratch": job.places.scratch}
    values |= {"input_offset": -Q.zero_point(source), "output_offset": Q.zero_point(output)} | _range(job)
    return pack("mean_call", _ends(job) | values)


BUILDERS: Mapping[str, Callable[[CallJob], bytes]] = {
    "conv_call": _convolution, "pool_call": _pool, "binary_call": _binary, "unary_call": _unary,
    "softmax_call": _softmax, "join_call": _join, "move_call": _move, "resize_call": _resize, "mean_call": _mean,
}  # fmt: skip
"""By structure: what fills it in; ``state`` and ``prepare_selecting`` have more."""

"""The call structures of operators that keep state, as TensorFlow Lite Micro's Prepare functions compute them.

Sources: ``kernels/svdf_common.cc``, ``kernels/unidirectional_sequence_lstm.cc``, ``kernels/lstm_eval_common.cc``. Not
modelled: what :mod:`mcusim.model.shapes_of_state` does not model.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log2
from typing import Any

from mcusim.kernels.calls import quantize as Q
from mcusim.kernels.calls.prepare import CallJob, float_bits
from mcusim.kernels.calls.structs import pack
from mcusim.model.graph import ITEM_BYTES, Tensor

FRACTION, GATE = 2.0**-15, 2.0**-12  # of a gate's output; of what goes into its curve


def _svdf(job: CallJob) -> bytes:
    source, features, time, _, state = (job.graph.tensors[t] for t in job.op.inputs)
    g, at, output = job.geometry, job.places, job.output
    scales = [Q.F32(Q.real_scale(t)) for t in (source, features, time, state, output)]
    first = Q.quantize_multiplier(float(scales[0] * scales[1] / scales[3]))
    second = Q.quantize_multiplier(float(scales[3] * scales[2] / scales[4]))
    names = ("input", "features", "time", "bias", "state")
    values = dict(zip(names, at.inputs, strict=True)) | {"output": at.outputs[0], "scratch": at.scratch}
    values |= {"batch": g.batch, "inputs": g.in_c, "units": g.out_c, "rank": g.depth_multiplier, "memory": g.kernel_w}
    values |= {"state_item": ITEM_BYTES[state.dtype], "input_offset": -Q.zero_point(source)}
    values |= {"state_offset": -Q.zero_point(state), "output_offset": Q.zero_point(output)}
    values |= {"multiplier": first[0], "shift": first[1], "second_multiplier": second[0], "second_shift": second[1]}
    return pack("svdf_call", values)


def _lstm(job: CallJob) -> bytes:
    tensors = [job.graph.tensors[t] if t >= 0 else None for t in job.op.inputs]
    source, hidden, cell = tensors[0], tensors[18], tensors[19]
    assert source is not None and hidden is not None and cell is not None  # the reader checks it
    g, at = job.geometry, job.places
    values: dict[str, Any] = {"input": at.inputs[0], "output": at.outputs[0], "scratch": at.scratch}
    values |= {"hidden": at.inputs[18], "cell": at.inputs[19]}
    values |= {"weights": list(at.inputs[1:5]), "recurrent": list(at.inputs[5:9]), "bias": list(at.inputs[12:16])}
    values |= {"batch": g.batch, "steps": g.out_h, "inputs": g.in_c, "units": g.out_c}
    values |= {"time_major": int(job.op.options["time_major"])}
    if source.dtype == "float32":
        return pack("lstm_call", values | {"clip": float_bits(job.op.options["cell_clip"])})
    values |= {"input_offset": -Q.zero_point(source)}
    values |= {"hidden_offset": -Q.zero_point(hidden)}
    values |= _matrices(source, tensors[1:5], "") | _matrices(hidden, tensors[5:9], "recurrent_")
    return pack("lstm_call", values | _between_gates(job, hidden, cell))


def _matrices(vector: Tensor, weights: list[Tensor | None], prefix: str) -> dict[str, Any]:
    """Multipliers and shifts that make Q3.12 of the products with each matrix."""
    scales = [Q.F32(Q.real_scale(t)) for t in weights if t is not None]
    pairs = [Q.quantize_multiplier(float(Q.F32(Q.real_scale(vector)) * s) / GATE) for s in scales]
    return {f"{prefix}multiplier": [a for a, _ in pairs], f"{prefix}shift": [b for _, b in pairs]}


def _between_gates(job: CallJob, hidden: Tensor, cell: Tensor) -> dict[str, int]:
    """What the products of gates, cell and curve are multiplied with; the curve's input; the limit of the cell."""
    scale = Q.real_scale(cell)
    reals = {"forget": FRACTION, "update": FRACTION * FRACTION / scale}
    reals["hidden"] = FRACTION * FRACTION / Q.real_scale(hidden)
    values: dict[str, int] = {}
    for name, real in reals.items():
        values[f"{name}_multiplier"], values[f"{name}_shift"] = Q.quantize_multiplier(real)
    left = 15 + round(log2(scale)) - 3
    values |= {"tanh_multiplier": 3 << left if left >= 0 else 3, "tanh_shift": max(0, -left)}
    clip = float(Q.F32(job.op.options["cell_clip"]))
    values["clip"] = int(min(max(clip / scale, -32768.0), 32767.0)) if clip > 0 else 0
    return values


BUILDERS: Mapping[str, Callable[[CallJob], bytes]] = {"svdf_call": _svdf, "lstm_call": _lstm}
"""By structure: what fills it in."""

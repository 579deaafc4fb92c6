"""The call structure of BATCH_MATMUL, as TensorFlow Lite Micro's Prepare function computes it
(``kernels/batch_matmul.cc``), and the transposed copies behind it.

A copy of a constant on the right is there before the network runs; the kernel makes the others each time. Not modelled:
results of int32, more than three axes of matrices.
"""

from __future__ import annotations

from math import prod
from typing import Any

from mcusim.kernels.calls import quantize as Q
from mcusim.kernels.calls.prepare import CallJob
from mcusim.kernels.calls.structs import pack, size_of
from mcusim.model.matrix_shapes import copied_sides, sides


def batch_matmul(job: CallJob) -> bytes:
    first, second, output = *job.inputs, job.output
    left, right = sides(job.inputs, job.op.options)
    batch, steps = _batches(left[:-2], right[:-2])
    values: dict[str, Any] = {"batch": batch, "left_step": steps[0], "right_step": steps[1]}
    values |= {"rows": left[-2], "depth": left[-1], "columns": right[-1], "output": job.places.outputs[0]}
    values |= {"left_matrices": prod(left[:-2]), "right_matrices": prod(right[:-2])}
    end, tail = job.places.call + size_of("batch_matmul_call"), b""
    copied = copied_sides(job.graph, job.op)
    for side, tensor, address, has in zip(("left", "right"), job.inputs, job.places.inputs, copied, strict=True):
        values[side] = end + len(tail) if has else address
        ready = has and side == "right" and tensor.data is not None
        values[f"{side}_stored"] = address if has and not ready else 0
        if ready:
            tail += tensor.data.reshape(tensor.shape).swapaxes(-1, -2).tobytes()  # type: ignore[union-attr]
        elif has:
            tail += bytes(tensor.bytes)
    if output.dtype == "float32":
        return pack("batch_matmul_call", values) + tail
    product = float(Q.F32(Q.real_scale(first)) * Q.F32(Q.real_scale(second)))
    multiplier, shift = Q.quantize_multiplier(product / Q.real_scale(output))
    least, most = Q.limits(output.dtype)
    values |= {"left_offset": -Q.zero_point(first), "right_offset": -Q.zero_point(second)}
    values |= {"output_offset": Q.zero_point(output), "multiplier": multiplier, "shift": shift}
    return pack("batch_matmul_call", values | {"least": least, "most": most}) + tail


def _batches(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[list[int], tuple[list[int], list[int]]]:
    """Three axes of matrices, and how many matrices each side goes on along each; 0 where it has one."""
    room = (1,) * (3 - len(left))
    left, right = room + left, room + right
    steps = tuple([0 if n == 1 else prod(shape[i + 1 :]) for i, n in enumerate(shape)] for shape in (left, right))
    return [max(pair) for pair in zip(left, right, strict=True)], (steps[0], steps[1])

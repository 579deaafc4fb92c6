"""Tables of 256 outputs that TFLite computes in float32 before a network runs. Not modelled: 16-bit tables."""

from __future__ import annotations

from math import exp, tanh

import numpy as np

from mcusim.kernels.calls import quantize as Q
from mcusim.model.graph import Tensor

__all__ = ["concatenation_table", "lookup_table"]


def _logistic(value: float) -> float:
    if value < -87:  # exp(-value) leaves float32 soon; 1e-38 and 0 are the same table entry
        return 0.0
    return float(Q.F32(1) / (Q.F32(1) + Q.F32(exp(-value))))


def lookup_table(kind: str, source: Tensor, output: Tensor) -> bytes:
    """LOGISTIC or TANH of every input from the least on, of the input's type (int8 or uint8)."""
    least, most = Q.limits(source.dtype)
    function = _logistic if kind == "LOGISTIC" else tanh
    step, inverse = Q.F32(Q.real_scale(source)), Q.F32(1) / Q.F32(Q.real_scale(output))
    found = []
    for value in range(least, most + 1):
        real = step * Q.F32(value - Q.zero_point(source))
        found.append(Q.round_away(float(Q.F32(function(float(real))) * inverse)) + Q.zero_point(output))
    return np.clip(found, least, most).astype(source.dtype).tobytes()


def concatenation_table(source: Tensor, output: Tensor) -> bytes | None:
    """The output of every uint8 value of an input of CONCATENATION; None where it is copied.

    TFLite rescales uint8 only; int8 models have the same scale everywhere.
    """
    same = source.quantization and output.quantization and _pair(source) == _pair(output)
    if same or source.dtype != "uint8":
        return None
    factor = Q.F32(Q.real_scale(source)) * (Q.F32(1) / Q.F32(Q.real_scale(output)))
    bias = Q.F32(-Q.zero_point(source)) * factor
    found = [Q.round_away(float(Q.F32(value) * factor + bias)) + Q.zero_point(output) for value in range(256)]
    return np.clip(found, 0, 255).astype(np.uint8).tobytes()


def _pair(tensor: Tensor) -> tuple[float, int]:
    return Q.real_scale(tensor), Q.zero_point(tensor)

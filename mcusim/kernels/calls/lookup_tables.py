"""Tables that TFLite computes before a network runs: of every 8-bit input, in float32, or of every 128th of 16 bits."""

from __future__ import annotations

from collections.abc import Callable
from math import exp, tanh

import numpy as np

from mcusim.kernels.calls import quantize as Q
from mcusim.model.graph import Tensor

SOFTMAX_BYTES = 2 * 2 * 513


def _logistic(value: float) -> float:
    if value < -87:  # exp(-value) leaves float32 soon; 1e-38 and 0 are the same table entry
        return 0.0
    return float(Q.F32(1) / (Q.F32(1) + Q.F32(exp(-value))))


def _elu(value: float) -> float:
    """float32's exp less 1, as TensorFlow Lite Micro has it; LiteRT's reference kernels have none of int8."""
    return value if value >= 0 else float(Q.F32(exp(value)) - Q.F32(1))


CURVES: dict[str, Callable[[float], float]] = {"logistic": _logistic, "tanh": tanh, "elu": _elu}
"""By trait ``computes``: functions that a table of all 8-bit inputs holds."""


def lookup_table(curve: str, source: Tensor, output: Tensor) -> bytes:
    """A curve of every input from the least on, of the input's type (int8 or uint8)."""
    least, most = Q.limits(source.dtype)
    function = CURVES[curve]
    step, inverse = Q.F32(Q.real_scale(source)), Q.F32(1) / Q.F32(Q.real_scale(output))
    numbers = []
    for value in range(least, most + 1):
        real = step * Q.F32(value - Q.zero_point(source))
        numbers.append(Q.round_away(float(Q.F32(function(float(real))) * inverse)) + Q.zero_point(output))
    return np.clip(numbers, least, most).astype(source.dtype).tobytes()


def softmax_tables() -> bytes:
    """exp of -10 to 0 and 1 / (1 + x) of 0 to 1, each 513 values of 16 bits, for a SOFTMAX of int16.

    In float64, as LiteRT's are; two of TensorFlow Lite Micro's differ by one, which computes in float32.
    """
    return _steps(-10, 0, exp) + _steps(0, 1, lambda x: 1 / (1 + x))


def _steps(low: float, high: float, function: Callable[[float], float]) -> bytes:
    """512 steps and the end, in units of 2 / 65535; each lowered by half of what a straight line is too high midway."""
    step, numbers = (high - low) / 512, []
    for i in range(512):
        value, middle, after = (function(low + part * step) * 32768 for part in (i, i + 0.5, i + 1))
        line = Q.round_away((after + Q.round_away(value)) / 2)
        numbers.append(Q.round_away(value) - Q.round_away((line - Q.round_away(middle)) / 2))
    numbers.append(Q.round_away(function(high) * 32768))
    return np.clip(numbers, -32768, 32767).astype("<i2").tobytes()


def concatenation_table(source: Tensor, output: Tensor) -> bytes | None:
    """The output of every uint8 value of an input of CONCATENATION; None where it is copied.

    TFLite rescales uint8 only; int8 models have the same scale everywhere.
    """
    same = source.quantization and output.quantization and _pair(source) == _pair(output)
    if same or source.dtype != "uint8":
        return None
    factor = Q.F32(Q.real_scale(source)) * (Q.F32(1) / Q.F32(Q.real_scale(output)))
    bias = Q.F32(-Q.zero_point(source)) * factor
    numbers = [Q.round_away(float(Q.F32(value) * factor + bias)) + Q.zero_point(output) for value in range(256)]
    return np.clip(numbers, 0, 255).astype(np.uint8).tobytes()


def _pair(tensor: Tensor) -> tuple[float, int]:
    return Q.real_scale(tensor), Q.zero_point(tensor)

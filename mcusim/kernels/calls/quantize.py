"""TensorFlow Lite's preparation of quantised kernels: real scales to integers, in the precision that it computes in.

Sources: TFLite's ``kernel_util.cc``, ``internal/quantization_util.cc`` and the Prepare functions of its kernels. Scales
are float32 in a model; where TFLite multiplies or divides them as floats, so does this.
"""

from __future__ import annotations

from math import floor, frexp, log2

import numpy as np

from mcusim.errors import ModelError
from mcusim.model.graph import Tensor
from mcusim.model.operators import FUSED

F32 = np.float32
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "int32": (-(2**31), 2**31 - 1)}


def round_away(value: float) -> int:
    """The nearest integer, halves away from zero (C's ``round``)."""
    return floor(abs(value) + 0.5) * (1 if value >= 0 else -1) if abs(value) < 2**52 else int(value)


def quantize_multiplier(real: float) -> tuple[int, int]:
    """``(multiplier, shift)`` with ``real`` near ``multiplier / 2**31 * 2**shift``, ``multiplier`` in Q0.31.

    A ``real`` below 2**-32 gives (0, 0), as in ``QuantizeMultiplier``.
    """
    if real == 0:
        return 0, 0
    fraction, shift = frexp(real)
    multiplier = round_away(fraction * (1 << 31))
    if multiplier == 1 << 31:
        multiplier, shift = multiplier // 2, shift + 1
    return (multiplier, shift) if shift >= -31 else (0, 0)


def rescaled(value: int, multiplier: int, shift: int) -> int:
    """``value`` times a multiplier and a shift as above, rounded twice (``MultiplyByQuantizedMultiplier``): the product
    to the nearest, halves up, then to the right, halves away from zero. Not modelled: what does not fit 32 bits."""
    product = ((value << max(shift, 0)) * multiplier + (1 << 30)) >> 31
    right = max(-shift, 0)
    return (abs(product) + (1 << right >> 1) >> right) * (1 if product >= 0 else -1)


def half_word(multiplier: int) -> int:
    """A Q0.31 multiplier as Q0.15, rounded (``DownScaleInt32ToInt16Multiplier``)."""
    return min((multiplier + (1 << 15)) >> 16, (1 << 15) - 1)


def real_scale(tensor: Tensor) -> float:
    """The one scale of a tensor, a float32. Raises ModelError when it has none or several."""
    quantization = tensor.quantization
    if quantization is None or len(quantization.scales) != 1:
        raise ModelError(
            f"tensor '{tensor.name}' has {len(quantization.scales) if quantization else 0} scales; one is needed"
        )
    return float(F32(quantization.scales[0]))


def zero_point(tensor: Tensor) -> int:
    """The zero point of a tensor, 0 when it has none."""
    quantization = tensor.quantization
    return int(quantization.zero_points[0]) if quantization and quantization.zero_points else 0


def divide(first: float, second: float) -> float:
    """``first / second`` in float32."""
    return float(F32(first) / F32(second))


def limits(dtype: str) -> tuple[int, int]:
    """Least and most of an integer type."""
    return LIMITS[dtype]


def activation_range(activation: str, output: Tensor) -> tuple[int, int]:
    """Least and most of the output after a fused activation (``CalculateActivationRangeQuantized``).

    Raises ModelError for an activation that TFLite's integer kernels do not fuse.
    """
    if activation not in FUSED:
        raise ModelError(f"the activation {activation} is not fused into integer kernels")
    (low, high), (least, most) = FUSED[activation], limits(output.dtype)
    if low is not None:
        least = max(least, _quantized(low, output))
    if high is not None:
        most = min(most, _quantized(high, output))
    return least, most


def _quantized(value: float, tensor: Tensor) -> int:
    return zero_point(tensor) + round_away(divide(value, real_scale(tensor)))


def exponent(scale: float) -> int | None:
    """The exponent of a scale that is a power of two, as exactly as TFLite asks for; None for others."""
    number = round(log2(scale)) if scale > 0 else 0
    return number if scale > 0 and abs(log2(scale) - number) < 1e-3 else None


def curve_scaling(scale: float, exact: int) -> tuple[int, int]:
    """``(multiplier, right shift)`` of an int16 LOGISTIC or TANH: its input in units of 1 / 12288.

    Powers of two up to ``exact`` times 2**-12 keep all bits.
    """
    power = exponent(scale)
    if power is not None and 0 <= power + 12 <= exact:
        return 3 << (power + 12), 0
    multiplier, shift = scale * 12288.0, 0
    while multiplier <= 32767 / 2 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    return int(multiplier), shift


def softmax_scaling(beta: float, scale: float) -> tuple[int, int, int]:
    """``(multiplier, shift, least difference)`` of a fixed-point softmax with 5 integer bits.

    Raises ModelError where TFLite refuses: ``beta * scale * 2**26`` not above 1.
    """
    real = min(float(F32(beta)) * scale * (1 << 26), (1 << 31) - 1.0)
    if real <= 1:
        raise ModelError(f"a softmax with beta {beta} and the input scale {scale} is too fine for 32 bits")
    multiplier, shift = quantize_multiplier(real)
    return multiplier, shift, -floor(31 * (1 << 26) / (1 << shift))

"""One operator of a zoo network in float32, for calibration: arrays are (h, w, c), or (c,) after a RESHAPE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mcusim.model.geometry import Geometry

Array = np.ndarray[Any, np.dtype[np.float32]]


def _padded(x: Array, g: Geometry, value: float = 0.0) -> Array:
    pads = ((g.pad_top, g.pad_bottom), (g.pad_left, g.pad_right), (0, 0))
    return np.pad(x, pads, constant_values=value)


def _windows(x: Array, g: Geometry) -> Array:
    """Every window of a padded input: (out_h, out_w, c, kernel_h, kernel_w)."""
    view = np.lib.stride_tricks.sliding_window_view(x, (g.kernel_h, g.kernel_w), axis=(0, 1))
    windows: Array = view[:: g.stride_h, :: g.stride_w][: g.out_h, : g.out_w]
    return windows


def convolve(x: Array, filters: Array, g: Geometry) -> Array:
    """CONV_2D with OHWI filters, without bias: (out_h, out_w, out_c)."""
    if g.kernel_h == g.kernel_w == g.stride_h == g.stride_w == 1:
        return np.asarray(x @ filters.reshape(g.out_c, g.in_c).T)
    rows = _windows(_padded(x, g), g).reshape(g.out_h * g.out_w, -1)
    columns = filters.transpose(0, 3, 1, 2).reshape(g.out_c, -1).T
    return np.asarray((rows @ columns).reshape(g.out_h, g.out_w, g.out_c))


def convolve_depthwise(x: Array, filters: Array, g: Geometry) -> Array:
    """DEPTHWISE_CONV_2D with 1HWC filters and depth multiplier 1, without bias: (out_h, out_w, c)."""
    padded, out = _padded(x, g), np.zeros((g.out_h, g.out_w, g.out_c), np.float32)
    for i in range(g.kernel_h):
        rows = padded[i : i + (g.out_h - 1) * g.stride_h + 1 : g.stride_h]
        for j in range(g.kernel_w):
            out += rows[:, j : j + (g.out_w - 1) * g.stride_w + 1 : g.stride_w] * filters[0, i, j]
    return out


def weighted(kind: str, x: Array, filters: Array, g: Geometry) -> Array:
    """The accumulators of CONV_2D, DEPTHWISE_CONV_2D or FULLY_CONNECTED."""
    if kind == "FULLY_CONNECTED":
        return np.asarray(filters @ x)
    return convolve(x, filters, g) if kind == "CONV_2D" else convolve_depthwise(x, filters, g)


def unweighted(kind: str, inputs: Sequence[Array], g: Geometry) -> Array:
    """The other operators a zoo network has; averages leave the padding out, as TFLite's do."""
    if kind == "ADD":
        return inputs[0] + inputs[1]
    if kind == "CONCATENATION":
        return np.concatenate(inputs, axis=-1)
    if kind == "RESHAPE":
        return inputs[0].reshape(-1)
    if kind == "SOFTMAX":
        powers = np.exp(inputs[0] - inputs[0].max())
        return np.asarray(powers / powers.sum())
    if kind == "MAX_POOL_2D":
        return np.asarray(_windows(_padded(inputs[0], g, -np.inf), g).max(axis=(3, 4)))
    counts = _windows(_padded(np.ones_like(inputs[0]), g), g).sum(axis=(3, 4))
    return np.asarray(_windows(_padded(inputs[0], g), g).sum(axis=(3, 4)) / counts)

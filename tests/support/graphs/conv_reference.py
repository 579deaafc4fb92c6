"""The convolution of ``test_programs/src/conv.c``, written again: its generator, its layers, its rounding."""

from __future__ import annotations

import zlib

import numpy as np

SIDE, INPUT_OFFSET, OUTPUT_OFFSET = 16, 3, -5
LAYERS = ((3, 8, 16), (3, 8, 16), (1, 16, 32))  # side of the window, channels in, channels out


def requantize(total: int, factor: int, right: int) -> int:
    """As TensorFlow Lite: the doubled product's high half, ties upwards, then a rounding shift, ties away from zero."""
    high = (total * factor + (1 << 30)) >> 31
    magnitude = (abs(high) + (1 << right >> 1)) >> right
    return magnitude if high >= 0 else -magnitude


def layer_output(kernel: int, ins: int, outs: int) -> np.ndarray:
    """int8 [SIDE, SIDE, outs] of the layer on generated data."""
    state = 1

    def draw() -> int:
        nonlocal state
        state = (1664525 * state + 1013904223) & 0xFFFF_FFFF
        return state

    pixels = np.array([draw() >> 24 for _ in range(SIDE * SIDE * ins)], np.uint8).view(np.int8)
    weights = np.array([draw() >> 24 for _ in range(outs * kernel * kernel * ins)], np.uint8).view(np.int8)
    channels = [((draw() >> 18) - 8192, 0x4000_0000 | draw() >> 2, 7 + (draw() >> 30)) for _ in range(outs)]
    around = kernel // 2
    shifted = pixels.reshape(SIDE, SIDE, ins).astype(np.int64) + INPUT_OFFSET
    padded = np.pad(shifted, ((around, around), (around, around), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(0, 1))  # y, x, channel, ky, kx
    sums = np.einsum("yxcij,oijc->yxo", windows, weights.reshape(outs, kernel, kernel, ins).astype(np.int64))
    result = np.empty(sums.shape, np.int8)
    for place in np.ndindex(*sums.shape):
        bias, factor, right = channels[place[2]]
        value = requantize(int(sums[place]) + bias, factor, right) + OUTPUT_OFFSET
        result[place] = max(-128, min(127, value))
    return result


def crcs() -> tuple[int, ...]:
    """CRC-32 of each layer's output."""
    return tuple(zlib.crc32(layer_output(*layer).tobytes()) for layer in LAYERS)

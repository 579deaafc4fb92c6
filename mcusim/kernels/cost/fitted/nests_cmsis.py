"""Loop nests of the ``cmsis`` set's convolutions: ``sets/cmsis/*.c``, function by function.

Each function's levels, in the order of their numbers, are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not
modelled: what :mod:`mcusim.kernels.cost.fitted.nest` does not model.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted import nest as N
from mcusim.kernels.cost.fitted.nest import (
    bank_conflict,
    clear,
    iterations,
    load,
    load_requantization,
    sign_extend_copy,
    step,
    store,
)
from mcusim.native.compile import State, native


@native
def pointwise_block(s: State, p: State, w: int, x: int, pixels: int) -> None:
    """One or two pixels under two filters."""
    depth = p[N.IN_C]
    level = 5 if pixels == 2 else 8
    for k in range(0, depth - 15, 16):
        for i in range(k, k + 16, 4):
            load(s, p, w + i, 4)
            load(s, p, x + i, 4)
            load(s, p, w + depth + i, 4)
            bank_conflict(s, p, 19, w + i, x + i)
            bank_conflict(s, p, 20, x + i, w + depth + i)
            if pixels == 2:
                load(s, p, x + depth + i, 4)
            step(s, p, level, 1)
    if pixels == 2:
        iterations(s, p, 13, depth // 16)
        iterations(s, p, 16, depth % 16)
    for i in range(depth // 16 * 16, depth):
        load(s, p, w + i, 1)
        load(s, p, x + i, 1)
        load(s, p, w + depth + i, 1)
        bank_conflict(s, p, 21, w + i, x + i)
        bank_conflict(s, p, 22, x + i, w + depth + i)
        if pixels == 2:
            load(s, p, x + depth + i, 1)
        step(s, p, level + 1, 1)


@native
def pointwise_last(s: State, p: State, channel: int, pixels: int) -> None:
    """The last filter of an odd number."""
    depth = p[N.IN_C]
    step(s, p, 10, 1)
    load_requantization(s, p, channel, 1)
    for pixel in range(pixels):
        for i in range(depth):
            load(s, p, p[N.IN] + pixel * depth + i, 1)
            load(s, p, p[N.W] + channel * depth + i, 1)
            bank_conflict(s, p, 23, p[N.IN] + pixel * depth, p[N.W] + channel * depth)
            step(s, p, 12, 1)
        step(s, p, 11, 1)
        store(s, p, p[N.OUT] + pixel * p[N.OUT_C] + channel, 1)


@native
def pointwise(s: State, p: State) -> None:
    """``cmsis_conv_1x1``: call, pair, sum, two, block, rest, odd, odd_block, odd_rest, last, last_pixel, last_mac."""
    depth, channels = p[N.IN_C], p[N.OUT_C]
    pixels = p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]
    step(s, p, 1, 1)
    for c in range(0, channels - 1, 2):
        step(s, p, 2, 1)
        w = p[N.W] + c * depth
        for i in range(2 * depth):
            load(s, p, w + i, 1)
            step(s, p, 3, 1)
        if p[N.BIAS]:
            load(s, p, p[N.BIAS] + 4 * c, 4)
            load(s, p, p[N.BIAS] + 4 * c + 4, 4)
        for pixel in range(0, pixels - 1, 2):
            pointwise_block(s, p, w, p[N.IN] + pixel * depth, 2)
            for i in range(4):
                load_requantization(s, p, c + (i & 1), 0)
                step(s, p, 4, 1)
                store(s, p, p[N.OUT] + (pixel + i // 2) * channels + c + (i & 1), 1)
        if pixels & 1:
            pointwise_block(s, p, w, p[N.IN] + (pixels - 1) * depth, 1)
            for i in range(2):
                load_requantization(s, p, c + i, 0)
                step(s, p, 7, 1)
                store(s, p, p[N.OUT] + (pixels - 1) * channels + c + i, 1)
    if channels & 1:
        pointwise_last(s, p, channels - 1, pixels)


@native
def column(s: State, p: State, image: int, y: int, x: int, to: int, loops: int) -> None:
    """The patch of one pixel as q15 in scratch: pixel, row, (tap, quad, element), (outside, word, byte) from 2 on."""
    depth = p[N.IN_C]
    step(s, p, 2, 1)
    for iy in range(y * p[N.SH] - p[N.PT], y * p[N.SH] - p[N.PT] + p[N.KH]):
        step(s, p, 3, 1)
        iterations(s, p, loops, p[N.KW])
        for ix in range(x * p[N.SW] - p[N.PL], x * p[N.SW] - p[N.PL] + p[N.KW]):
            if iy < 0 or iy >= p[N.IN_H] or ix < 0 or ix >= p[N.IN_W]:
                clear(s, p, to, 2 * depth, 7)
            else:
                source = p[N.IN] + ((image * p[N.IN_H] + iy) * p[N.IN_W] + ix) * depth
                sign_extend_copy(s, p, source, to, depth, 4, loops + 3)
            to += 2 * depth


@native
def dot(s: State, p: State, w: int, x: int, depth: int) -> None:
    """One filter over one column."""
    for k in range(0, depth - 3, 4):
        load(s, p, w + k, 4)
        load(s, p, x + 2 * k, 4)
        load(s, p, x + 2 * k + 4, 4)
        step(s, p, 15, 1)
    for k in range(depth // 4 * 4, depth):
        load(s, p, w + k, 1)
        load(s, p, x + 2 * k, 2)
    step(s, p, 16, depth & 3)


@native
def two_pixels(s: State, p: State, window: int, out: int) -> None:
    """All filters over two columns."""
    channels = p[N.OUT_C]
    step(s, p, 10, 1)
    for c in range(0, channels - 1, 2):
        w, x = p[N.W] + c * window, p[N.SCR]
        if p[N.BIAS]:
            load(s, p, p[N.BIAS] + 4 * c, 4)
            load(s, p, p[N.BIAS] + 4 * c + 4, 4)
        iterations(s, p, 28, window // 4)
        iterations(s, p, 31, window & 3)
        for k in range(0, window - 3, 4):
            load(s, p, x + 2 * k, 4)
            load(s, p, x + 2 * (window + k), 4)
            load(s, p, w + k, 4)
            load(s, p, w + window + k, 4)
            load(s, p, x + 2 * k + 4, 4)
            load(s, p, x + 2 * (window + k) + 4, 4)
            bank_conflict(s, p, 34, x, x + 2 * window)
            bank_conflict(s, p, 35, w, w + window)
            step(s, p, 12, 1)
        for k in range(window // 4 * 4, window):
            load(s, p, w + k, 1)
            load(s, p, w + window + k, 1)
            load(s, p, x + 2 * k, 2)
            load(s, p, x + 2 * (window + k), 2)
        step(s, p, 13, window & 3)
        for i in range(4):
            load_requantization(s, p, c + (i >> 1), 0)
            step(s, p, 11, 1)
            store(s, p, out + (i & 1) * channels + c + (i >> 1), 1)
    if channels & 1:
        c = channels - 1
        if p[N.BIAS]:
            load(s, p, p[N.BIAS] + 4 * c, 4)
        for i in range(2):
            dot(s, p, p[N.W] + c * window, p[N.SCR] + 2 * i * window, window)
            load_requantization(s, p, c, 0)
            step(s, p, 14, 1)
            store(s, p, out + i * channels + c, 1)


@native
def conv(s: State, p: State) -> None:
    """``cmsis_conv``: call, the levels of ``column``, then pixels, pair, quad, element, odd ..."""
    window = p[N.KH] * p[N.KW] * p[N.IN_C]
    channels, pixels = p[N.OUT_C], p[N.ROWS] * p[N.OUT_W]
    step(s, p, 1, 1)
    for image in range(p[N.BATCH]):
        out = p[N.OUT] + image * pixels * channels
        for pixel in range(pixels):
            to = p[N.SCR] + (pixel & 1) * 2 * window
            column(s, p, image, pixel // p[N.OUT_W], pixel % p[N.OUT_W], to, 19)
            if pixel & 1:
                two_pixels(s, p, window, out + (pixel - 1) * channels)
        if pixels & 1:
            step(s, p, 17, 1)
            for c in range(channels):
                dot(s, p, p[N.W] + c * window, p[N.SCR], window)
                step(s, p, 18, 1)
                load_requantization(s, p, c, 1)
                store(s, p, out + (pixels - 1) * channels + c, 1)


@native
def window_3x3(s: State, p: State, y: int, x: int, c: int, size: int) -> None:
    """The taps that are inside, four channels or one at a time."""
    level = 4 if size == 4 else 8
    iterations(s, p, 11, min(p[N.IN_H], y + 3) - max(0, y))
    for iy in range(max(0, y), min(p[N.IN_H], y + 3)):
        source = p[N.IN] + (iy * p[N.IN_W] + x) * p[N.IN_C] + c
        w = p[N.W] + (iy - y) * 3 * p[N.IN_C] + c
        step(s, p, level, 1)
        for tap in range(3):
            if (tap == 0 and x < 0) or (tap == 2 and x + 3 > p[N.IN_W]):
                continue
            load(s, p, source + tap * p[N.IN_C], size)
            load(s, p, w + tap * p[N.IN_C], size)
            bank_conflict(s, p, 14 if size == 4 else 15, source + tap * p[N.IN_C], w + tap * p[N.IN_C])
            if tap != 1:
                step(s, p, level + 1 + tap // 2, 1)


@native
def depthwise_3x3(s: State, p: State) -> None:
    """``cmsis_depthwise_3x3``: call, pixel, quad, row, left, right, one, one_row, one_left, one_right."""
    step(s, p, 1, 1)
    channels = p[N.IN_C]
    for pixel in range(p[N.ROWS] * p[N.OUT_W]):
        y = pixel // p[N.OUT_W] * p[N.SH] - p[N.PT]
        x = pixel % p[N.OUT_W] * p[N.SW] - p[N.PL]
        step(s, p, 2, 1)
        for c in range(0, channels - 3, 4):
            window_3x3(s, p, y, x, c, 4)
            for i in range(4):
                load_requantization(s, p, c + i, 1)
                step(s, p, 3, 1)
                store(s, p, p[N.OUT] + pixel * channels + c + i, 1)
        for c in range(channels // 4 * 4, channels):
            window_3x3(s, p, y, x, c, 1)
            step(s, p, 7, 1)
            load_requantization(s, p, c, 1)
            store(s, p, p[N.OUT] + pixel * channels + c, 1)


@native
def patch(s: State, p: State, y: int, x: int) -> None:
    """The patch at (y, x) with all its channels as q15 in scratch; rows outside are cleared at once."""
    channels, to = p[N.IN_C], p[N.SCR]
    row = 2 * p[N.KW] * channels
    top, bottom = max(0, -y), min(p[N.KH], p[N.IN_H] - y)
    step(s, p, 2, 1)
    if top:
        clear(s, p, to, row * top, 7)
        to += row * top
    for iy in range(y + top, y + bottom):
        step(s, p, 3, 1)
        iterations(s, p, 15, p[N.KW])
        for ix in range(x, x + p[N.KW]):
            if ix < 0 or ix >= p[N.IN_W]:
                clear(s, p, to, 2 * channels, 7)
            else:
                sign_extend_copy(s, p, p[N.IN] + (iy * p[N.IN_W] + ix) * channels, to, channels, 4, 18)
            to += 2 * channels
    if bottom != p[N.KH]:
        clear(s, p, to, row * (p[N.KH] - bottom), 7)


@native
def depthwise_columns(s: State, p: State) -> None:
    """``cmsis_depthwise_columns``: call, pixel, row, (tap, quad, element), (outside, word, byte), four, pair ..."""
    step(s, p, 1, 1)
    channels, taps = p[N.IN_C], p[N.KH] * p[N.KW]
    for pixel in range(p[N.ROWS] * p[N.OUT_W]):
        patch(s, p, pixel // p[N.OUT_W] * p[N.SH] - p[N.PT], pixel % p[N.OUT_W] * p[N.SW] - p[N.PL])
        for c in range(0, channels - 3, 4):
            iterations(s, p, 24, taps // 2)
            for t in range(0, taps - 1, 2):
                w, x = p[N.W] + t * channels + c, p[N.SCR] + 2 * (t * channels + c)
                for k in range(2):
                    load(s, p, w + k * channels, 4)
                for k in range(4):  # both taps' first words, then from the second tap back to the first
                    load(s, p, x + ((k ^ k >> 1) & 1) * 2 * channels + (k >> 1) * 4, 4)
                bank_conflict(s, p, 27, 0, channels)
                bank_conflict(s, p, 28, 0, 2 * channels)
                step(s, p, 11, 1)
            if taps & 1:
                for i in range(4):
                    load(s, p, p[N.W] + (taps - 1) * channels + c + i, 1)
                    load(s, p, p[N.SCR] + 2 * ((taps - 1) * channels + c + i), 2)
                step(s, p, 12, 1)
            for i in range(4):
                load_requantization(s, p, c + i, 1)
                step(s, p, 10, 1)
                store(s, p, p[N.OUT] + pixel * channels + c + i, 1)
        for c in range(channels // 4 * 4, channels):
            step(s, p, 13, 1)
            for t in range(taps):
                load(s, p, p[N.W] + t * channels + c, 1)
                load(s, p, p[N.SCR] + 2 * (t * channels + c), 2)
            step(s, p, 14, taps)
            load_requantization(s, p, c, 1)
            store(s, p, p[N.OUT] + pixel * channels + c, 1)

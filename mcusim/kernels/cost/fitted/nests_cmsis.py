"""Loop nests of the ``cmsis`` set's convolutions: ``sets/cmsis/*.c``, function by function.

Each function's levels, in the order of their numbers, are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not
modelled: what :mod:`mcusim.kernels.cost.fitted.nest` does not model.
"""

from __future__ import annotations

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
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.native.functions import native


@native
def pointwise_block(call: NestCall, weights: int, x: int, pixels: int) -> None:
    """One or two pixels under two filters."""
    depth = call.in_c
    level = 5 if pixels == 2 else 8
    for k in range(0, depth - 15, 16):
        for i in range(k, k + 16, 4):
            load(call, weights + i, 4)
            load(call, x + i, 4)
            load(call, weights + depth + i, 4)
            bank_conflict(call, 19, weights + i, x + i)
            bank_conflict(call, 20, x + i, weights + depth + i)
            if pixels == 2:
                load(call, x + depth + i, 4)
            step(call, level, 1)
    if pixels == 2:
        iterations(call, 13, depth // 16)
        iterations(call, 16, depth % 16)
    for i in range(depth // 16 * 16, depth):
        load(call, weights + i, 1)
        load(call, x + i, 1)
        load(call, weights + depth + i, 1)
        bank_conflict(call, 21, weights + i, x + i)
        bank_conflict(call, 22, x + i, weights + depth + i)
        if pixels == 2:
            load(call, x + depth + i, 1)
        step(call, level + 1, 1)


@native
def pointwise_last(call: NestCall, channel: int, pixels: int) -> None:
    """The last filter of an odd number."""
    depth = call.in_c
    step(call, 10, 1)
    load_requantization(call, channel, 1)
    for pixel in range(pixels):
        for i in range(depth):
            load(call, call.input + pixel * depth + i, 1)
            load(call, call.filter + channel * depth + i, 1)
            bank_conflict(call, 23, call.input + pixel * depth, call.filter + channel * depth)
            step(call, 12, 1)
        step(call, 11, 1)
        store(call, call.output + pixel * call.out_c + channel, 1)


@native
def pointwise(call: NestCall) -> None:
    """``cmsis_conv_1x1``: call, pair, sum, two, block, rest, odd, odd_block, odd_rest, last, last_pixel, last_mac."""
    depth, channels = call.in_c, call.out_c
    pixels = call.batch * call.rows * call.out_w
    step(call, 1, 1)
    for channel in range(0, channels - 1, 2):
        step(call, 2, 1)
        weights = call.filter + channel * depth
        for i in range(2 * depth):
            load(call, weights + i, 1)
            step(call, 3, 1)
        if call.bias:
            load(call, call.bias + 4 * channel, 4)
            load(call, call.bias + 4 * channel + 4, 4)
        for pixel in range(0, pixels - 1, 2):
            pointwise_block(call, weights, call.input + pixel * depth, 2)
            for i in range(4):
                load_requantization(call, channel + (i & 1), 0)
                step(call, 4, 1)
                store(call, call.output + (pixel + i // 2) * channels + channel + (i & 1), 1)
        if pixels & 1:
            pointwise_block(call, weights, call.input + (pixels - 1) * depth, 1)
            for i in range(2):
                load_requantization(call, channel + i, 0)
                step(call, 7, 1)
                store(call, call.output + (pixels - 1) * channels + channel + i, 1)
    if channels & 1:
        pointwise_last(call, channels - 1, pixels)


@native
def column(call: NestCall, image: int, y: int, x: int, to: int) -> None:
    """The patch of one pixel as q15 in scratch: pixel, row, (tap, quad, element), (outside, word, byte) from 2 on; its
    loops are from 19 on."""
    depth = call.in_c
    step(call, 2, 1)
    for iy in range(y * call.stride_h - call.pad_top, y * call.stride_h - call.pad_top + call.kernel_h):
        step(call, 3, 1)
        iterations(call, 19, call.kernel_w)
        for ix in range(x * call.stride_w - call.pad_left, x * call.stride_w - call.pad_left + call.kernel_w):
            if iy < 0 or iy >= call.in_h or ix < 0 or ix >= call.in_w:
                clear(call, to, 2 * depth, 7)
            else:
                source = call.input + ((image * call.in_h + iy) * call.in_w + ix) * depth
                sign_extend_copy(call, to, source, depth)
            to += 2 * depth


@native
def dot(call: NestCall, weights: int, x: int, depth: int) -> None:
    """One filter over one column."""
    for k in range(0, depth - 3, 4):
        load(call, weights + k, 4)
        load(call, x + 2 * k, 4)
        load(call, x + 2 * k + 4, 4)
        step(call, 15, 1)
    for k in range(depth // 4 * 4, depth):
        load(call, weights + k, 1)
        load(call, x + 2 * k, 2)
    step(call, 16, depth & 3)


@native
def two_pixels(call: NestCall, window: int, out: int) -> None:
    """All filters over two columns."""
    channels = call.out_c
    step(call, 10, 1)
    for channel in range(0, channels - 1, 2):
        weights, x = call.filter + channel * window, call.scratch
        if call.bias:
            load(call, call.bias + 4 * channel, 4)
            load(call, call.bias + 4 * channel + 4, 4)
        iterations(call, 28, window // 4)
        iterations(call, 31, window & 3)
        for k in range(0, window - 3, 4):
            load(call, x + 2 * k, 4)
            load(call, x + 2 * (window + k), 4)
            load(call, weights + k, 4)
            load(call, weights + window + k, 4)
            load(call, x + 2 * k + 4, 4)
            load(call, x + 2 * (window + k) + 4, 4)
            bank_conflict(call, 34, x, x + 2 * window)
            bank_conflict(call, 35, weights, weights + window)
            step(call, 12, 1)
        for k in range(window // 4 * 4, window):
            load(call, weights + k, 1)
            load(call, weights + window + k, 1)
            load(call, x + 2 * k, 2)
            load(call, x + 2 * (window + k), 2)
        step(call, 13, window & 3)
        for i in range(4):
            load_requantization(call, channel + (i >> 1), 0)
            step(call, 11, 1)
            store(call, out + (i & 1) * channels + channel + (i >> 1), 1)
    if channels & 1:
        channel = channels - 1
        if call.bias:
            load(call, call.bias + 4 * channel, 4)
        for i in range(2):
            dot(call, call.filter + channel * window, call.scratch + 2 * i * window, window)
            load_requantization(call, channel, 0)
            step(call, 14, 1)
            store(call, out + i * channels + channel, 1)


@native
def conv(call: NestCall) -> None:
    """``cmsis_conv``: call, the levels of ``column``, then pixels, pair, quad, element, odd ..."""
    window = call.kernel_h * call.kernel_w * call.in_c
    channels, pixels = call.out_c, call.rows * call.out_w
    call.copy_level, call.copy_loops = 4, 22
    step(call, 1, 1)
    for image in range(call.batch):
        out = call.output + image * pixels * channels
        for pixel in range(pixels):
            to = call.scratch + (pixel & 1) * 2 * window
            column(call, image, pixel // call.out_w, pixel % call.out_w, to)
            if pixel & 1:
                two_pixels(call, window, out + (pixel - 1) * channels)
        if pixels & 1:
            step(call, 17, 1)
            for channel in range(channels):
                dot(call, call.filter + channel * window, call.scratch, window)
                step(call, 18, 1)
                load_requantization(call, channel, 1)
                store(call, out + (pixels - 1) * channels + channel, 1)


@native
def window_3x3(call: NestCall, y: int, x: int, channel: int, size: int) -> None:
    """The taps that are inside, four channels or one at a time."""
    level = 4 if size == 4 else 8
    iterations(call, 11, min(call.in_h, y + 3) - max(0, y))
    for iy in range(max(0, y), min(call.in_h, y + 3)):
        source = call.input + (iy * call.in_w + x) * call.in_c + channel
        weights = call.filter + (iy - y) * 3 * call.in_c + channel
        step(call, level, 1)
        for tap in range(3):
            if (tap == 0 and x < 0) or (tap == 2 and x + 3 > call.in_w):
                continue
            load(call, source + tap * call.in_c, size)
            load(call, weights + tap * call.in_c, size)
            bank_conflict(call, 14 if size == 4 else 15, source + tap * call.in_c, weights + tap * call.in_c)
            if tap != 1:
                step(call, level + 1 + tap // 2, 1)


@native
def depthwise_3x3(call: NestCall) -> None:
    """``cmsis_depthwise_3x3``: call, pixel, quad, row, left, right, one, one_row, one_left, one_right."""
    step(call, 1, 1)
    channels = call.in_c
    for pixel in range(call.rows * call.out_w):
        y = pixel // call.out_w * call.stride_h - call.pad_top
        x = pixel % call.out_w * call.stride_w - call.pad_left
        step(call, 2, 1)
        for channel in range(0, channels - 3, 4):
            window_3x3(call, y, x, channel, 4)
            for i in range(4):
                load_requantization(call, channel + i, 1)
                step(call, 3, 1)
                store(call, call.output + pixel * channels + channel + i, 1)
        for channel in range(channels // 4 * 4, channels):
            window_3x3(call, y, x, channel, 1)
            step(call, 7, 1)
            load_requantization(call, channel, 1)
            store(call, call.output + pixel * channels + channel, 1)


@native
def patch(call: NestCall, y: int, x: int) -> None:
    """The patch at (y, x) with all its channels as q15 in scratch; rows outside are cleared at once."""
    channels, to = call.in_c, call.scratch
    row = 2 * call.kernel_w * channels
    top, bottom = max(0, -y), min(call.kernel_h, call.in_h - y)
    step(call, 2, 1)
    if top:
        clear(call, to, row * top, 7)
        to += row * top
    for iy in range(y + top, y + bottom):
        step(call, 3, 1)
        iterations(call, 15, call.kernel_w)
        for ix in range(x, x + call.kernel_w):
            if ix < 0 or ix >= call.in_w:
                clear(call, to, 2 * channels, 7)
            else:
                sign_extend_copy(call, to, call.input + (iy * call.in_w + ix) * channels, channels)
            to += 2 * channels
    if bottom != call.kernel_h:
        clear(call, to, row * (call.kernel_h - bottom), 7)


@native
def depthwise_columns(call: NestCall) -> None:
    """``cmsis_depthwise_columns``: call, pixel, row, (tap, quad, element), (outside, word, byte), four, pair ..."""
    step(call, 1, 1)
    channels, taps = call.in_c, call.kernel_h * call.kernel_w
    call.copy_level, call.copy_loops = 4, 18
    for pixel in range(call.rows * call.out_w):
        patch(
            call,
            pixel // call.out_w * call.stride_h - call.pad_top,
            pixel % call.out_w * call.stride_w - call.pad_left,
        )
        for channel in range(0, channels - 3, 4):
            iterations(call, 24, taps // 2)
            for t in range(0, taps - 1, 2):
                weights, x = call.filter + t * channels + channel, call.scratch + 2 * (t * channels + channel)
                for k in range(2):
                    load(call, weights + k * channels, 4)
                for k in range(4):  # both taps' first words, then from the second tap back to the first
                    load(call, x + ((k ^ k >> 1) & 1) * 2 * channels + (k >> 1) * 4, 4)
                bank_conflict(call, 27, 0, channels)
                bank_conflict(call, 28, 0, 2 * channels)
                step(call, 11, 1)
            if taps & 1:
                for i in range(4):
                    load(call, call.filter + (taps - 1) * channels + channel + i, 1)
                    load(call, call.scratch + 2 * ((taps - 1) * channels + channel + i), 2)
                step(call, 12, 1)
            for i in range(4):
                load_requantization(call, channel + i, 1)
                step(call, 10, 1)
                store(call, call.output + pixel * channels + channel + i, 1)
        for channel in range(channels // 4 * 4, channels):
            step(call, 13, 1)
            for t in range(taps):
                load(call, call.filter + t * channels + channel, 1)
                load(call, call.scratch + 2 * (t * channels + channel), 2)
            step(call, 14, taps)
            load_requantization(call, channel, 1)
            store(call, call.output + pixel * channels + channel, 1)

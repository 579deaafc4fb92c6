"""Loop nests of the functions that the sets of 2020 have of their own: ``sets/cmsis-2020/*.c``.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted.nest import (
    bank_conflict,
    iterations,
    load,
    load_requantization,
    sign_extend_copy,
    step,
    store,
)
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.kernels.cost.fitted.nests_reference import vector_by_turns
from mcusim.native.functions import native


@native
def vector_by_sixteens(call: NestCall) -> None:
    """``cmsis_2020_fully_connected``: call, vector, pair, quad, element, odd, odd_quad, odd_element."""
    vector_by_turns(call, 16)


@native
def taps_inside(call: NestCall, pixel: int, channel: int, outputs: int) -> None:
    """The products of ``outputs`` outputs of an output pixel from ``channel`` on, all of one input channel."""
    row, x = pixel // call.out_w, pixel % call.out_w * call.stride_w - call.pad_left
    image, y = row // call.rows, row % call.rows * call.stride_h - call.pad_top
    top, bottom = max(0, -y), min(call.kernel_h, call.in_h - y)
    left, right = max(0, -x), min(call.kernel_w, call.in_w - x)
    iterations(call, 10, bottom - top)
    for i in range(top, bottom):
        step(call, 5, 1)
        iterations(call, 7, right - left)
        for j in range(left, right):
            source = (
                call.input
                + ((image * call.in_h + y + i) * call.in_w + x + j) * call.in_c
                + channel // call.depth_multiplier
            )
            w = call.filter + (i * call.kernel_w + j) * call.out_c + channel
            load(call, source, 1)
            for k in range(outputs):
                load(call, w + k, 1)
            bank_conflict(call, 13, source, w)
            step(call, 6, 1)


@native
def depthwise_inside(call: NestCall, outputs: int) -> None:
    """``outputs`` outputs at a time: call, pixel, channel, output, row, tap."""
    step(call, 1, 1)
    channels = call.out_c
    for pixel in range(call.batch * call.rows * call.out_w):
        step(call, 2, 1)
        for c in range(0, channels, outputs):
            if c % call.depth_multiplier == 0:
                step(call, 3, 1)
            taps_inside(call, pixel, c, outputs)
            for i in range(outputs):
                load_requantization(call, c + i, 1)
                step(call, 4, 1)
                store(call, call.output + pixel * channels + c + i, 1)


@native
def depthwise_by_fours(call: NestCall) -> None:
    """``cmsis_2020_depthwise`` with a depth multiplier of 4, 8, ..."""
    depthwise_inside(call, 4)


@native
def depthwise_by_ones(call: NestCall) -> None:
    """``cmsis_2020_depthwise`` with any other depth multiplier."""
    depthwise_inside(call, 1)


@native
def accumulate(call: NestCall, source: int, count: int) -> None:
    """A pixel onto the sums in scratch: tap, quad, element from 7 on."""
    step(call, 7, 1)
    iterations(call, 11, count // 4)
    iterations(call, 14, count & 3)
    for i in range(0, count - 3, 4):
        load(call, source + i, 4)
        for k in range(2):
            load(call, call.scratch + 2 * i + 4 * k, 4)
            store(call, call.scratch + 2 * i + 4 * k, 4)
        step(call, 8, 1)
    for i in range(count // 4 * 4, count):
        load(call, call.scratch + 2 * i, 2)
        load(call, source + i, 1)
        step(call, 9, 1)
        store(call, call.scratch + 2 * i, 2)


@native
def average_by_halves(call: NestCall) -> None:
    """``cmsis_2020_average_pool``: call, pixel, row, (first, first_quad, first_element), tap, quad, element, output."""
    depth = call.in_c
    call.copy_level, call.copy_loops = 4, 17
    step(call, 1, 1)
    for pixel in range(call.batch * call.rows * call.out_w):
        row = pixel // call.out_w
        image = row // call.rows * call.in_h
        y, x = row % call.rows * call.stride_h - call.pad_top, pixel % call.out_w * call.stride_w - call.pad_left
        step(call, 2, 1)
        first = 1
        for iy in range(max(0, y), min(call.in_h, y + call.kernel_h)):
            step(call, 3, 1)
            for ix in range(max(0, x), min(call.in_w, x + call.kernel_w)):
                source = call.input + ((image + iy) * call.in_w + ix) * depth
                if first:
                    sign_extend_copy(call, call.scratch, source, depth)
                else:
                    accumulate(call, source, depth)
                first = 0
        for k in range(depth):
            load(call, call.scratch + 2 * k, 2)
            step(call, 10, 1)
            store(call, call.output + pixel * depth + k, 1)

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
from mcusim.memory.state_layout import MemoryState
from mcusim.native.compile import native


@native
def vector_by_sixteens(memory: MemoryState, call: NestCall) -> None:
    """``cmsis_2020_fully_connected``: call, vector, pair, quad, element, odd, odd_quad, odd_element."""
    vector_by_turns(memory, call, 16)


@native
def taps_inside(memory: MemoryState, call: NestCall, image: int, y: int, x: int, channel: int, outputs: int) -> None:
    """The products of ``outputs`` outputs of one input channel."""
    top, bottom = max(0, -y), min(call.kernel_h, call.in_h - y)
    left, right = max(0, -x), min(call.kernel_w, call.in_w - x)
    iterations(memory, call, 10, bottom - top)
    for i in range(top, bottom):
        step(memory, call, 5, 1)
        iterations(memory, call, 7, right - left)
        for j in range(left, right):
            source = (
                call.input
                + ((image * call.in_h + y + i) * call.in_w + x + j) * call.in_c
                + channel // call.depth_multiplier
            )
            w = call.filter + (i * call.kernel_w + j) * call.out_c + channel
            load(memory, call, source, 1)
            for k in range(outputs):
                load(memory, call, w + k, 1)
            bank_conflict(memory, call, 13, source, w)
            step(memory, call, 6, 1)


@native
def depthwise_inside(memory: MemoryState, call: NestCall, outputs: int) -> None:
    """``outputs`` outputs at a time: call, pixel, channel, output, row, tap."""
    step(memory, call, 1, 1)
    channels = call.out_c
    for pixel in range(call.batch * call.rows * call.out_w):
        row = pixel // call.out_w
        y, x = row % call.rows * call.stride_h - call.pad_top, pixel % call.out_w * call.stride_w - call.pad_left
        step(memory, call, 2, 1)
        for c in range(0, channels, outputs):
            if c % call.depth_multiplier == 0:
                step(memory, call, 3, 1)
            taps_inside(memory, call, row // call.rows, y, x, c, outputs)
            for i in range(outputs):
                load_requantization(memory, call, c + i, 1)
                step(memory, call, 4, 1)
                store(memory, call, call.output + pixel * channels + c + i, 1)


@native
def depthwise_by_fours(memory: MemoryState, call: NestCall) -> None:
    """``cmsis_2020_depthwise`` with a depth multiplier of 4, 8, ..."""
    depthwise_inside(memory, call, 4)


@native
def depthwise_by_ones(memory: MemoryState, call: NestCall) -> None:
    """``cmsis_2020_depthwise`` with any other depth multiplier."""
    depthwise_inside(memory, call, 1)


@native
def accumulate(memory: MemoryState, call: NestCall, source: int, count: int) -> None:
    """A pixel onto the sums in scratch: tap, quad, element from 7 on."""
    step(memory, call, 7, 1)
    iterations(memory, call, 11, count // 4)
    iterations(memory, call, 14, count & 3)
    for i in range(0, count - 3, 4):
        load(memory, call, source + i, 4)
        for k in range(2):
            load(memory, call, call.scratch + 2 * i + 4 * k, 4)
            store(memory, call, call.scratch + 2 * i + 4 * k, 4)
        step(memory, call, 8, 1)
    for i in range(count // 4 * 4, count):
        load(memory, call, call.scratch + 2 * i, 2)
        load(memory, call, source + i, 1)
        step(memory, call, 9, 1)
        store(memory, call, call.scratch + 2 * i, 2)


@native
def average_by_halves(memory: MemoryState, call: NestCall) -> None:
    """``cmsis_2020_average_pool``: call, pixel, row, (first, first_quad, first_element), tap, quad, element, output."""
    depth = call.in_c
    step(memory, call, 1, 1)
    for pixel in range(call.batch * call.rows * call.out_w):
        row = pixel // call.out_w
        image = row // call.rows * call.in_h
        y, x = row % call.rows * call.stride_h - call.pad_top, pixel % call.out_w * call.stride_w - call.pad_left
        step(memory, call, 2, 1)
        first = 1
        for iy in range(max(0, y), min(call.in_h, y + call.kernel_h)):
            step(memory, call, 3, 1)
            for ix in range(max(0, x), min(call.in_w, x + call.kernel_w)):
                source = call.input + ((image + iy) * call.in_w + ix) * depth
                if first:
                    sign_extend_copy(memory, call, source, call.scratch, depth, 4, 17)
                else:
                    accumulate(memory, call, source, depth)
                first = 0
        for k in range(depth):
            load(memory, call, call.scratch + 2 * k, 2)
            step(memory, call, 10, 1)
            store(memory, call, call.output + pixel * depth + k, 1)

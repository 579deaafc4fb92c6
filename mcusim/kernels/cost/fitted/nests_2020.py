"""Loop nests of the functions that the sets of 2020 have of their own: ``sets/cmsis-2020/*.c``.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted import nest as N
from mcusim.kernels.cost.fitted.nest import (
    bank_conflict,
    iterations,
    load,
    load_requantization,
    sign_extend_copy,
    step,
    store,
)
from mcusim.kernels.cost.fitted.nests_reference import vector_by_turns
from mcusim.native.compile import State, native


@native
def vector_by_sixteens(s: State, p: State) -> None:
    """``cmsis_2020_fully_connected``: call, vector, pair, quad, element, odd, odd_quad, odd_element."""
    vector_by_turns(s, p, 16)


@native
def taps_inside(s: State, p: State, image: int, y: int, x: int, channel: int, outputs: int) -> None:
    """The products of ``outputs`` outputs of one input channel."""
    top, bottom = max(0, -y), min(p[N.KH], p[N.IN_H] - y)
    left, right = max(0, -x), min(p[N.KW], p[N.IN_W] - x)
    iterations(s, p, 10, bottom - top)
    for i in range(top, bottom):
        step(s, p, 5, 1)
        iterations(s, p, 7, right - left)
        for j in range(left, right):
            source = p[N.IN] + ((image * p[N.IN_H] + y + i) * p[N.IN_W] + x + j) * p[N.IN_C] + channel // p[N.DM]
            w = p[N.W] + (i * p[N.KW] + j) * p[N.OUT_C] + channel
            load(s, p, source, 1)
            for k in range(outputs):
                load(s, p, w + k, 1)
            bank_conflict(s, p, 13, source, w)
            step(s, p, 6, 1)


@native
def depthwise_inside(s: State, p: State, outputs: int) -> None:
    """``outputs`` outputs at a time: call, pixel, channel, output, row, tap."""
    step(s, p, 1, 1)
    channels = p[N.OUT_C]
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row = pixel // p[N.OUT_W]
        y, x = row % p[N.ROWS] * p[N.SH] - p[N.PT], pixel % p[N.OUT_W] * p[N.SW] - p[N.PL]
        step(s, p, 2, 1)
        for c in range(0, channels, outputs):
            if c % p[N.DM] == 0:
                step(s, p, 3, 1)
            taps_inside(s, p, row // p[N.ROWS], y, x, c, outputs)
            for i in range(outputs):
                load_requantization(s, p, c + i, 1)
                step(s, p, 4, 1)
                store(s, p, p[N.OUT] + pixel * channels + c + i, 1)


@native
def depthwise_by_fours(s: State, p: State) -> None:
    """``cmsis_2020_depthwise`` with a depth multiplier of 4, 8, ..."""
    depthwise_inside(s, p, 4)


@native
def depthwise_by_ones(s: State, p: State) -> None:
    """``cmsis_2020_depthwise`` with any other depth multiplier."""
    depthwise_inside(s, p, 1)


@native
def accumulate(s: State, p: State, source: int, count: int) -> None:
    """A pixel onto the sums in scratch: tap, quad, element from 7 on."""
    step(s, p, 7, 1)
    iterations(s, p, 11, count // 4)
    iterations(s, p, 14, count & 3)
    for i in range(0, count - 3, 4):
        load(s, p, source + i, 4)
        for k in range(2):
            load(s, p, p[N.SCR] + 2 * i + 4 * k, 4)
            store(s, p, p[N.SCR] + 2 * i + 4 * k, 4)
        step(s, p, 8, 1)
    for i in range(count // 4 * 4, count):
        load(s, p, p[N.SCR] + 2 * i, 2)
        load(s, p, source + i, 1)
        step(s, p, 9, 1)
        store(s, p, p[N.SCR] + 2 * i, 2)


@native
def average_by_halves(s: State, p: State) -> None:
    """``cmsis_2020_average_pool``: call, pixel, row, (first, first_quad, first_element), tap, quad, element, output."""
    depth = p[N.IN_C]
    step(s, p, 1, 1)
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row = pixel // p[N.OUT_W]
        image = row // p[N.ROWS] * p[N.IN_H]
        y, x = row % p[N.ROWS] * p[N.SH] - p[N.PT], pixel % p[N.OUT_W] * p[N.SW] - p[N.PL]
        step(s, p, 2, 1)
        first = 1
        for iy in range(max(0, y), min(p[N.IN_H], y + p[N.KH])):
            step(s, p, 3, 1)
            for ix in range(max(0, x), min(p[N.IN_W], x + p[N.KW])):
                source = p[N.IN] + ((image + iy) * p[N.IN_W] + ix) * depth
                if first:
                    sign_extend_copy(s, p, source, p[N.SCR], depth, 4, 17)
                else:
                    accumulate(s, p, source, depth)
                first = 0
        for k in range(depth):
            load(s, p, p[N.SCR] + 2 * k, 2)
            step(s, p, 10, 1)
            store(s, p, p[N.OUT] + pixel * depth + k, 1)

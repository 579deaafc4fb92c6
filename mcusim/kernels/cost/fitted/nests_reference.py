"""Loop nests of plain convolutions (``sets/reference/convolution.c``, the plain cases of ``sets/cmsis``) and of
FULLY_CONNECTED.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted import nest as N
from mcusim.kernels.cost.fitted.nest import bank_conflict, iterations, load, load_requantization, step, store
from mcusim.native.compile import State, native


@native
def window(s: State, p: State, image: int, y: int, x: int, channel: int) -> None:
    """The products of one output."""
    depth, item = p[N.IN_C], p[N.ELEMENT]
    w = p[N.W] + channel * p[N.KH] * p[N.KW] * depth
    iterations(s, p, 14, p[N.KH])
    for i in range(p[N.KH]):
        step(s, p, 4, 1)
        iterations(s, p, 11, p[N.KW])
        iy = y + i * p[N.DH]
        for j in range(p[N.KW]):
            ix = x + j * p[N.DW]
            if iy < 0 or iy >= p[N.IN_H] or ix < 0 or ix >= p[N.IN_W]:
                step(s, p, 5, 1)
            else:
                source = p[N.IN] + ((image * p[N.IN_H] + iy) * p[N.IN_W] + ix) * depth * item
                step(s, p, 6, 1)
                iterations(s, p, 8, depth)
                for k in range(depth):
                    load(s, p, source + k * item, item)
                    load(s, p, w + k, 1)
                    bank_conflict(s, p, 17, source + k * item, w + k)
                    step(s, p, 7, 1)
            w += depth


@native
def convolution(s: State, p: State) -> None:
    """Every output by plain loops: call, pixel, output, row, outside, tap, mac."""
    step(s, p, 1, 1)
    at = p[N.OUT]
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row = pixel // p[N.OUT_W]
        y, image = row % p[N.ROWS], row // p[N.ROWS]
        step(s, p, 2, 1)
        for c in range(p[N.OUT_C]):
            window(s, p, image, y * p[N.SH] - p[N.PT], pixel % p[N.OUT_W] * p[N.SW] - p[N.PL], c)
            load_requantization(s, p, c, 1)
            step(s, p, 3, 1)
            store(s, p, at, p[N.ELEMENT])
            at += p[N.ELEMENT]


@native
def taps(s: State, p: State, image: int, y: int, x: int, channel: int) -> None:
    """The products of one output of a depthwise convolution."""
    w = p[N.W] + channel
    iterations(s, p, 11, p[N.KH])
    for i in range(p[N.KH]):
        step(s, p, 5, 1)
        iterations(s, p, 8, p[N.KW])
        iy = y + i * p[N.DH]
        for j in range(p[N.KW]):
            ix = x + j * p[N.DW]
            if iy < 0 or iy >= p[N.IN_H] or ix < 0 or ix >= p[N.IN_W]:
                step(s, p, 6, 1)
            else:
                source = ((image * p[N.IN_H] + iy) * p[N.IN_W] + ix) * p[N.IN_C] + channel // p[N.DM]
                source = p[N.IN] + source * p[N.ELEMENT]
                load(s, p, source, p[N.ELEMENT])
                load(s, p, w, 1)
                bank_conflict(s, p, 14, source, w)
                step(s, p, 7, 1)
            w += p[N.OUT_C]


@native
def depthwise(s: State, p: State) -> None:
    """Any depth multiplier: call, pixel, channel, output, row, outside, mac."""
    step(s, p, 1, 1)
    at = p[N.OUT]
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row = pixel // p[N.OUT_W]
        y, image = row % p[N.ROWS] * p[N.SH] - p[N.PT], row // p[N.ROWS]
        step(s, p, 2, 1)
        for c in range(p[N.OUT_C]):
            if c % p[N.DM] == 0:
                step(s, p, 3, 1)
            taps(s, p, image, y, pixel % p[N.OUT_W] * p[N.SW] - p[N.PL], c)
            load_requantization(s, p, c, 1)
            step(s, p, 4, 1)
            store(s, p, at, p[N.ELEMENT])
            at += p[N.ELEMENT]


@native
def fully_connected(s: State, p: State) -> None:
    """One output after another: call, output, mac."""
    depth, item = p[N.IN_C], p[N.ELEMENT]
    step(s, p, 1, 1)
    for b in range(p[N.BATCH]):
        for c in range(p[N.OUT_C]):
            for k in range(depth):
                x, w = p[N.IN] + (b * depth + k) * item, p[N.W] + c * depth + k
                load(s, p, x, item)
                load(s, p, w, 1)
                bank_conflict(s, p, 7, x, w)
                step(s, p, 3, 1)
            iterations(s, p, 4, depth)
            load_requantization(s, p, c, 1)
            step(s, p, 2, 1)
            store(s, p, p[N.OUT] + (b * p[N.OUT_C] + c) * item, item)


@native
def vector_by_turns(s: State, p: State, turn: int) -> None:
    """A vector by two rows at a time, ``turn`` elements in one turn of the loop by words, the rest one by one."""
    depth, channels = p[N.IN_C], p[N.OUT_C]
    step(s, p, 1, 1)
    for b in range(p[N.BATCH]):
        step(s, p, 2, 1)
        x = p[N.IN] + b * depth
        for c in range(0, channels, 2):
            rows = min(2, channels - c)
            level = 3 if rows == 2 else 6
            for size in (4, 1):
                begin, end = (0, depth // turn * turn) if size == 4 else (depth // turn * turn, depth)
                for k in range(begin, end, size):
                    load(s, p, x + k, size)
                    for i in range(rows):
                        load(s, p, p[N.W] + (c + i) * depth + k, size)
                        bank_conflict(s, p, 14 + rows + size // 4, x + k, p[N.W] + (c + i) * depth + k)
                    step(s, p, level + 1 if size == 4 else level + 2, 1)
            iterations(s, p, 9, depth // turn)
            iterations(s, p, 12, depth % turn)
            for i in range(rows):
                load_requantization(s, p, c + i, 1)
                step(s, p, level, 1)
                store(s, p, p[N.OUT] + b * channels + c + i, 1)


@native
def vector_by_rows(s: State, p: State) -> None:
    """``cmsis_fully_connected``: call, vector, pair, quad, element, odd, odd_quad, odd_element."""
    vector_by_turns(s, p, 4)

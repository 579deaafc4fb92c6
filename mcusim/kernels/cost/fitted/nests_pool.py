"""Loop nests of the operators without products of weights: pools, element-wise ones, softmax, moves, resizes.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model; which elements a SLICE, STRIDED_SLICE, SPLIT or TRANSPOSE takes
(as many as the output has, from the input's first); rows of broadcast operands (their elements are read in order, again
and again).
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted import nest as N
from mcusim.kernels.cost.fitted.nest import copy, iterations, load, step, store
from mcusim.native.compile import State, native


@native
def binary_by_four(s: State, p: State) -> None:
    """``cmsis_add`` and ``cmsis_mul`` of equal shapes: call, quad, element."""
    step(s, p, 1, 1)
    size = p[N.OUT_SIZE]
    for i in range(0, size - 3, 4):
        load(s, p, p[N.IN] + i, 4)
        load(s, p, p[N.IN2] + i, 4)
        step(s, p, 2, 1)
        store(s, p, p[N.OUT] + i, 4)
    for i in range(size // 4 * 4, size):
        load(s, p, p[N.IN] + i, 1)
        load(s, p, p[N.IN2] + i, 1)
        step(s, p, 3, 1)
        store(s, p, p[N.OUT] + i, 1)


@native
def binary(s: State, p: State) -> None:
    """One element after another: call, row, element."""
    step(s, p, 1, 1)
    item = p[N.ELEMENT]
    first, second = max(1, p[N.SIZE] // item), max(1, p[N.SIZE2] // item)
    for i in range(p[N.OUT_SIZE] // item):
        if i % p[N.OUT_C] == 0:
            step(s, p, 2, 1)
        load(s, p, p[N.IN] + i % first * item, item)
        load(s, p, p[N.IN2] + i % second * item, item)
        step(s, p, 3, 1)
        store(s, p, p[N.OUT] + i * item, item)


@native
def average_by_sums(s: State, p: State) -> None:
    """``cmsis_average_pool``: call, pixel, row, tap, first, sum, output."""
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
                step(s, p, 4, 1)
                for k in range(depth):
                    load(s, p, p[N.IN] + ((image + iy) * p[N.IN_W] + ix) * depth + k, 1)
                    if not first:
                        load(s, p, p[N.SCR] + 4 * k, 4)
                    step(s, p, 5 if first else 6, 1)
                    store(s, p, p[N.SCR] + 4 * k, 4)
                first = 0
        for k in range(depth):
            load(s, p, p[N.SCR] + 4 * k, 4)
            step(s, p, 7, 1)
            store(s, p, p[N.OUT] + pixel * depth + k, 1)


@native
def keep(s: State, p: State, to: int, source: int, count: int, level: int) -> None:
    """Bytes at ``to`` changed in place, by those at ``source`` if it is not 0, four at a time."""
    for i in range(0, count - 3, 4):
        load(s, p, to + i, 4)
        if source:
            load(s, p, source + i, 4)
        step(s, p, level, 1)
        store(s, p, to + i, 4)
    iterations(s, p, 13, count // 4)
    iterations(s, p, 16, count & 3)
    for i in range(count // 4 * 4, count):
        load(s, p, to + i, 1)
        if source:
            load(s, p, source + i, 1)
        if source == 0 or i & 1:  # a byte is stored where it is larger
            store(s, p, to + i, 1)
    step(s, p, level + 1, count & 3)


@native
def maxima(s: State, p: State) -> None:
    """``cmsis_max_pool``: call, pixel, row, (copy, word, byte, shifted), tap, quad, element, last_quad, last."""
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
                    copy(s, p, p[N.OUT] + pixel * depth, source, depth, 4, 19)
                else:
                    step(s, p, 8, 1)
                    keep(s, p, p[N.OUT] + pixel * depth, source, depth, 9)
                first = 0
    keep(s, p, p[N.OUT], 0, p[N.BATCH] * p[N.ROWS] * p[N.OUT_W] * depth, 11)


@native
def pool(s: State, p: State) -> None:
    """``reference`` pools, every output by itself: call, pixel, output, row, tap."""
    depth, item = p[N.IN_C], p[N.ELEMENT]
    step(s, p, 1, 1)
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row = pixel // p[N.OUT_W]
        image = row // p[N.ROWS] * p[N.IN_H]
        y, x = row % p[N.ROWS] * p[N.SH] - p[N.PT], pixel % p[N.OUT_W] * p[N.SW] - p[N.PL]
        step(s, p, 2, 1)
        for k in range(depth):
            for iy in range(max(0, y), min(p[N.IN_H], y + p[N.KH])):
                step(s, p, 4, 1)
                iterations(s, p, 6, min(p[N.IN_W], x + p[N.KW]) - max(0, x))
                for ix in range(max(0, x), min(p[N.IN_W], x + p[N.KW])):
                    load(s, p, p[N.IN] + (((image + iy) * p[N.IN_W] + ix) * depth + k) * item, item)
                    step(s, p, 5, 1)
            iterations(s, p, 9, min(p[N.IN_H], y + p[N.KH]) - max(0, y))
            step(s, p, 3, 1)
            store(s, p, p[N.OUT] + (pixel * depth + k) * item, item)


@native
def mean(s: State, p: State) -> None:
    """``reference_mean``: call, clear, row, element, output."""
    item = p[N.ELEMENT]
    outputs, elements = p[N.OUT_SIZE] // item, p[N.SIZE] // item
    step(s, p, 1, 1)
    for i in range(outputs):
        store(s, p, p[N.SCR] + 4 * i, 4)
        step(s, p, 2, 1)
    for i in range(elements):
        if i % p[N.IN_C] == 0:
            step(s, p, 3, 1)
        load(s, p, p[N.IN] + i * item, item)
        load(s, p, p[N.SCR] + 4 * (i % outputs), 4)
        step(s, p, 4, 1)
        store(s, p, p[N.SCR] + 4 * (i % outputs), 4)
    for i in range(outputs):
        load(s, p, p[N.SCR] + 4 * i, 4)
        step(s, p, 5, 1)
        store(s, p, p[N.OUT] + i * item, item)


@native
def unary(s: State, p: State) -> None:
    """One element after another: call, element. Items of input and output may differ in size."""
    step(s, p, 1, 1)
    elements = p[N.ITEM]
    for i in range(elements):
        load(s, p, p[N.IN] + i * p[N.SIZE] // elements, p[N.SIZE] // elements)
        step(s, p, 2, 1)
        store(s, p, p[N.OUT] + i * p[N.OUT_SIZE] // elements, p[N.OUT_SIZE] // elements)


@native
def softmax(s: State, p: State) -> None:
    """``reference_softmax``: call, row, element in each of three passes; the second keeps exponentials of int16."""
    depth, item = p[N.OUT_C], p[N.ELEMENT]
    step(s, p, 1, 1)
    for row in range(0, p[N.OUT_SIZE], depth * item):
        step(s, p, 2, 1)
        for turn in range(3):
            source = p[N.OUT] if item == 2 and turn == 2 else p[N.IN]
            for i in range(0, depth * item, item):
                load(s, p, source + row + i, item)
                if turn == 2 or (item == 2 and turn == 1):
                    store(s, p, p[N.OUT] + row + i, item)
                step(s, p, 3 + turn, 1)


@native
def move(s: State, p: State) -> None:
    """``reference_move`` of contiguous bytes: call, (copy, word, byte, shifted)."""
    step(s, p, 1, 1)
    pieces = max(1, p[N.PIECES])
    size, source = p[N.OUT_SIZE] // pieces, p[N.SIZE] // pieces
    for i in range(pieces):
        copy(s, p, p[N.OUT] + i * size, p[N.IN] + i * source, size, 2, 6)


@native
def pad(s: State, p: State) -> None:
    """``reference_pad``: call, row, outside, element."""
    step(s, p, 1, 1)
    source, to = p[N.IN], p[N.OUT]
    for row in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        y, x = row // p[N.OUT_W] % p[N.ROWS] - p[N.PT], row % p[N.OUT_W] - p[N.PL]
        inside = 0 <= y < p[N.IN_H] and 0 <= x < p[N.IN_W]
        step(s, p, 2, 1)
        for _ in range(p[N.OUT_C]):
            for _byte in range(p[N.ELEMENT]):
                if inside:
                    load(s, p, source, 1)
                    source += 1
                store(s, p, to, 1)
                to += 1
            step(s, p, 4 if inside else 3, 1)


@native
def join(s: State, p: State) -> None:
    """``reference_join``: call, piece, (copy, word, byte, shifted); of every input a piece, then again."""
    step(s, p, 1, 1)
    pieces, to = max(1, p[N.PIECES]), p[N.OUT]
    for i in range(pieces):
        step(s, p, 2, 1)
        for k in range(p[N.MORE]):
            size = p[N.SLOTS + 2 * k + 1] // pieces
            copy(s, p, to, p[N.SLOTS + 2 * k] + i * size, size, 3, 7)
            to += size


@native
def resize_nearest(s: State, p: State) -> None:
    """``reference_resize_nearest``: call, row, (copy, word, byte, shifted)."""
    step(s, p, 1, 1)
    depth = p[N.OUT_C] * p[N.ELEMENT]
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row, x = pixel // p[N.OUT_W], pixel % p[N.OUT_W]
        if x == 0:
            step(s, p, 2, 1)
        line = row // p[N.ROWS] * p[N.IN_H] + row % p[N.ROWS] * p[N.IN_H] // p[N.ROWS]
        source = p[N.IN] + (line * p[N.IN_W] + x * p[N.IN_W] // p[N.OUT_W]) * depth
        copy(s, p, p[N.OUT] + pixel * depth, source, depth, 3, 7)


@native
def resize_bilinear(s: State, p: State) -> None:
    """``reference_resize_bilinear``: call, row, pixel, element."""
    step(s, p, 1, 1)
    item = p[N.ELEMENT]
    depth = p[N.OUT_C] * item
    for pixel in range(p[N.BATCH] * p[N.ROWS] * p[N.OUT_W]):
        row, x = pixel // p[N.OUT_W], pixel % p[N.OUT_W]
        if x == 0:
            step(s, p, 2, 1)
        step(s, p, 3, 1)
        line = row // p[N.ROWS] * p[N.IN_H] + row % p[N.ROWS] * p[N.IN_H] // p[N.ROWS]
        source = p[N.IN] + (line * p[N.IN_W] + x * p[N.IN_W] // p[N.OUT_W]) * depth
        for k in range(0, depth, item):
            for corner in range(4):
                load(s, p, source + k + (corner & 1) * depth + (corner >> 1) * p[N.IN_W] * depth, item)
            step(s, p, 4, 1)
            store(s, p, p[N.OUT] + pixel * depth + k, item)

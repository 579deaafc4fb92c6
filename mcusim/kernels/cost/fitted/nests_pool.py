"""Loop nests of the operators without products of weights: pools, element-wise ones, softmax, moves, resizes.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model; which elements a SLICE, STRIDED_SLICE, SPLIT or TRANSPOSE takes
(as many as the output has, from the input's first); rows of broadcast operands (their elements are read in order, again
and again).
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted.nest import clear, copy, iterations, load, step, store
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.native.functions import native


@native
def binary_by_four(call: NestCall) -> None:
    """``cmsis_add`` and ``cmsis_mul`` of equal shapes: call, quad, element."""
    step(call, 1, 1)
    size = call.output_size
    for i in range(0, size - 3, 4):
        load(call, call.input + i, 4)
        load(call, call.second_input + i, 4)
        step(call, 2, 1)
        store(call, call.output + i, 4)
    for i in range(size // 4 * 4, size):
        load(call, call.input + i, 1)
        load(call, call.second_input + i, 1)
        step(call, 3, 1)
        store(call, call.output + i, 1)


@native
def binary(call: NestCall) -> None:
    """One element after another: call, row, element."""
    step(call, 1, 1)
    item = call.element
    first, second = max(1, call.input_size // item), max(1, call.second_size // item)
    for i in range(call.output_size // item):
        if i % call.out_c == 0:
            step(call, 2, 1)
        load(call, call.input + i % first * item, item)
        load(call, call.second_input + i % second * item, item)
        step(call, 3, 1)
        store(call, call.output + i * item, item)


@native
def average_by_sums(call: NestCall) -> None:
    """``cmsis_average_pool``: call, pixel, row, tap, first, sum, output."""
    depth = call.in_c
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
                step(call, 4, 1)
                for k in range(depth):
                    load(call, call.input + ((image + iy) * call.in_w + ix) * depth + k, 1)
                    if not first:
                        load(call, call.scratch + 4 * k, 4)
                    step(call, 5 if first else 6, 1)
                    store(call, call.scratch + 4 * k, 4)
                first = 0
        for k in range(depth):
            load(call, call.scratch + 4 * k, 4)
            step(call, 7, 1)
            store(call, call.output + pixel * depth + k, 1)


@native
def keep(call: NestCall, to: int, source: int, count: int, level: int) -> None:
    """Bytes at ``to`` changed in place, by those at ``source`` if it is not 0, four at a time."""
    for i in range(0, count - 3, 4):
        load(call, to + i, 4)
        if source:
            load(call, source + i, 4)
        step(call, level, 1)
        store(call, to + i, 4)
    iterations(call, 13, count // 4)
    iterations(call, 16, count & 3)
    for i in range(count // 4 * 4, count):
        load(call, to + i, 1)
        if source:
            load(call, source + i, 1)
        if source == 0 or i & 1:  # a byte is stored where it is larger
            store(call, to + i, 1)
    step(call, level + 1, count & 3)


@native
def maxima(call: NestCall) -> None:
    """``cmsis_max_pool``: call, pixel, row, (copy, word, byte, shifted), tap, quad, element, last_quad, last."""
    depth = call.in_c
    call.copy_level, call.copy_loops = 4, 19
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
                    copy(call, call.output + pixel * depth, source, depth)
                else:
                    step(call, 8, 1)
                    keep(call, call.output + pixel * depth, source, depth, 9)
                first = 0
    keep(call, call.output, 0, call.batch * call.rows * call.out_w * depth, 11)


@native
def pool(call: NestCall) -> None:
    """``reference`` pools, every output by itself: call, pixel, output, row, tap."""
    depth, item = call.in_c, call.element
    step(call, 1, 1)
    for pixel in range(call.batch * call.rows * call.out_w):
        row = pixel // call.out_w
        image = row // call.rows * call.in_h
        y, x = row % call.rows * call.stride_h - call.pad_top, pixel % call.out_w * call.stride_w - call.pad_left
        step(call, 2, 1)
        for k in range(depth):
            for iy in range(max(0, y), min(call.in_h, y + call.kernel_h)):
                step(call, 4, 1)
                iterations(call, 6, min(call.in_w, x + call.kernel_w) - max(0, x))
                for ix in range(max(0, x), min(call.in_w, x + call.kernel_w)):
                    load(call, call.input + (((image + iy) * call.in_w + ix) * depth + k) * item, item)
                    step(call, 5, 1)
            iterations(call, 9, min(call.in_h, y + call.kernel_h) - max(0, y))
            step(call, 3, 1)
            store(call, call.output + (pixel * depth + k) * item, item)


@native
def mean(call: NestCall) -> None:
    """``reference_mean``: call, clear, row, element, output."""
    item = call.element
    outputs, elements = call.output_size // item, call.input_size // item
    step(call, 1, 1)
    for i in range(outputs):
        store(call, call.scratch + 4 * i, 4)
        step(call, 2, 1)
    for i in range(elements):
        if i % call.in_c == 0:
            step(call, 3, 1)
        load(call, call.input + i * item, item)
        load(call, call.scratch + 4 * (i % outputs), 4)
        step(call, 4, 1)
        store(call, call.scratch + 4 * (i % outputs), 4)
    for i in range(outputs):
        load(call, call.scratch + 4 * i, 4)
        step(call, 5, 1)
        store(call, call.output + i * item, item)


@native
def unary(call: NestCall) -> None:
    """One element after another: call, element. Items of input and output may differ in size."""
    step(call, 1, 1)
    elements = call.output_elements
    for i in range(elements):
        load(call, call.input + i * call.input_size // elements, call.input_size // elements)
        step(call, 2, 1)
        store(call, call.output + i * call.output_size // elements, call.output_size // elements)


@native
def softmax(call: NestCall) -> None:
    """``reference_softmax``: call, row, element in each of three passes; the second keeps those of int16 and floats."""
    depth, item = call.out_c, call.element
    step(call, 1, 1)
    for index in range(call.output_size // (depth * item)):
        row = index * depth * item
        step(call, 2, 1)
        for turn in range(3):
            source = call.output if item > 1 and turn == 2 else call.input
            for i in range(depth):
                load(call, source + row + i * item, item)
                if turn == 2 or (item > 1 and turn == 1):
                    store(call, call.output + row + i * item, item)
                step(call, 3 + turn, 1)


@native
def move(call: NestCall) -> None:
    """``reference_move`` of contiguous bytes: call, (copy, word, byte, shifted)."""
    call.copy_level, call.copy_loops = 2, 6
    step(call, 1, 1)
    pieces = max(1, call.pieces)
    size, source = call.output_size // pieces, call.input_size // pieces
    for i in range(pieces):
        copy(call, call.output + i * size, call.input + i * source, size)


@native
def filled(call: NestCall, to: int, size: int) -> int:
    """Padding up to behind ``size`` bytes: memset 16, its word 17 and byte 18; 19 an element of several bytes; 20 those
    loops, 23 that of memset's words."""
    count = size // call.element
    if call.element == 1:
        clear(call, to, size, 16)
        ahead = min(count, -to & 3)
        iterations(call, 20, ahead + (count - ahead & 3))
        iterations(call, 23, (count - ahead) // 4)
    else:
        for i in range(count):
            store(call, to + i * call.element, call.element)
        step(call, 19, count)
        iterations(call, 20, count)
    return to + size


@native
def first_padded(call: NestCall, row: int, last: int) -> int:
    """The first axis along which the row of that number, counted over the axes before ``last``, is padding; ``last``
    where none is."""
    first = last
    for k in range(1, last + 1):
        axis = call.axes[last - k]
        index = row % axis.size
        if not axis.before <= index < axis.before + axis.inside:
            first = last - k
        row //= axis.size
    return first


@native
def pad(call: NestCall) -> None:
    """``reference_pad``: call, row, (copy, word, byte, shifted), then ``filled``, 26 an axis looked at, 27 a row of
    padding. Rows are of the last axis, or of the last two where the last one is not padded."""
    call.copy_level, call.copy_loops = 3, 7
    last, unit = 4, call.element
    if call.axes[4].inside == call.axes[4].size:
        last, unit = 3, call.axes[4].size * call.element
    axis, source, to, rows = call.axes[last], call.input, call.output, 1
    for k in range(last):
        rows *= call.axes[k].size
    left, row, width = axis.before * unit, axis.inside * unit, axis.size * unit
    step(call, 1, 1)
    for n in range(rows):
        step(call, 2, 1)
        first = first_padded(call, n, last)
        step(call, 26, min(first + 1, last))
        if first < last:
            step(call, 27, 1)
            to = filled(call, to, width)
        else:
            to = filled(call, to, left)
            copy(call, to, source, row)
            to = filled(call, to + row, width - left - row)
            source += row


@native
def join(call: NestCall) -> None:
    """``reference_join``: call, piece, (copy, word, byte, shifted); of every input a piece, then again."""
    call.copy_level, call.copy_loops = 3, 7
    step(call, 1, 1)
    pieces, to = max(1, call.pieces), call.output
    for i in range(pieces):
        step(call, 2, 1)
        for k in range(call.input_count):
            size = call.inputs[k].size // pieces
            copy(call, to, call.inputs[k].address + i * size, size)
            to += size


@native
def resize_nearest(call: NestCall) -> None:
    """``reference_resize_nearest``: call, row, (copy, word, byte, shifted)."""
    call.copy_level, call.copy_loops = 3, 7
    step(call, 1, 1)
    depth = call.out_c * call.element
    for pixel in range(call.batch * call.rows * call.out_w):
        row, x = pixel // call.out_w, pixel % call.out_w
        if x == 0:
            step(call, 2, 1)
        line = row // call.rows * call.in_h + row % call.rows * call.in_h // call.rows
        source = call.input + (line * call.in_w + x * call.in_w // call.out_w) * depth
        copy(call, call.output + pixel * depth, source, depth)


@native
def resize_bilinear(call: NestCall) -> None:
    """``reference_resize_bilinear``: call, row, pixel, element."""
    step(call, 1, 1)
    item = call.element
    depth = call.out_c * item
    for pixel in range(call.batch * call.rows * call.out_w):
        row, x = pixel // call.out_w, pixel % call.out_w
        if x == 0:
            step(call, 2, 1)
        step(call, 3, 1)
        line = row // call.rows * call.in_h + row % call.rows * call.in_h // call.rows
        source = call.input + (line * call.in_w + x * call.in_w // call.out_w) * depth
        for channel in range(call.out_c):
            k = channel * item
            for corner in range(4):
                load(call, source + k + (corner & 1) * depth + (corner >> 1) * call.in_w * depth, item)
            step(call, 4, 1)
            store(call, call.output + pixel * depth + k, item)

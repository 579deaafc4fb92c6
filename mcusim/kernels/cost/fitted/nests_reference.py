"""Loop nests of plain convolutions (``sets/reference/convolution.c``, the plain cases of ``sets/cmsis``), of
FULLY_CONNECTED and of BATCH_MATMUL.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model.
"""

from __future__ import annotations

from mcusim.kernels.calls.structs import size_of
from mcusim.kernels.cost.fitted.nest import bank_conflict, iterations, load, load_requantization, products, step, store
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.native.functions import native

STRUCTURE = size_of("batch_matmul_call")


@native
def window(call: NestCall, image: int, y: int, x: int, channel: int) -> None:
    """The products of one output, of its group's channels."""
    depth, item = call.filter_c, call.element
    first = channel * (call.in_c // depth) // call.out_c * depth
    w = call.filter + channel * call.kernel_h * call.kernel_w * depth * call.weight
    iterations(call, 14, call.kernel_h)
    for i in range(call.kernel_h):
        step(call, 4, 1)
        iterations(call, 11, call.kernel_w)
        iy = y + i * call.dilation_h
        for j in range(call.kernel_w):
            ix = x + j * call.dilation_w
            if iy < 0 or iy >= call.in_h or ix < 0 or ix >= call.in_w:
                step(call, 5, 1)
            else:
                source = call.input + (((image * call.in_h + iy) * call.in_w + ix) * call.in_c + first) * item
                step(call, 6, 1)
                iterations(call, 8, depth)
                products(call, source, w, 17, 7)
            w += depth * call.weight


@native
def convolution(call: NestCall) -> None:
    """Every output by plain loops: call, pixel, output, row, outside, tap, mac."""
    step(call, 1, 1)
    at = call.output
    for pixel in range(call.batch * call.rows * call.out_w):
        row = pixel // call.out_w
        y, image = row % call.rows, row // call.rows
        step(call, 2, 1)
        for c in range(call.out_c):
            window(
                call,
                image,
                y * call.stride_h - call.pad_top,
                pixel % call.out_w * call.stride_w - call.pad_left,
                c,
            )
            load_requantization(call, c, 1)
            step(call, 3, 1)
            store(call, at, call.element)
            at += call.element


@native
def taps(call: NestCall, image: int, y: int, x: int, channel: int) -> None:
    """The products of one output of a depthwise convolution."""
    w = call.filter + channel * call.weight
    iterations(call, 11, call.kernel_h)
    for i in range(call.kernel_h):
        step(call, 5, 1)
        iterations(call, 8, call.kernel_w)
        iy = y + i * call.dilation_h
        for j in range(call.kernel_w):
            ix = x + j * call.dilation_w
            if iy < 0 or iy >= call.in_h or ix < 0 or ix >= call.in_w:
                step(call, 6, 1)
            else:
                source = ((image * call.in_h + iy) * call.in_w + ix) * call.in_c + channel // call.depth_multiplier
                source = call.input + source * call.element
                load(call, source, call.element)
                load(call, w, call.weight)
                bank_conflict(call, 14, source, w)
                step(call, 7, 1)
            w += call.out_c * call.weight


@native
def depthwise(call: NestCall) -> None:
    """Any depth multiplier: call, pixel, channel, output, row, outside, mac."""
    step(call, 1, 1)
    at = call.output
    for pixel in range(call.batch * call.rows * call.out_w):
        row = pixel // call.out_w
        y, image = row % call.rows * call.stride_h - call.pad_top, row // call.rows
        step(call, 2, 1)
        for c in range(call.out_c):
            if c % call.depth_multiplier == 0:
                step(call, 3, 1)
            taps(call, image, y, pixel % call.out_w * call.stride_w - call.pad_left, c)
            load_requantization(call, c, 1)
            step(call, 4, 1)
            store(call, at, call.element)
            at += call.element


@native
def fully_connected(call: NestCall) -> None:
    """One output after another: call, output, mac."""
    depth, item = call.in_c, call.element
    step(call, 1, 1)
    for b in range(call.batch):
        for c in range(call.out_c):
            products(call, call.input + b * depth * item, call.filter + c * depth * call.weight, 7, 3)
            iterations(call, 4, depth)
            load_requantization(call, c, 1)
            step(call, 2, 1)
            store(call, call.output + (b * call.out_c + c) * item, item)


@native
def vector_by_turns(call: NestCall, turn: int) -> None:
    """A vector by two rows at a time, ``turn`` elements in one turn of the loop by words, the rest one by one."""
    depth, channels = call.in_c, call.out_c
    step(call, 1, 1)
    for b in range(call.batch):
        step(call, 2, 1)
        x = call.input + b * depth
        for c in range(0, channels, 2):
            rows = min(2, channels - c)
            level = 3 if rows == 2 else 6
            for size in (4, 1):
                begin, end = (0, depth // turn * turn) if size == 4 else (depth // turn * turn, depth)
                for k in range(begin, end, size):
                    load(call, x + k, size)
                    for i in range(rows):
                        load(call, call.filter + (c + i) * depth + k, size)
                        bank_conflict(call, 14 + rows + size // 4, x + k, call.filter + (c + i) * depth + k)
                    step(call, level + 1 if size == 4 else level + 2, 1)
            iterations(call, 9, depth // turn)
            iterations(call, 12, depth % turn)
            for i in range(rows):
                load_requantization(call, c + i, 1)
                step(call, level, 1)
                store(call, call.output + b * channels + c + i, 1)


@native
def vector_by_rows(call: NestCall) -> None:
    """``cmsis_fully_connected``: call, vector, pair, quad, element, odd, odd_quad, odd_element."""
    vector_by_turns(call, 4)


@native
def unpacked(call: NestCall) -> None:
    """``reference_unpack_s4``, two elements a byte: call, pair, odd."""
    count = call.output_elements
    step(call, 1, 1)
    iterations(call, 4, count // 2)
    for i in range(count // 2):
        load(call, call.input + i, 1)
        step(call, 2, 1)
        store(call, call.output + 2 * i, 1)
        store(call, call.output + 2 * i + 1, 1)
    if count & 1:
        load(call, call.input + count // 2, 1)
        step(call, 3, 1)
        store(call, call.output + count - 1, 1)


@native
def transpose_side(call: NestCall, source: int, to: int, columns: int, matrices: int) -> None:
    """A side of BATCH_MATMUL, stored as ``in_c`` rows: turned, element."""
    item, rows = call.element, call.in_c
    for m in range(matrices):
        for i in range(rows):
            step(call, 2, 1)
            iterations(call, 12, columns)
            for j in range(columns):
                load(call, source, item)
                step(call, 3, 1)
                store(call, to + ((m * columns + j) * rows + i) * item, item)
                source += item


@native
def dot(call: NestCall, left: int, right: int) -> None:
    """A row of the left matrix times a column of the right one: mac."""
    products(call, right, left, 11, 7)
    iterations(call, 8, call.in_c)


@native
def matrices(call: NestCall) -> None:
    """``reference_batch_matmul``: call, turned, element, matrix, row, output, mac. Transposed copies are behind the
    call structure (:mod:`mcusim.model.matrix_shapes` has what the strides say). Not modelled: which matrix a side
    that is broadcast has for which output, where not the first axes are."""
    step(call, 1, 1)
    left, right, copies, target = call.input, call.second_input, call.structure + STRUCTURE, call.output
    left_matrix, right_matrix = call.rows * call.in_c * call.element, call.out_c * call.in_c * call.element
    of_left, of_right = call.input_size // left_matrix, call.second_size // right_matrix
    if call.stride_h > 1:
        transpose_side(call, left, copies, call.rows, of_left)
        left = copies
        copies += call.input_size
    if call.stride_w > 1:
        if call.stride_w == 2:
            transpose_side(call, right, copies, call.out_c, of_right)
        right = copies
    for m in range(call.batch):
        step(call, 4, 1)
        for i in range(call.rows):
            step(call, 5, 1)
            iterations(call, 15, call.out_c)
            for j in range(call.out_c):
                row = left + m * of_left // call.batch * left_matrix + i * call.in_c * call.element
                column = right + m * of_right // call.batch * right_matrix + j * call.in_c * call.element
                dot(call, row, column)
                step(call, 6, 1)
                store(call, target, call.element)
                target += call.element

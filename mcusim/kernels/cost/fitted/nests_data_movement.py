"""Loop nests of operators that select, reorder, repeat, compare or normalise elements, and of TRANSPOSE_CONV.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model; where a copied row comes from (rows are spread evenly over the
input), how often a comparison finds a new largest element.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted.nest import copy, load, load_requantization, step, store
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.native.functions import native


@native
def rows(call: NestCall) -> None:
    """Rows copied one by one, or their elements: call, row, each, (copy, word, byte, shifted)."""
    call.copy_level, call.copy_loops = 4, 8
    step(call, 1, 1)
    size, length = call.output_size, max(1, call.out_c * call.element)
    apart, most = max(1, call.input_size // max(1, size)), max(1, call.input_size)
    for i in range(0, size - length + 1, length):
        step(call, 2, 1)
        if call.stride_w == 1:
            copy(call, call.output + i, call.input + i * apart % most, length)
            continue
        for k in range(call.out_c):
            load(call, call.input + (i + k * call.element) * apart % most, call.element)
            step(call, 3, 1)
            store(call, call.output + i + k * call.element, call.element)


@native
def elements(call: NestCall) -> None:
    """``reference_mirror_pad``: elements copied by bytes: call, row, each."""
    step(call, 1, 1)
    size, length = call.output_size, max(1, call.out_c * call.element)
    apart, most = max(1, call.input_size // max(1, size)), max(1, call.input_size)
    for i in range(0, size - length + 1, length):
        step(call, 2, 1)
        for k in range(length):
            load(call, call.input + (i + k) * apart % most, 1)
            if k % call.element == 0:
                step(call, 3, 1)
            store(call, call.output + i + k, 1)


@native
def compared(call: NestCall) -> None:
    """``reference_arg_max``: call, output, element, larger; the elements of an output are IN_C apart.

    A new largest element comes less and less often, here at powers of two.
    """
    step(call, 1, 1)
    outputs, inner = max(1, call.output_elements), max(1, call.in_c)
    size, item, source = call.input_size // (outputs * call.weight), call.output_size // outputs, call.weight
    for n in range(outputs):
        first = call.input + (n // inner * size * inner + n % inner) * source
        for k in range(size):
            load(call, first + k * inner * source, source)
            step(call, 3, 1)
            if k and k & (k - 1) == 0:
                step(call, 4, 1)
        step(call, 2, 1)
        store(call, call.output + n * item, item)


@native
def reduced(call: NestCall) -> None:
    """``reference_reduce_max``: call, clear, row, element; the output is what it compares with."""
    item = call.element
    outputs = max(1, call.output_size // item)
    step(call, 1, 1)
    for i in range(outputs):
        store(call, call.output + i * item, item)
        step(call, 2, 1)
    for i in range(call.input_size // item):
        if i % call.in_c == 0:
            step(call, 3, 1)
        load(call, call.input + i * item, item)
        load(call, call.output + i % outputs * item, item)
        step(call, 4, 1)


@native
def normalized(call: NestCall) -> None:
    """``reference_l2``: call, row, square, element."""
    item = call.element
    depth = call.out_c
    step(call, 1, 1)
    for index in range(call.output_size // (depth * item)):
        row = index * depth * item
        step(call, 2, 1)
        for i in range(depth):
            load(call, call.input + row + i * item, item)
            step(call, 3, 1)
        for i in range(depth):
            load(call, call.input + row + i * item, item)
            step(call, 4, 1)
            store(call, call.output + row + i * item, item)


@native
def load_sum(call: NestCall, index: int) -> None:
    """One sum: a word, two with activations of 16 bits."""
    words = 2 if call.element == 2 else 1
    for i in range(words):
        load(call, call.scratch + 4 * (words * index + i), 4)


@native
def store_sum(call: NestCall, index: int) -> None:
    """As :func:`load_sum`."""
    words = 2 if call.element == 2 else 1
    for i in range(words):
        store(call, call.scratch + 4 * (words * index + i), 4)


@native
def added_taps(call: NestCall, y: int, x: int, channel: int) -> None:
    """One input element times the filters, added to the sums that it reaches."""
    w = call.filter + channel * call.weight
    for i in range(y, y + call.kernel_h):
        step(call, 4, 1)
        for j in range(x, x + call.kernel_w):
            if i < 0 or i >= call.rows or j < 0 or j >= call.out_w:
                step(call, 5, 1)
            else:
                step(call, 6, 1)
                for c in range(call.out_c):
                    to = (i * call.out_w + j) * call.out_c + c
                    load_sum(call, to)
                    load(call, w + c * call.kernel_h * call.kernel_w * call.in_c * call.weight, call.weight)
                    step(call, 7, 1)
                    store_sum(call, to)
            w += call.in_c * call.weight


@native
def transposed(call: NestCall) -> None:
    """``reference_transpose_conv``: call, clear, input, row, outside, tap, mac, output."""
    outputs = call.rows * call.out_w * call.out_c
    step(call, 1, 1)
    for n in range(call.batch * outputs):
        step(call, 2, 1)
        store_sum(call, n)
    for pixel in range(call.batch * call.in_h * call.in_w):
        row = pixel // call.in_w % call.in_h
        y, x = row * call.stride_h - call.pad_top, pixel % call.in_w * call.stride_w - call.pad_left
        for c in range(call.in_c):
            load(call, call.input + (pixel * call.in_c + c) * call.element, call.element)
            step(call, 3, 1)
            added_taps(call, y, x, c)
    for n in range(call.batch * outputs):
        load_sum(call, n)
        load_requantization(call, n % call.out_c, 1)
        step(call, 8, 1)
        store(call, call.output + n * call.element, call.element)

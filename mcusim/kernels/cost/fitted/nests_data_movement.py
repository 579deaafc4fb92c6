"""Loop nests of operators that select, reorder, repeat, compare or normalise elements, and of TRANSPOSE_CONV.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model; where a copied row comes from (rows are spread evenly over the
input), how often a comparison finds a new largest element.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted.nest import copy, load, load_requantization, step, store
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.memory.state_layout import MemoryState
from mcusim.native.compile import native


@native
def rows(memory: MemoryState, call: NestCall) -> None:
    """Rows copied one by one, or their bytes: call, row, each, (copy, word, byte, shifted)."""
    step(memory, call, 1, 1)
    size, length = call.output_size, max(1, call.out_c * call.element)
    apart, most = max(1, call.input_size // max(1, size)), max(1, call.input_size)
    for i in range(0, size - length + 1, length):
        step(memory, call, 2, 1)
        if call.stride_w == 1:
            copy(memory, call, call.output + i, call.input + i * apart % most, length, 4, 8)
            continue
        for k in range(i, i + length):
            load(memory, call, call.input + k * apart % most, 1)
            step(memory, call, 3, 1)
            store(memory, call, call.output + k, 1)


@native
def compared(memory: MemoryState, call: NestCall) -> None:
    """``reference_arg_max``: call, output, element, larger; the elements of an output are IN_C apart.

    A new largest element is found less and less often, here at powers of two.
    """
    step(memory, call, 1, 1)
    outputs, inner = max(1, call.output_elements), max(1, call.in_c)
    size, item = call.input_size // outputs, call.output_size // outputs
    for n in range(outputs):
        first = call.input + n // inner * size * inner + n % inner
        for k in range(size):
            load(memory, call, first + k * inner, 1)
            step(memory, call, 3, 1)
            if k and k & (k - 1) == 0:
                step(memory, call, 4, 1)
        step(memory, call, 2, 1)
        store(memory, call, call.output + n * item, item)


@native
def reduced(memory: MemoryState, call: NestCall) -> None:
    """``reference_reduce_max``: call, clear, row, element; the output is what it compares with."""
    outputs = max(1, call.output_size)
    step(memory, call, 1, 1)
    for i in range(outputs):
        store(memory, call, call.output + i, 1)
        step(memory, call, 2, 1)
    for i in range(call.input_size):
        if i % call.in_c == 0:
            step(memory, call, 3, 1)
        load(memory, call, call.input + i, 1)
        load(memory, call, call.output + i % outputs, 1)
        step(memory, call, 4, 1)


@native
def normalized(memory: MemoryState, call: NestCall) -> None:
    """``reference_l2``: call, row, square, element."""
    depth = call.out_c
    step(memory, call, 1, 1)
    for row in range(0, call.output_size, depth):
        step(memory, call, 2, 1)
        for i in range(depth):
            load(memory, call, call.input + row + i, 1)
            step(memory, call, 3, 1)
        for i in range(depth):
            load(memory, call, call.input + row + i, 1)
            step(memory, call, 4, 1)
            store(memory, call, call.output + row + i, 1)


@native
def load_sum(memory: MemoryState, call: NestCall, index: int) -> None:
    """One sum: a word, two with activations of 16 bits."""
    for i in range(call.element):
        load(memory, call, call.scratch + 4 * (call.element * index + i), 4)


@native
def store_sum(memory: MemoryState, call: NestCall, index: int) -> None:
    """As :func:`load_sum`."""
    for i in range(call.element):
        store(memory, call, call.scratch + 4 * (call.element * index + i), 4)


@native
def added_taps(memory: MemoryState, call: NestCall, y: int, x: int, channel: int) -> None:
    """One input element times the filters, added to the sums that it reaches."""
    w = call.filter + channel
    for i in range(y, y + call.kernel_h):
        step(memory, call, 4, 1)
        for j in range(x, x + call.kernel_w):
            if i < 0 or i >= call.rows or j < 0 or j >= call.out_w:
                step(memory, call, 5, 1)
            else:
                step(memory, call, 6, 1)
                for c in range(call.out_c):
                    to = (i * call.out_w + j) * call.out_c + c
                    load_sum(memory, call, to)
                    load(memory, call, w + c * call.kernel_h * call.kernel_w * call.in_c, 1)
                    step(memory, call, 7, 1)
                    store_sum(memory, call, to)
            w += call.in_c


@native
def transposed(memory: MemoryState, call: NestCall) -> None:
    """``reference_transpose_conv``: call, clear, input, row, outside, tap, mac, output."""
    outputs = call.rows * call.out_w * call.out_c
    step(memory, call, 1, 1)
    for n in range(call.batch * outputs):
        step(memory, call, 2, 1)
        store_sum(memory, call, n)
    for pixel in range(call.batch * call.in_h * call.in_w):
        row = pixel // call.in_w % call.in_h
        y, x = row * call.stride_h - call.pad_top, pixel % call.in_w * call.stride_w - call.pad_left
        for c in range(call.in_c):
            load(memory, call, call.input + (pixel * call.in_c + c) * call.element, call.element)
            step(memory, call, 3, 1)
            added_taps(memory, call, y, x, c)
    for n in range(call.batch * outputs):
        load_sum(memory, call, n)
        load_requantization(memory, call, n % call.out_c, 1)
        step(memory, call, 8, 1)
        store(memory, call, call.output + n * call.element, call.element)

"""Loop nests of operators that select, reorder, repeat, compare or normalise elements, and of TRANSPOSE_CONV.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`. Not modelled: what
:mod:`mcusim.kernels.cost.fitted.nest` does not model; where a copied row comes from (rows are spread evenly over the
input), how often a comparison finds a new largest element.
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted import nest as N
from mcusim.kernels.cost.fitted.nest import copy, load, load_requantization, step, store
from mcusim.native.compile import State, native


@native
def rows(s: State, p: State) -> None:
    """Rows copied one by one, or their bytes: call, row, each, (copy, word, byte, shifted)."""
    step(s, p, 1, 1)
    size, length = p[N.OUT_SIZE], max(1, p[N.OUT_C] * p[N.ELEMENT])
    apart, most = max(1, p[N.SIZE] // max(1, size)), max(1, p[N.SIZE])
    for i in range(0, size - length + 1, length):
        step(s, p, 2, 1)
        if p[N.SW] == 1:
            copy(s, p, p[N.OUT] + i, p[N.IN] + i * apart % most, length, 4, 8)
            continue
        for k in range(i, i + length):
            load(s, p, p[N.IN] + k * apart % most, 1)
            step(s, p, 3, 1)
            store(s, p, p[N.OUT] + k, 1)


@native
def compared(s: State, p: State) -> None:
    """``reference_arg_max``: call, output, element, larger; the elements of an output are IN_C apart.

    A new largest element is found less and less often, here at powers of two.
    """
    step(s, p, 1, 1)
    outputs, inner = max(1, p[N.ITEM]), max(1, p[N.IN_C])
    size, item = p[N.SIZE] // outputs, p[N.OUT_SIZE] // outputs
    for n in range(outputs):
        first = p[N.IN] + n // inner * size * inner + n % inner
        for k in range(size):
            load(s, p, first + k * inner, 1)
            step(s, p, 3, 1)
            if k and k & (k - 1) == 0:
                step(s, p, 4, 1)
        step(s, p, 2, 1)
        store(s, p, p[N.OUT] + n * item, item)


@native
def reduced(s: State, p: State) -> None:
    """``reference_reduce_max``: call, clear, row, element; the output is what it compares with."""
    outputs = max(1, p[N.OUT_SIZE])
    step(s, p, 1, 1)
    for i in range(outputs):
        store(s, p, p[N.OUT] + i, 1)
        step(s, p, 2, 1)
    for i in range(p[N.SIZE]):
        if i % p[N.IN_C] == 0:
            step(s, p, 3, 1)
        load(s, p, p[N.IN] + i, 1)
        load(s, p, p[N.OUT] + i % outputs, 1)
        step(s, p, 4, 1)


@native
def normalized(s: State, p: State) -> None:
    """``reference_l2``: call, row, square, element."""
    depth = p[N.OUT_C]
    step(s, p, 1, 1)
    for row in range(0, p[N.OUT_SIZE], depth):
        step(s, p, 2, 1)
        for i in range(depth):
            load(s, p, p[N.IN] + row + i, 1)
            step(s, p, 3, 1)
        for i in range(depth):
            load(s, p, p[N.IN] + row + i, 1)
            step(s, p, 4, 1)
            store(s, p, p[N.OUT] + row + i, 1)


@native
def load_sum(s: State, p: State, index: int) -> None:
    """One sum: a word, two with activations of 16 bits."""
    for i in range(p[N.ELEMENT]):
        load(s, p, p[N.SCR] + 4 * (p[N.ELEMENT] * index + i), 4)


@native
def store_sum(s: State, p: State, index: int) -> None:
    """As :func:`load_sum`."""
    for i in range(p[N.ELEMENT]):
        store(s, p, p[N.SCR] + 4 * (p[N.ELEMENT] * index + i), 4)


@native
def added_taps(s: State, p: State, y: int, x: int, channel: int) -> None:
    """One input element times the filters, added to the sums that it reaches."""
    w = p[N.W] + channel
    for i in range(y, y + p[N.KH]):
        step(s, p, 4, 1)
        for j in range(x, x + p[N.KW]):
            if i < 0 or i >= p[N.ROWS] or j < 0 or j >= p[N.OUT_W]:
                step(s, p, 5, 1)
            else:
                step(s, p, 6, 1)
                for c in range(p[N.OUT_C]):
                    to = (i * p[N.OUT_W] + j) * p[N.OUT_C] + c
                    load_sum(s, p, to)
                    load(s, p, w + c * p[N.KH] * p[N.KW] * p[N.IN_C], 1)
                    step(s, p, 7, 1)
                    store_sum(s, p, to)
            w += p[N.IN_C]


@native
def transposed(s: State, p: State) -> None:
    """``reference_transpose_conv``: call, clear, input, row, outside, tap, mac, output."""
    outputs = p[N.ROWS] * p[N.OUT_W] * p[N.OUT_C]
    step(s, p, 1, 1)
    for n in range(p[N.BATCH] * outputs):
        step(s, p, 2, 1)
        store_sum(s, p, n)
    for pixel in range(p[N.BATCH] * p[N.IN_H] * p[N.IN_W]):
        row = pixel // p[N.IN_W] % p[N.IN_H]
        y, x = row * p[N.SH] - p[N.PT], pixel % p[N.IN_W] * p[N.SW] - p[N.PL]
        for c in range(p[N.IN_C]):
            load(s, p, p[N.IN] + (pixel * p[N.IN_C] + c) * p[N.ELEMENT], p[N.ELEMENT])
            step(s, p, 3, 1)
            added_taps(s, p, y, x, c)
    for n in range(p[N.BATCH] * outputs):
        load_sum(s, p, n)
        load_requantization(s, p, n % p[N.OUT_C], 1)
        step(s, p, 8, 1)
        store(s, p, p[N.OUT] + n * p[N.ELEMENT], p[N.ELEMENT])

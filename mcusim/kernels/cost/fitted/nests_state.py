"""Loop nests of operators that keep state: ``sets/reference/svdf.c`` and ``lstm.c``.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`; behind the slots are address and bytes of
what the operator reads and updates, in its own order. Not modelled: what :mod:`mcusim.kernels.cost.fitted.nest` does
not model; the table of the gates' curves; inputs whose first axis is time (their rows are read batch by batch).
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted.nest import iterations, load, step, store
from mcusim.kernels.cost.fitted.nest_call import NestCall
from mcusim.native.functions import native

FEATURES, TIME, STATE = 1, 2, 4  # inputs of SVDF
WEIGHTS, RECURRENT, BIASES, HIDDEN, CELL = 1, 5, 9, 13, 14  # of LSTM


@native
def dot(call: NestCall, first: int, second: int, count: int, item: int) -> None:
    """Products of two rows, ``item`` bytes an element: bytes and floats in the first loop of products, halfwords in the
    last; ``call.dot_level`` each, its loop from the next level on."""
    for i in range(count):
        load(call, first + i * item, item)
        load(call, second + i * item, item)
        step(call, call.dot_level, 1)
    iterations(call, call.dot_level + 1, count)


@native
def svdf(call: NestCall) -> None:
    """``reference_svdf``: call, shift, filter, mac (loop), sum, product of 8 bits (loop), of 16 (loop), unit, part,
    output."""
    step(call, 1, 1)
    filters, window, depth = call.out_c * call.depth_multiplier, call.kernel_w, call.in_c
    rows = call.batch * filters
    item = call.inputs[STATE].size // max(1, rows * window)
    for i in range(rows * window - 1):
        load(call, call.inputs[STATE].address + item * (i + 1), item)
        step(call, 2, 1)
        store(call, call.inputs[STATE].address + item * i, item)
    for row in range(rows):
        features = call.inputs[FEATURES].address + row % filters * depth
        call.dot_level = 4
        dot(call, features, call.input + row // filters * depth, depth, 1)
        step(call, 3, 1)
        store(call, call.inputs[STATE].address + item * ((row + 1) * window - 1), item)
    for row in range(rows):
        states = call.inputs[STATE].address + item * row * window
        weights = call.inputs[TIME].address + item * (row % filters) * window
        call.dot_level = 9 if item == 1 else 13
        dot(call, states, weights, window, item)
        step(call, 8, 1)
        store(call, call.scratch + 4 * row, 4)
    for unit in range(call.batch * call.out_c):
        for r in range(call.depth_multiplier):
            load(call, call.scratch + 4 * (unit * call.depth_multiplier + r), 4)
            step(call, 18, 1)
        step(call, 17, 1)
        store(call, call.scratch + 4 * (rows + unit), 4)
    for unit in range(call.batch * call.out_c):
        load(call, call.scratch + 4 * (rows + unit), 4)
        step(call, 19, 1)
        store(call, call.output + unit, 1)


@native
def gate(call: NestCall, number: int, source: int, hidden: int, to: int) -> None:
    """One gate of one step, its result at ``to``."""
    units, depth, item = call.out_c, call.in_c, call.element
    wide = 2 if item == 1 else item
    more = call.scratch + 3 * wide * call.batch * units
    step(call, 3, 1)
    for u in range(units):
        dot(call, call.inputs[WEIGHTS + number].address + u * depth * item, source, depth, item)
        load(call, call.inputs[BIASES + number].address + 4 * u, 4)
        step(call, 4, 1)
        store(call, to + wide * u, wide)
    for u in range(units):
        dot(call, call.inputs[RECURRENT + number].address + u * units * item, hidden, units, item)
        step(call, 4, 1)
        store(call, more + wide * u, wide)
    for u in range(units):
        load(call, to + wide * u, wide)
        load(call, more + wide * u, wide)
        step(call, 9, 1)
        store(call, to + wide * u, wide)


@native
def lstm(call: NestCall) -> None:
    """``reference_lstm``: call, step, gate, row, mac (loop), curve, cell, hidden, copy."""
    step(call, 1, 1)
    units, item = call.out_c, call.element
    wide = 2 if item == 1 else item
    room, call.dot_level = wide * call.batch * units, 5
    for row in range(call.batch * call.rows):
        batch = row // call.rows
        hidden = call.inputs[HIDDEN].address + item * batch * units
        cell = call.inputs[CELL].address + wide * batch * units
        source, scratch = call.input + row * call.in_c * item, call.scratch
        step(call, 2, 1)
        gate(call, 1, source, hidden, scratch)
        gate(call, 0, source, hidden, scratch + room)
        gate(call, 2, source, hidden, scratch + 2 * room)
        for u in range(units):
            load(call, cell + wide * u, wide)
            for i in range(3):
                load(call, scratch + i * room + wide * u, wide)
            step(call, 10, 1)
            store(call, cell + wide * u, wide)
        gate(call, 3, source, hidden, scratch + room)
        for u in range(units):
            load(call, cell + wide * u, wide)
            load(call, scratch + room + wide * u, wide)
            step(call, 11, 1)
            store(call, hidden + item * u, item)
        for u in range(units):
            load(call, hidden + item * u, item)
            step(call, 12, 1)
            store(call, call.output + (row * units + u) * item, item)

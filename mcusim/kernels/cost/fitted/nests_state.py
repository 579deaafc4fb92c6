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
def dot_bytes(call: NestCall, first: int, second: int, count: int, level: int) -> None:
    """Products of two rows of bytes: ``level`` each, its loop from the next level on."""
    for i in range(count):
        load(call, first + i, 1)
        load(call, second + i, 1)
        step(call, level, 1)
    iterations(call, level + 1, count)


@native
def dot_halfwords(call: NestCall, first: int, second: int, count: int, level: int) -> None:
    """:func:`dot_bytes` of halfwords."""
    for i in range(count):
        load(call, first + 2 * i, 2)
        load(call, second + 2 * i, 2)
        step(call, level, 1)
    iterations(call, level + 1, count)


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
        dot_bytes(call, features, call.input + row // filters * depth, depth, 4)
        step(call, 3, 1)
        store(call, call.inputs[STATE].address + item * ((row + 1) * window - 1), item)
    for row in range(rows):
        states = call.inputs[STATE].address + item * row * window
        weights = call.inputs[TIME].address + item * (row % filters) * window
        if item == 1:
            dot_bytes(call, states, weights, window, 9)
        else:
            dot_halfwords(call, states, weights, window, 13)
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
    units, depth, more = call.out_c, call.in_c, call.scratch + 6 * call.batch * call.out_c
    step(call, 3, 1)
    for u in range(units):
        dot_bytes(call, call.inputs[WEIGHTS + number].address + u * depth, source, depth, 5)
        load(call, call.inputs[BIASES + number].address + 4 * u, 4)
        step(call, 4, 1)
        store(call, to + 2 * u, 2)
    for u in range(units):
        dot_bytes(call, call.inputs[RECURRENT + number].address + u * units, hidden, units, 5)
        step(call, 4, 1)
        store(call, more + 2 * u, 2)
    for u in range(units):
        load(call, to + 2 * u, 2)
        load(call, more + 2 * u, 2)
        step(call, 9, 1)
        store(call, to + 2 * u, 2)


@native
def lstm(call: NestCall) -> None:
    """``reference_lstm``: call, step, gate, row, mac (loop), curve, cell, hidden, copy."""
    step(call, 1, 1)
    units, room = call.out_c, 2 * call.batch * call.out_c
    for row in range(call.batch * call.rows):
        batch = row // call.rows
        hidden, cell = call.inputs[HIDDEN].address + batch * units, call.inputs[CELL].address + 2 * batch * units
        source, scratch = call.input + row * call.in_c, call.scratch
        step(call, 2, 1)
        gate(call, 1, source, hidden, scratch)
        gate(call, 0, source, hidden, scratch + room)
        gate(call, 2, source, hidden, scratch + 2 * room)
        for u in range(units):
            load(call, cell + 2 * u, 2)
            for i in range(3):
                load(call, scratch + i * room + 2 * u, 2)
            step(call, 10, 1)
            store(call, cell + 2 * u, 2)
        gate(call, 3, source, hidden, scratch + room)
        for u in range(units):
            load(call, cell + 2 * u, 2)
            load(call, scratch + room + 2 * u, 2)
            step(call, 11, 1)
            store(call, hidden + u, 1)
        for u in range(units):
            load(call, hidden + u, 1)
            step(call, 12, 1)
            store(call, call.output + row * units + u, 1)

"""Loop nests of operators that keep state: ``sets/reference/svdf.c`` and ``lstm.c``.

Each function's levels are in :data:`mcusim.kernels.cost.fitted.kinds.KINDS`; behind the slots are address and bytes of
what the operator reads and updates, in its own order. Not modelled: what :mod:`mcusim.kernels.cost.fitted.nest` does
not model; the table of the gates' curves; inputs whose first axis is time (their rows are read batch by batch).
"""

from __future__ import annotations

from mcusim.kernels.cost.fitted import nest as N
from mcusim.kernels.cost.fitted.nest import iterations, load, step, store
from mcusim.native.compile import State, native

FEATURES, TIME, STATE = (N.SLOTS + 2 * i for i in (1, 2, 4))
WEIGHTS, RECURRENT, BIASES, HIDDEN, CELL = (N.SLOTS + 2 * i for i in (1, 5, 9, 13, 14))


@native
def dot(s: State, p: State, first: int, second: int, count: int, item: int, level: int) -> None:
    """Products of two rows: ``level`` each, its loop from the next level on."""
    for i in range(count):
        load(s, p, first + i, 1) if item == 1 else load(s, p, first + 2 * i, 2)
        load(s, p, second + i, 1) if item == 1 else load(s, p, second + 2 * i, 2)
        step(s, p, level, 1)
    iterations(s, p, level + 1, count)


@native
def svdf(s: State, p: State) -> None:
    """``reference_svdf``: call, shift, filter, mac (loop), sum, product of 8 bits (loop), of 16 (loop), unit, part,
    output."""
    step(s, p, 1, 1)
    filters, memory, depth = p[N.OUT_C] * p[N.DM], p[N.KW], p[N.IN_C]
    rows = p[N.BATCH] * filters
    item = p[STATE + 1] // max(1, rows * memory)
    for i in range(rows * memory - 1):
        load(s, p, p[STATE] + item * (i + 1), item)
        step(s, p, 2, 1)
        store(s, p, p[STATE] + item * i, item)
    for row in range(rows):
        dot(s, p, p[FEATURES] + row % filters * depth, p[N.IN] + row // filters * depth, depth, 1, 4)
        step(s, p, 3, 1)
        store(s, p, p[STATE] + item * ((row + 1) * memory - 1), item)
    for row in range(rows):
        at, weights = p[STATE] + item * row * memory, p[TIME] + item * (row % filters) * memory
        dot(s, p, at, weights, memory, item, 9 if item == 1 else 13)
        step(s, p, 8, 1)
        store(s, p, p[N.SCR] + 4 * row, 4)
    for unit in range(p[N.BATCH] * p[N.OUT_C]):
        for r in range(p[N.DM]):
            load(s, p, p[N.SCR] + 4 * (unit * p[N.DM] + r), 4)
            step(s, p, 18, 1)
        step(s, p, 17, 1)
        store(s, p, p[N.SCR] + 4 * (rows + unit), 4)
    for unit in range(p[N.BATCH] * p[N.OUT_C]):
        load(s, p, p[N.SCR] + 4 * (rows + unit), 4)
        step(s, p, 19, 1)
        store(s, p, p[N.OUT] + unit, 1)


@native
def gate(s: State, p: State, number: int, source: int, hidden: int, to: int) -> None:
    """One gate of one step, its result at ``to``."""
    units, depth, more = p[N.OUT_C], p[N.IN_C], p[N.SCR] + 6 * p[N.BATCH] * p[N.OUT_C]
    step(s, p, 3, 1)
    for u in range(units):
        dot(s, p, p[WEIGHTS + 2 * number] + u * depth, source, depth, 1, 5)
        load(s, p, p[BIASES + 2 * number] + 4 * u, 4)
        step(s, p, 4, 1)
        store(s, p, to + 2 * u, 2)
    for u in range(units):
        dot(s, p, p[RECURRENT + 2 * number] + u * units, hidden, units, 1, 5)
        step(s, p, 4, 1)
        store(s, p, more + 2 * u, 2)
    for u in range(units):
        load(s, p, to + 2 * u, 2)
        load(s, p, more + 2 * u, 2)
        step(s, p, 9, 1)
        store(s, p, to + 2 * u, 2)


@native
def lstm(s: State, p: State) -> None:
    """``reference_lstm``: call, step, gate, row, mac (loop), curve, cell, hidden, copy."""
    step(s, p, 1, 1)
    units, room = p[N.OUT_C], 2 * p[N.BATCH] * p[N.OUT_C]
    for row in range(p[N.BATCH] * p[N.ROWS]):
        batch = row // p[N.ROWS]
        hidden, cell = p[HIDDEN] + batch * units, p[CELL] + 2 * batch * units
        source, scratch = p[N.IN] + row * p[N.IN_C], p[N.SCR]
        step(s, p, 2, 1)
        gate(s, p, 1, source, hidden, scratch)
        gate(s, p, 0, source, hidden, scratch + room)
        gate(s, p, 2, source, hidden, scratch + 2 * room)
        for u in range(units):
            load(s, p, cell + 2 * u, 2)
            for i in range(3):
                load(s, p, scratch + i * room + 2 * u, 2)
            step(s, p, 10, 1)
            store(s, p, cell + 2 * u, 2)
        gate(s, p, 3, source, hidden, scratch + room)
        for u in range(units):
            load(s, p, cell + 2 * u, 2)
            load(s, p, scratch + room + 2 * u, 2)
            step(s, p, 11, 1)
            store(s, p, hidden + u, 1)
        for u in range(units):
            load(s, p, hidden + u, 1)
            step(s, p, 12, 1)
            store(s, p, p[N.OUT] + row * units + u, 1)

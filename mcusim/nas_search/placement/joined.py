"""Networks joined of parts and placed, native: bytes of an arena by the planners' own rules.

:func:`greedy_bytes` is :func:`mcusim.plan.allocators.greedy.greedy_by_size`, :func:`first_fit_bytes`
:func:`mcusim.plan.static_array.first_fit`; tests hold both to them. Not modelled: other allocators, tensors that are
written over along more than one step.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mcusim.nas_search.placement import placement_layout as S
from mcusim.native.compile import State, native

FIRST, LAST, BYTES, FIRST_2, LAST_2, BYTES_2, OFFSET, TAKEN = range(8)
WIDTH = 8  # figures of a block: two phases, its offset, whether it is placed
ARENA, ALONE, MACS, STORED, TABLES, SHARED, RUNTIME, SYMBOLS = range(8)
FIGURES = 8
ALIGN = 16

Array = np.ndarray[Any, np.dtype[np.int64]]


@native
def _size(b: State, block: int) -> int:
    size: int = max(b[block + BYTES], b[block + BYTES_2])
    return size


@native
def _next(b: State, n: int, last_first: int) -> int:
    """The largest block that is not placed; of equal ones the first, or the last."""
    found, size = -1, -1
    for i in range(n):
        block = i * WIDTH
        if b[block + TAKEN] == 0:
            own = _size(b, block)
            if own > size or (own == size and last_first):
                found, size = block, own
    return found


@native
def _end(b: State, new: int, old: int) -> int:
    """The end of a phase of ``old`` that overlaps ``new`` where that is; its offset where none does."""
    offset, taken = b[new + OFFSET], b[old + OFFSET]
    end: int = offset
    for p in range(0, 6, 3):
        size = b[new + p + BYTES]
        if size == 0 and p > 0:
            continue
        for q in range(0, 6, 3):
            other = b[old + q + BYTES]
            if other == 0 and q > 0:
                continue
            together = b[new + p + FIRST] <= b[old + q + LAST] and b[old + q + FIRST] <= b[new + p + LAST]
            if together and taken < offset + size and offset < taken + other:
                end = max(end, taken + other)
    return end


@native
def _placed(b: State, n: int, last_first: int) -> int:
    """Each block, by falling size, at the lowest offset that is free while it lives; the end of all."""
    total = 0
    for i in range(n):
        b[i * WIDTH + TAKEN] = 0
    for _ in range(n):
        new = _next(b, n, last_first)
        b[new + OFFSET] = 0
        moved = 1
        while moved:
            moved, furthest = 0, b[new + OFFSET]
            for i in range(n):
                if b[i * WIDTH + TAKEN]:
                    furthest = max(furthest, _end(b, new, i * WIDTH))
            if furthest > b[new + OFFSET]:
                b[new + OFFSET] = furthest
                moved = 1
        b[new + TAKEN] = 1
        total = max(total, b[new + OFFSET] + _size(b, new))
    return total


@native
def first_fit_bytes(b: State, n: int) -> int:
    """The array of ``n`` blocks of ``b``, byte by byte."""
    return _placed(b, n, 0)


@native
def greedy_bytes(b: State, n: int) -> int:
    """The arena of ``n`` blocks of ``b``, each rounded up to a multiple of the alignment."""
    for i in range(n):
        b[i * WIDTH + BYTES] = (b[i * WIDTH + BYTES] + ALIGN - 1) // ALIGN * ALIGN
    return _placed(b, n, 1)


@native
def _block(b: State, n: int, first: int, last: int, size: int) -> None:
    block = n * WIDTH
    b[block + FIRST], b[block + LAST], b[block + BYTES] = first, last, size
    b[block + FIRST_2], b[block + LAST_2], b[block + BYTES_2] = 0, 0, 0


@native
def _joined(t: State, ids: State, at: int, count: int, b: State, out: State, o: int, row: int) -> int:
    """The blocks of a network whose parts are ``ids[at : at + count]``, as they are made; sums of figures in ``out``
    from ``o`` on."""
    n, step, made = 1, 0, 0  # the network's input is block 0, its bytes are there
    for k in range(count):
        part = ids[at + k] * row
        b[made * WIDTH + LAST] = step + t[part + S.INPUT_LAST]
        for i in range(t[part + S.COUNT]):
            inner = part + S.FIELDS + i * S.BLOCK
            _block(b, n, step + t[inner], step + t[inner + 1], t[inner + 2])
            if t[inner + 5]:
                block = n * WIDTH
                b[block + FIRST_2], b[block + LAST_2] = step + t[inner + 3], step + t[inner + 4]
                b[block + BYTES_2] = t[inner + 5]
            n += 1
        made = n
        step += t[part + S.STEPS]
        _block(b, n, step - t[part + S.STEPS] + t[part + S.OUT_FIRST], step - 1, t[part + S.OUT_BYTES])
        n += 1
        out[o + MACS] += t[part + S.MACS]
        out[o + STORED] += t[part + S.STORED]
        out[o + TABLES] += t[part + S.TABLES]
        out[o + SHARED] = max(out[o + SHARED], t[part + S.SHARED])
        out[o + RUNTIME] += t[part + S.RUNTIME]
        out[o + SYMBOLS] |= t[part + S.SYMBOLS]
    return n


@native
def _scratch(t: State, ids: State, at: int, count: int, b: State, n: int, row: int) -> int:
    """The kernels' scratch behind the blocks."""
    step = 0
    for k in range(count):
        part = ids[at + k] * row
        for i in range(t[part + S.BUFFERS]):
            buffer = part + S.SCRATCH + 2 * i
            when = step + t[buffer]
            _block(b, n, when, when, t[buffer + 1])
            n += 1
        step += t[part + S.STEPS]
    return n


@native
def figures_of(t: State, ids: State, counts: State, b: State, out: State, networks: int, row: int, array: int) -> None:
    """Figures of ``networks``, each of ``counts`` parts, whose ``ids`` follow one another; ``array``: a static array
    byte by byte, else an interpreter's arena."""
    at = 0
    for number in range(networks):
        own = number * FIGURES
        size = b[BYTES]
        _block(b, 0, 0, 0, size)
        n = _joined(t, ids, at, counts[number], b, out, own, row)
        if array:
            out[own + ARENA] = first_fit_bytes(b, n)
        else:
            n = _scratch(t, ids, at, counts[number], b, n, row)
            out[own + ARENA] = greedy_bytes(b, n)
        b[BYTES] = size
        at += counts[number]

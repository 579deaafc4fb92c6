"""Hypothesis strategies for programs that keep every rule of the file format (and mean nothing)."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from hypothesis import strategies as st

from mcusim.model import Geometry, Tile
from mcusim.program.program import (
    Buffer,
    BufferKind,
    Compute,
    Header,
    Maintain,
    MemoryParts,
    Operand,
    OperatorInfo,
    Program,
    Role,
    Span,
    Task,
    Transfer,
)

names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
texts = st.text(st.characters(codec="utf-8"), max_size=20)
counts = st.integers(0, 1000)
positive = st.integers(1, 100)
spans = st.builds(Span, names, st.integers(0, 1 << 31), st.integers(1, 1 << 20))
scalars = st.one_of(
    st.none(), st.booleans(), st.integers(-(1 << 62), 1 << 62), texts, st.floats(allow_nan=False, allow_infinity=False)
)
options = st.dictionaries(texts, st.one_of(scalars, st.lists(scalars, max_size=3)), max_size=4)


@st.composite
def buffers(draw: st.DrawFn) -> Buffer:
    first = draw(st.integers(0, 2))
    kind = draw(st.sampled_from(get_args(BufferKind)))
    return Buffer(draw(texts), kind, draw(spans), first, draw(st.integers(first, 2)))


@st.composite
def headers(draw: st.DrawFn) -> Header:
    operators = tuple(OperatorInfo(i, draw(texts), draw(counts)) for i in range(3))
    memory = MemoryParts(*draw(st.lists(counts, min_size=6, max_size=6)), draw(st.none() | counts))
    words = draw(st.lists(texts, min_size=5, max_size=5))
    peak = draw(st.dictionaries(names, counts, max_size=3))
    found = tuple(draw(st.lists(buffers(), max_size=3)))
    notes = tuple(draw(st.lists(texts, max_size=2)))
    chosen = draw(options) | draw(
        st.just({}) | st.fixed_dictionaries({"set": st.dictionaries(texts, texts, max_size=2)})
    )
    return Header(*words, operators, memory, peak, found, chosen, notes, draw(st.booleans()))


@st.composite
def geometries(draw: st.DrawFn) -> Geometry:
    numbers = draw(st.lists(positive, min_size=13, max_size=13))
    pads = draw(st.lists(st.integers(0, 5), min_size=4, max_size=4))
    return Geometry(
        draw(texts), *numbers, *pads, *draw(st.lists(positive, min_size=2, max_size=2)), draw(st.integers(1, 4))
    )


@st.composite
def tasks(draw: st.DrawFn, number: int, earlier: tuple[int, ...]) -> Task:
    after = tuple(draw(st.lists(st.sampled_from(earlier), max_size=3, unique=True))) if earlier else ()
    operator, kind = draw(st.integers(0, 2)), draw(st.sampled_from(["compute", "transfer", "maintain"]))
    if kind == "maintain":
        action = draw(st.sampled_from(["clean", "invalidate", "clean+invalidate"]))
        return Maintain(number, operator, draw(counts), action, draw(spans), after)
    if kind == "transfer":
        source, target = draw(spans), draw(spans)
        target = replace(target, bytes=source.bytes)
        what = draw(st.sampled_from(["input", "input1", "filter", "bias", "multiplier", "shift", "output"]))
        lane, part = f"dma2.s{draw(st.integers(0, 15))}", draw(st.integers(0, 9))
        rest = (draw(counts), part, part + draw(positive), draw(st.integers(0, 255)), after)
        return Transfer(number, lane, operator, draw(counts), what, source, target, *rest)
    g = draw(geometries())
    out_row, in_row = draw(st.integers(0, g.out_h)), draw(st.integers(0, g.in_h))
    rows = Tile(out_row, draw(st.integers(0, g.out_h - out_row)), in_row, draw(st.integers(0, g.in_h - in_row)))
    operands = st.builds(Operand, st.sampled_from(get_args(Role)), spans, st.sampled_from(["r", "w", "rw"]))
    tile = draw(counts)
    return Compute(number, operator, tile, tile + 1, g, rows, tuple(draw(st.lists(operands, max_size=4))), after)


@st.composite
def programs(draw: st.DrawFn) -> Program:
    numbers = draw(st.lists(counts, max_size=5, unique=True))
    return Program(draw(headers()), tuple(draw(tasks(n, tuple(numbers[:i]))) for i, n in enumerate(numbers)))

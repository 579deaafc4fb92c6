"""Faults that can be put into sample programs; task ids are those of the sample that make_broken_traces.py names."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcusim.model.geometry import Tile
from mcusim.plan import Program
from mcusim.plan.program import Buffer, Compute, Maintain, Span, Task, Transfer


def changed(program: Program, number: int, change: Callable[[Any], Task | None]) -> Program:
    """Task ``number`` changed; None drops it and the edges to it."""
    tasks = [change(task) if task.id == number else task for task in program.tasks]
    kept = {task.id for task in tasks if task is not None}
    left = [replace(t, after=tuple(a for a in t.after if a in kept)) for t in tasks if t is not None]
    return replace(program, tasks=tuple(left))


def without_edge(program: Program, number: int, to: int) -> Program:
    """Task ``number`` no longer waits for task ``to``."""
    return changed(program, number, lambda t: replace(t, after=tuple(a for a in t.after if a != to)))


def with_edge(program: Program, number: int, to: int) -> Program:
    return changed(program, number, lambda t: replace(t, after=tuple(sorted({*t.after, to}))))


def placed(program: Program, low: int, high: int, target: int, region: str) -> Program:
    """Everything that begins at ``low`` to below ``high`` moved so that ``low`` comes to ``target``."""

    def there(span: Span) -> Span:
        return Span(region, span.address - low + target, span.bytes) if low <= span.address < high else span

    def task(one: Task) -> Task:
        if isinstance(one, Compute):
            return replace(one, operands=tuple(replace(o, span=there(o.span)) for o in one.operands))
        if isinstance(one, Transfer):
            return replace(one, source=there(one.source), destination=there(one.destination))
        return replace(one, span=there(one.span))

    def buffer(one: Buffer) -> Buffer:
        return replace(one, span=there(one.span))

    header = replace(program.header, buffers=tuple(buffer(b) for b in program.header.buffers))
    return Program(header, tuple(task(t) for t in program.tasks))


def buffer_span(program: Program, name: str) -> Span:
    return next(b.span for b in program.header.buffers if b.name == name)


def shortened(span: Span, size: int) -> Span:
    return replace(span, bytes=span.bytes - size)


def operand(call: Compute, role: str, change: Callable[[Span], Span]) -> Compute:
    """``call`` with the span of one operand changed."""
    found = [replace(o, span=change(o.span)) if o.role == role else o for o in call.operands]
    return replace(call, operands=tuple(found))


def swapped(program: Program) -> Program:
    """Tile 1's call reads the buffer that holds tile 0."""
    other = buffer_span(program, "tile0").address
    return changed(program, 8, lambda t: operand(t, "input0", lambda s: replace(s, address=other)))


def no_halo(program: Program) -> Program:
    """Tile 0 without the last of its rows, which only its lowest windows reach."""
    row = 32 * 16
    cut = changed(
        program,
        4,
        lambda t: replace(t, source=shortened(t.source, row), destination=shortened(t.destination, row)),
    )
    short = changed(cut, 6, lambda t: operand(t, "input0", lambda s: shortened(s, row)))
    return changed(short, 6, lambda t: replace(t, rows=replace(t.rows, in_rows=t.rows.in_rows - 1)))


def last_tile(program: Program) -> Program:
    """The last tile's call one output row short, as if all tiles were equally high."""
    row = 32 * 8
    short = changed(program, 11, lambda t: operand(t, "output", lambda s: shortened(s, row)))
    return changed(short, 11, lambda t: replace(t, rows=Tile(49, 14, 48, 16)))


def early_invalidate(program: Program) -> Program:
    return with_edge(changed(program, 14, lambda t: replace(t, after=())), 15, 8)


def no_invalidate(program: Program) -> Program:
    return with_edge(changed(program, 14, lambda t: None), 15, 8)


def late_clean(program: Program) -> Program:
    """The clean comes in front of the call whose output it is meant for."""
    clean = next(t for t in program.tasks if t.id == 21)
    rest = [t for t in program.tasks if t.id != 21]
    at = next(i for i, t in enumerate(rest) if t.id == 15)
    rest.insert(at, replace(clean, after=()))
    return with_edge(replace(program, tasks=tuple(rest)), 22, 15)


def shared_edge(program: Program) -> Program:
    """Scratch ends, and the array of shifts begins, inside one line."""
    scratch, shift = buffer_span(program, "scratch"), buffer_span(program, "shift")
    down = placed(program, scratch.address, scratch.end, scratch.address + 8, scratch.region)
    return placed(down, shift.address, shift.end, scratch.end + 16, shift.region)


def overlapping(program: Program) -> Program:
    """Tile buffers of 8 KiB for tiles of 9 KiB."""
    second = buffer_span(program, "tile1")
    return placed(program, second.address, second.end, second.address - 1024, second.region)


def unsplit(program: Program) -> Program:
    """Both parts of tile 0 in one transfer."""

    def whole(t: Transfer) -> Transfer:
        size = t.source.bytes + 8193
        return replace(t, source=replace(t.source, bytes=size), destination=replace(t.destination, bytes=size), parts=1)

    one = changed(program, 4, whole)
    waits = [t.id for t in program.tasks if 5 in t.after]
    for number in waits:
        one = with_edge(one, number, 4)
    return changed(one, 5, lambda t: None)


def in_region(name: str, region: str, base: int) -> Callable[[Program], Program]:
    """Overlay buffer ``name`` in another memory."""

    def fault(program: Program) -> Program:
        span = buffer_span(program, name)
        return placed(program, span.address, span.end, base, region)

    return fault


def short_transfer(program: Program) -> Program:
    """The second transfer stops one row early."""
    row = 32 * 16
    return changed(
        program,
        9,
        lambda t: replace(t, source=shortened(t.source, row), destination=shortened(t.destination, row)),
    )


def no_clean(program: Program) -> Program:
    assert isinstance(next(t for t in program.tasks if t.id == 7), Maintain)
    return changed(program, 7, lambda t: None)

"""Ways to spoil a program: each returns a changed copy. Task ids are those of the sample it is used on."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from mcusim.program import Program
from mcusim.program.program import Buffer, Compute, Span, Task, Transfer

Fault = Callable[[Program], Program]


def all_of(*faults: Fault) -> Fault:
    """One fault that takes several changes."""

    def fault(program: Program) -> Program:
        for one in faults:
            program = one(program)
        return program

    return fault


def changed(number: int, change: Callable[[Any], Task | None]) -> Fault:
    """Task ``number`` changed; None drops it and the edges to it."""

    def fault(program: Program) -> Program:
        assert any(task.id == number for task in program.tasks)
        tasks = [change(task) if task.id == number else task for task in program.tasks]
        kept = {task.id for task in tasks if task is not None}
        left = [replace(t, after=tuple(a for a in t.after if a in kept)) for t in tasks if t is not None]
        return replace(program, tasks=tuple(left))

    return fault


def waiting(number: int, *on: int) -> Fault:
    """Task ``number`` waits for the tasks ``on`` and for no others."""
    return changed(number, lambda t: replace(t, after=on))


def dropped(number: int) -> Fault:
    """Without task ``number``; what waited for it waits for what it waited for."""

    def fault(program: Program) -> Program:
        gone = next(task for task in program.tasks if task.id == number)
        tasks = [t for t in program.tasks if t.id != number]
        return replace(program, tasks=tuple(_bypassing(t, gone) for t in tasks))

    return fault


def invalidating(number: int) -> Fault:
    """Maintenance ``number`` an invalidate."""
    return changed(number, lambda t: replace(t, action="invalidate"))


def _bypassing(task: Task, gone: Task) -> Task:
    if gone.id not in task.after:
        return task
    return replace(task, after=tuple(sorted({*task.after, *gone.after} - {gone.id})))


def moved(number: int, before: int, *on: int) -> Fault:
    """Task ``number`` in the list in front of task ``before``, waiting for the tasks ``on``."""

    def fault(program: Program) -> Program:
        one = next(t for t in program.tasks if t.id == number)
        rest = [t for t in program.tasks if t.id != number]
        rest.insert(next(i for i, t in enumerate(rest) if t.id == before), replace(one, after=on))
        return replace(program, tasks=tuple(rest))

    return fault


def placed(low: int, high: int, target: int, region: str) -> Fault:
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

    def fault(program: Program) -> Program:
        header = replace(program.header, buffers=tuple(buffer(b) for b in program.header.buffers))
        return replace(program, header=header, tasks=tuple(task(t) for t in program.tasks))

    return fault


def span_of(program: Program, name: str) -> Span:
    """The buffer of that name."""
    return next(b.span for b in program.header.buffers if b.name == name)


def at(name: str, address: int, region: str | None = None) -> Fault:
    """Buffer ``name``, and all that uses it, at another address."""

    def fault(program: Program) -> Program:
        span = span_of(program, name)
        return placed(span.address, span.end, address, region or span.region)(program)

    return fault


def lower(name: str, size: int) -> Fault:
    """Buffer ``name`` that many bytes lower."""
    return lambda program: at(name, span_of(program, name).address - size)(program)


def operand(number: int, role: str, change: Callable[[Span], Span]) -> Fault:
    """The operand ``role`` of call ``number`` with another span."""

    def call(task: Compute) -> Compute:
        found = [replace(o, span=change(o.span)) if o.role == role else o for o in task.operands]
        return replace(task, operands=tuple(found))

    return changed(number, call)


def in_buffer(number: int, role: str, name: str, offset: int = 0) -> Fault:
    """The operand ``role`` of call ``number`` in buffer ``name``."""

    def fault(program: Program) -> Program:
        span = span_of(program, name)
        there = lambda old: Span(span.region, span.address + offset, old.bytes)  # noqa: E731
        return operand(number, role, there)(program)

    return fault


def shorter(number: int, size: int) -> Fault:
    """Transfer ``number`` without its last ``size`` bytes."""

    def ends(task: Transfer) -> Transfer:
        less = [replace(span, bytes=span.bytes - size) for span in (task.source, task.destination)]
        return replace(task, source=less[0], destination=less[1])

    return changed(number, ends)


def rows(number: int, **values: int) -> Fault:
    """Call ``number`` with other rows."""
    return changed(number, lambda t: replace(t, rows=replace(t.rows, **values)))


def less(number: int, role: str, size: int) -> Fault:
    """The operand ``role`` of call ``number`` without its last ``size`` bytes."""
    return operand(number, role, lambda s: replace(s, bytes=s.bytes - size))


def joined(number: int, second: int) -> Fault:
    """Two parts of a request as one transfer."""

    def fault(program: Program) -> Program:
        other = next(t for t in program.tasks if t.id == second)
        assert isinstance(other, Transfer)
        more = other.source.bytes

        def whole(t: Transfer) -> Transfer:
            ends = [replace(span, bytes=span.bytes + more) for span in (t.source, t.destination)]
            return replace(t, source=ends[0], destination=ends[1], parts=1)

        tasks = [
            replace(t, after=tuple(sorted({number if a == second else a for a in t.after}))) for t in program.tasks
        ]
        return all_of(changed(number, whole), changed(second, lambda t: None))(replace(program, tasks=tuple(tasks)))

    return fault


def source(number: int, name: str, offset: int = 0) -> Fault:
    """Transfer ``number`` copies from buffer ``name``."""

    def fault(program: Program) -> Program:
        span = span_of(program, name)
        there = Span(span.region, span.address + offset, 0)
        return changed(number, lambda t: replace(t, source=replace(there, bytes=t.source.bytes)))(program)

    return fault


def destination(number: int, name: str) -> Fault:
    """Transfer ``number`` copies into buffer ``name``."""

    def fault(program: Program) -> Program:
        span = span_of(program, name)
        return changed(number, lambda t: replace(t, destination=replace(span, bytes=t.destination.bytes)))(program)

    return fault


def priorities(program: Program) -> Program:
    """High and low exchanged."""
    highest = max(t.priority for t in program.tasks if isinstance(t, Transfer))
    tasks = [replace(t, priority=highest - t.priority) if isinstance(t, Transfer) else t for t in program.tasks]
    return replace(program, tasks=tuple(tasks))

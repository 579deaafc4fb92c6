"""Random faults in a program, and what a diagnosis of each has to say."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

from mcusim.program.program import Compute, Maintain, Operand, Program, Span, Task, Transfer
from mcusim.verification.proof import Finding
from tests.support.programs.plan_proof import happens_before, overlap

ORDER = {"unordered", "missing-clean", "missing-invalidate", "dirty-target", "shared-line", "lost-store"}
DATA = {"wrong-data", "unwritten"}
CLEANED, STALE = {"missing-clean"}, {"missing-invalidate"}
Right = Callable[[Finding], bool]


@dataclass(frozen=True)
class Fault:
    name: str
    program: Program
    right: Right  # does a finding have the right rule and the tasks that the fault lies between


def with_tasks(program: Program, change: dict[int, Task | None]) -> Program:
    """Tasks replaced by id; None drops one, and what waited for it does not any more."""
    tasks = [change.get(task.id, task) for task in program.tasks]
    gone = {number for number, task in change.items() if task is None}
    left = [replace(t, after=tuple(a for a in t.after if a not in gone)) for t in tasks if t is not None]
    return replace(program, tasks=tuple(left))


def drop_edge(program: Program, rng: random.Random) -> Fault:
    """Named are two tasks between which the edge stood: one up to its start, one from its end on."""
    task = rng.choice([t for t in program.tasks if t.after])
    edge = rng.choice(task.after)
    known, place = happens_before(program), {t.id: i for i, t in enumerate(program.tasks)}
    lane = {t.id: t.lane for t in program.tasks}

    def over(first: int, second: int) -> bool:
        return first == second or known[place[second]].get(lane[first], -1) >= place[first]

    def right(f: Finding) -> bool:
        between = any(over(a, edge) for a in f.tasks) and any(over(task.id, b) for b in f.tasks)
        return f.rule in ORDER and between

    after = tuple(a for a in task.after if a != edge)
    return Fault(f"edge {edge} -> {task.id}", with_tasks(program, {task.id: replace(task, after=after)}), right)


def drop_maintenance(program: Program, rng: random.Random) -> Fault | None:
    found = [t for t in program.tasks if isinstance(t, Maintain)]
    if not found:
        return None
    task = rng.choice(found)
    core = [t for t in program.tasks if t.lane == "core"]
    place = core.index(task)
    before = [t.id for t in core[:place]][-1:]
    change: dict[int, Task | None] = {t.id: _instead(t, task.id, before) for t in program.tasks if task.id in t.after}
    for waiting in core[place + 1 : place + 2]:  # what it waited for is waited for all the same
        known = change.get(waiting.id) or waiting
        change[waiting.id] = replace(known, after=tuple(sorted({*known.after, *task.after})))
    change[task.id] = None
    return Fault(f"{task.action} {task.id}", with_tasks(program, change), _maintains(program, task))


def _instead(task: Task, edge: int, others: list[int]) -> Task:
    """``task`` waiting for ``others`` in place of ``edge``."""
    return replace(task, after=tuple(sorted({a for a in task.after if a != edge} | set(others))))


def _maintains(program: Program, task: Maintain) -> Right:
    """A clean's transfer is named; an invalidate's transfer and a call that reads what it copied."""
    tasks = {t.id: t for t in program.tasks}
    rules = CLEANED if task.action == "clean" else STALE

    def right(f: Finding) -> bool:
        named = [tasks[n] for n in f.tasks]
        moved = [t for t in named if isinstance(t, Transfer) and any(overlap(s, task.span) for s in ends(t))]
        calls = [t for t in named if isinstance(t, Compute)]
        return f.rule in rules and bool(moved) and (bool(calls) or task.action == "clean")

    return right


def ends(task: Transfer) -> tuple[Span, Span]:
    return task.source, task.destination


def shift_address(program: Program, rng: random.Random) -> Fault:
    by = rng.choice((-64, -32, -16, -4, 4, 16, 32, 64, 512))
    task = rng.choice(program.tasks)

    def there(span: Span) -> Span:
        return replace(span, address=span.address + by)

    if isinstance(task, Maintain):
        return Fault(
            f"{task.action} {task.id} by {by}",
            with_tasks(program, {task.id: replace(task, span=there(task.span))}),
            _maintains(program, task),
        )
    if isinstance(task, Transfer):
        end = rng.choice(("source", "destination"))
        changed: Task = replace(task, **{end: there(getattr(task, end))})  # type: ignore[arg-type]
        return Fault(f"{end} of {task.id} by {by}", with_tasks(program, {task.id: changed}), _feeds(program, task))
    chosen = rng.choice(task.operands)
    operands = tuple(replace(o, span=there(o.span)) if o is chosen else o for o in task.operands)
    changed = replace(task, operands=operands)
    return Fault(
        f"{chosen.role} of {task.id} by {by}", with_tasks(program, {task.id: changed}), _call(program, task, chosen)
    )


def _feeds(program: Program, task: Transfer) -> Right:
    """The transfer is named, and a call of its operator or the other task whose bytes it destroys."""
    limits = {"bounds", "reach", "alignment", "units"}

    def right(f: Finding) -> bool:
        alone = f.rule in limits or (f.rule == "unwritten" and f.tasks == (task.id,))
        return task.id in f.tasks and (alone or (f.rule in DATA | ORDER and (len(f.tasks) > 1 or f.rule in CLEANED)))

    return right


def _call(program: Program, task: Compute, operand: Operand) -> Right:
    """The call is named; where its operand was copied, a transfer too."""
    copied = operand.access == "r" and any(
        isinstance(t, Transfer) and overlap(t.destination, operand.span) for t in program.tasks
    )
    transfers = {t.id for t in program.tasks if isinstance(t, Transfer)}

    def right(f: Finding) -> bool:
        if f.rule == "bounds":
            return task.id in f.tasks
        return f.rule in DATA | ORDER and task.id in f.tasks and (not copied or bool(transfers & set(f.tasks)))

    return right


def shrink_buffer(program: Program, rng: random.Random) -> Fault | None:
    """A buffer behind an overlay begins inside it."""
    buffers = sorted((b for b in program.header.buffers if b.kind in ("overlay", "scratch")), key=_low)
    pairs = [(a, b) for a, b in pairwise(buffers) if a.kind == "overlay"]
    if not pairs:
        return None
    first, second = rng.choice(pairs)
    by = second.span.address - first.span.end + rng.choice((16, 32, 256, 1024))

    def there(span: Span) -> Span:
        inside = second.span.address <= span.address < second.span.end
        return replace(span, address=max(span.address - by, first.span.address)) if inside else span

    def task(t: Task) -> Task:
        if isinstance(t, Compute):
            return replace(t, operands=tuple(replace(o, span=there(o.span)) for o in t.operands))
        if isinstance(t, Transfer):
            return replace(t, source=there(t.source), destination=there(t.destination))
        return replace(t, span=there(t.span))

    names = {first.name, second.name}
    spoiled = replace(program, tasks=tuple(task(t) for t in program.tasks))
    return Fault(
        f"{first.name} too small for {second.name}",
        spoiled,
        lambda f: f.rule in DATA | ORDER and len(f.tasks) > 1 and bool(names & set(f.buffers)),
    )


def _low(buffer: object) -> int:
    return buffer.span.address  # type: ignore[attr-defined, no-any-return]


def swap_slots(program: Program, rng: random.Random) -> Fault | None:
    """A transfer fills, or a call reads, the other buffer of a pair."""
    spans = {b.name: b.span.address for b in program.header.buffers if b.kind == "overlay"}
    other = {}
    for one, two in (("tile0", "tile1"), ("second0", "second1")):
        if one in spans and two in spans:
            other |= {spans[one]: spans[two], spans[two]: spans[one]}
    moves = [t for t in program.tasks if isinstance(t, Transfer) and t.destination.address in other]
    calls = [(t, o) for t in program.tasks if isinstance(t, Compute) for o in t.operands if o.span.address in other]
    if not moves or not calls:
        return None
    if rng.random() < 0.5:
        task = rng.choice(moves)
        moved = replace(task, destination=replace(task.destination, address=other[task.destination.address]))
        return Fault(f"slot of transfer {task.id}", with_tasks(program, {task.id: moved}), _feeds(program, task))
    call, chosen = rng.choice(calls)
    there = replace(chosen, span=replace(chosen.span, address=other[chosen.span.address]))
    changed = replace(call, operands=tuple(there if o is chosen else o for o in call.operands))
    return Fault(f"slot of call {call.id}", with_tasks(program, {call.id: changed}), _call(program, call, chosen))


def shorten_transfer(program: Program, rng: random.Random) -> Fault:
    task = rng.choice([t for t in program.tasks if isinstance(t, Transfer) and t.source.bytes > 4])
    size = task.source.bytes - rng.choice([n for n in (1, 4, 16, 64, 512) if n < task.source.bytes])
    short = replace(task, source=replace(task.source, bytes=size), destination=replace(task.destination, bytes=size))
    return Fault(f"transfer {task.id} of {size} B", with_tasks(program, {task.id: short}), _feeds(program, task))


KINDS: tuple[Callable[[Program, random.Random], Fault | None], ...] = (
    drop_edge, drop_maintenance, shift_address, shrink_buffer, swap_slots, shorten_transfer,
)  # fmt: skip


def faults(program: Program, count: int, seed: str) -> Iterable[Fault]:
    """``count`` faults, the kinds in turn."""
    rng, made, turn = random.Random(seed), 0, 0
    while made < count:
        fault = KINDS[turn % len(KINDS)](program, rng)
        turn += 1
        if fault is not None and fault.program != program:
            made += 1
            yield fault

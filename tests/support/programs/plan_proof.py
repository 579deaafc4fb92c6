"""Proof that a program is free of races and that every kernel call reads what it should, from the program alone.

Happens-before is: order on a lane, and ``after``. Two tasks that touch the same bytes, one of them writing, must be
ordered. With that proven the list order is as good as any other, so copies can be followed through it byte range by
byte range.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcusim.program.program import Compute, Maintain, Program, Span, Task, Transfer

Ordered = list[dict[str, int]]


def accesses(task: Task) -> Iterator[tuple[Span, bool]]:
    """Spans a task touches and whether it writes. Scratch is the core's own."""
    if isinstance(task, Transfer):
        yield task.source, False
        yield task.destination, True
    elif isinstance(task, Compute):
        yield from ((o.span, o.access != "r") for o in task.operands)


def happens_before(program: Program) -> Ordered:
    """For each position, the last finished position per lane when the task there is done."""
    position = {task.id: i for i, task in enumerate(program.tasks)}
    lanes: dict[str, dict[str, int]] = {}
    known: Ordered = []
    for i, task in enumerate(program.tasks):
        clock = dict(lanes.get(task.lane, {}))
        for other in task.after:
            assert position[other] < i
            for lane, last in known[position[other]].items():
                clock[lane] = max(clock.get(lane, -1), last)
        clock[task.lane] = i
        lanes[task.lane] = clock
        known.append(clock)
    return known


def assert_race_free(program: Program) -> int:
    """Number of conflicting pairs on different lanes, all of them ordered."""
    known, conflicts = happens_before(program), 0
    touched = [list(accesses(task)) for task in program.tasks]
    for i, later in enumerate(program.tasks):
        for j in range(i):
            earlier = program.tasks[j]
            if earlier.lane == later.lane:
                continue
            if any(
                (wa or wb) and a.address < b.end and b.address < a.end for a, wa in touched[i] for b, wb in touched[j]
            ):
                conflicts += 1
                assert known[i].get(earlier.lane, -1) >= j, f"tasks {earlier.id} and {later.id} race"
    return conflicts


class Copied:
    """Which source address each copied byte range came from."""

    def __init__(self) -> None:
        self.ranges: list[tuple[int, int, int, int]] = []  # start, end, source of start, task

    def write(self, span: Span, source: int | None, task: int = -1) -> None:
        kept = []
        for start, end, origin, by in self.ranges:
            if start < span.address:
                kept.append((start, min(end, span.address), origin, by))
            if end > span.end:
                cut = max(start, span.end)
                kept.append((cut, end, origin + cut - start, by))
        self.ranges = [r for r in kept if r[0] < r[1]]
        if source is not None:
            self.ranges.append((span.address, span.end, source, task))

    def source(self, span: Span) -> tuple[int, set[int]] | None:
        """Where all of ``span`` came from, contiguously, and the transfers that copied it; None if not copied."""
        found = sorted(r for r in self.ranges if r[0] < span.end and span.address < r[1])
        if not found:
            return None
        base = found[0][2] - found[0][0]
        at = span.address
        for start, end, origin, _ in found:
            assert start <= at and origin - start == base, "a copied operand has a hole or comes from two places"
            at = end
        assert at >= span.end, "a copied operand is not filled to its end"
        return span.address + base, {r[3] for r in found}


def homes(program: Program) -> Iterator[tuple[Compute, str, int, int]]:
    """For each read operand of each kernel call: the call, the role, where its bytes are at home, and how many."""
    memory = Copied()
    for task in program.tasks:
        if isinstance(task, Transfer):
            memory.write(task.destination, task.source.address, task.id)
        elif isinstance(task, Compute):
            for operand in task.operands:
                if operand.access == "r":
                    copied = memory.source(operand.span)
                    yield task, operand.role, copied[0] if copied else operand.span.address, operand.span.bytes
            for operand in task.operands:
                if operand.access != "r":
                    memory.write(operand.span, None)


def assert_coherent(program: Program, line: int, cached: set[str]) -> int:
    """Number of maintain tasks. Every input transfer from a cached region follows a clean of its source that is later
    than the last write of it; every kernel call that reads a copied operand in a cached region follows an invalidate
    that is later than the transfer."""
    position = {task.id: i for i, task in enumerate(program.tasks)}
    known = happens_before(program)
    maintains = [(i, t) for i, t in enumerate(program.tasks) if isinstance(t, Maintain)]
    writes = [(i, s) for i, t in enumerate(program.tasks) if isinstance(t, Compute) for s, w in accesses(t) if w]
    memory = Copied()
    for i, task in enumerate(program.tasks):
        if isinstance(task, Transfer):
            memory.write(task.destination, task.source.address, task.id)
            if task.kind in ("input", "input1") and task.source.region in cached:
                written = max((j for j, s in writes if j < i and overlap(s, task.source)), default=-1)
                cleans = [
                    j for j, m in maintains if m.action == "clean" and covers(m.span, task.source) and j > written
                ]
                assert any(j <= known[i].get("core", -1) for j in cleans), f"transfer {task.id} reads stale memory"
        elif isinstance(task, Compute):
            for operand in task.operands:
                copied = memory.source(operand.span) if operand.access == "r" else None
                if copied and operand.span.region in cached:
                    copied_at = max(position[t] for t in copied[1])
                    assert any(
                        m.action == "invalidate" and covers(m.span, operand.span) and copied_at < j < i
                        for j, m in maintains
                    ), f"call {task.id} may read stale lines of its {operand.role}"
    for _, task in maintains:
        assert task.span.address % line == 0 and task.span.bytes % line == 0
    return len(maintains)


def overlap(a: Span, b: Span) -> bool:
    return a.address < b.end and b.address < a.end


def covers(outer: Span, inner: Span) -> bool:
    return outer.address <= inner.address and inner.end <= outer.end

"""False sharing at buffer edges: a cache line that the DMA writes in part, while the core writes the rest.

It follows from the buffers' addresses, so that a run without a wrong value shows it too.

Not modelled: bytes that belong to no buffer of the program, and buffers of the application.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from mcusim.errors import ProgramError
from mcusim.machine.description import Machine
from mcusim.program.program import Buffer, Compute, Program, Span, Transfer
from mcusim.verification.findings import MOST, Finding
from mcusim.verification.proof.last_writer import MOST_VISITS
from mcusim.verification.proof.task_accesses import CacheLines, called

T = TypeVar("T")


def shared_edges(program: Program, machine: Machine) -> list[Finding]:
    """One finding for each pair of a transfer and the first kernel call that writes into a line of its edge.

    At most 1000. Raises ProgramError for a program whose buffers crowd so much that it would take minutes.
    """
    lines = CacheLines(machine)
    return list(_Edges(program, lines).found().values()) if lines.bytes else []


class _Edges:
    """What begins or ends inside a line, by line: nothing else can share it with a neighbour."""

    def __init__(self, program: Program, lines: CacheLines) -> None:
        self._lines, self._tasks, self._visits = lines, program.tasks, 0
        self._buffers: dict[int, list[Buffer]] = {}
        for buffer in program.header.buffers:
            for line in self._cut(buffer.span):
                self._buffers.setdefault(line, []).append(buffer)
        self._written: dict[int, list[tuple[Compute, Span]]] = {}
        for task in program.tasks:
            spans = [o.span for o in task.operands if o.access != "r"] if isinstance(task, Compute) else []
            for span in spans:
                for line in self._cut(span):
                    assert isinstance(task, Compute)
                    self._written.setdefault(line, []).append((task, span))

    def _cut(self, span: Span) -> set[int]:
        first, end = self._lines.around(span.address, span.end)
        cut = {first} if first < span.address else set()
        return cut | ({end - self._lines.bytes} if span.end < end else set())

    def found(self) -> dict[tuple[int, int], Finding]:
        findings: dict[tuple[int, int], Finding] = {}
        for task in self._tasks:
            if not isinstance(task, Transfer):
                continue
            for low, high in self._edges(task.destination):
                for own, other, call in self._shared(task, low, high):
                    if len(findings) >= MOST:
                        return findings
                    findings.setdefault((call.id, task.id), self._finding(call, task, own, other, low))
        return findings

    def _edges(self, span: Span) -> Iterator[tuple[int, int]]:
        """The parts of the first and the last line outside ``span``, where the cache keeps what is written."""
        if any(keeps for _, _, keeps in self._lines.parts(span.address, span.end)):
            first, end = self._lines.around(span.address, span.end)
            if first < span.address:
                yield first, span.address
            if span.end < end:
                yield span.end, end

    def _shared(self, task: Transfer, low: int, high: int) -> Iterator[tuple[Buffer, Buffer, Compute]]:
        """The transfer's buffer, another that is alive while it is, and the first call that writes to that here."""
        target, line = task.destination, low // self._lines.bytes * self._lines.bytes
        near = self._buffers.get(line, [])
        for own in self._counted(near):
            if not (own.span.address <= target.address < own.span.end and own.first <= task.operator <= own.last):
                continue
            for other in self._counted(near):
                apart = other.span.end <= own.span.address or own.span.end <= other.span.address
                if apart and other.first <= own.last and own.first <= other.last:
                    call = self._call(line, own, other, low, high)
                    if call is not None:
                        yield own, other, call

    def _call(self, line: int, own: Buffer, other: Buffer, low: int, high: int) -> Compute | None:
        for call, span in self._counted(self._written.get(line, [])):
            inside = max(span.address, low, other.span.address) < min(span.end, high, other.span.end)
            if inside and other.first <= call.operator <= min(other.last, own.last):
                return call
        return None

    def _counted(self, items: Iterable[T]) -> Iterator[T]:
        for item in items:
            self._visits += 1
            if self._visits > MOST_VISITS:
                raise ProgramError(
                    f"the program has so many buffers in single cache lines that to look at all pairs would take more"
                    f" than {MOST_VISITS:,} steps; give the buffers lines of their own"
                )
            yield item

    def _finding(self, call: Compute, task: Transfer, own: Buffer, other: Buffer, low: int) -> Finding:
        line = self._lines.bytes
        first = low // line * line
        text = (
            f"{own.name}, which {called(task)} writes, and {other.name}, which {called(call)} writes through the data"
            f" cache, share the cache line at {first:#010x}"
        )
        fix = f"begin and end the buffers on lines of {line} B, so that no line contains bytes of both"
        return Finding("shared-line", (call.id, task.id), (own.name, other.name), first, first + line, text, fix)

"""Who wrote every byte last and who has read it since: what a task finds in memory, and which pairs nothing orders.

The tasks are followed in list order. Where all pairs are ordered any other order gives the same; where one is not, that
is the finding. Left out: further pairs on bytes where one pair was found.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mcusim.program.program import Compute, Program, Span, Transfer
from mcusim.verification.findings import Findings
from mcusim.verification.proof.accesses import accesses, called, host_spans
from mcusim.verification.proof.byte_map import ByteMap
from mcusim.verification.proof.happens_before import Order

__all__ = ["HOST", "NOBODY", "Flow", "Story"]

HOST, NOBODY = -1, -2


@dataclass(slots=True)
class Story:
    """Of one run of bytes: ``writer`` is a position in the list, HOST or NOBODY; ``origin``, when a transfer wrote
    them, the address they came from minus theirs; ``readers`` the last reader of each lane since."""

    writer: int = NOBODY
    origin: int | None = None
    readers: dict[str, int] = field(default_factory=dict)


class Flow:
    """Memory as the tasks of ``program`` before the current one have left it."""

    def __init__(self, program: Program, order: Order, findings: Findings) -> None:
        self._tasks, self._order, self._findings = program.tasks, order, findings
        self._bytes: ByteMap[Story] = ByteMap(Story, lambda s: replace(s, readers=dict(s.readers)))
        for span, _ in host_spans(program):
            self._bytes.put(span.address, span.end, Story(HOST))

    def stories(self, span: Span) -> list[tuple[int, int, Story]]:
        """What is known of the bytes of ``span``."""
        return list(self._bytes.runs(span.address, span.end))

    def step(self, place: int) -> None:
        """Let the task at ``place`` do its reads and writes; report what is not ordered with it."""
        task = self._tasks[place]
        for span, write in accesses(task):
            if span.bytes > 0:
                self._write(place, span) if write else self._read(place, span)

    def _read(self, place: int, span: Span) -> None:
        task = self._tasks[place]
        for low, high, story in self._bytes.runs(span.address, span.end):
            self._ordered(story.writer, place, low, high, "reads what", "writes")
            if story.writer == NOBODY and isinstance(task, Transfer):
                self._unwritten(place, low, high)
            story.readers[task.lane] = place

    def _write(self, place: int, span: Span) -> None:
        task = self._tasks[place]
        for low, high, story in self._bytes.runs(span.address, span.end):
            self._ordered(story.writer, place, low, high, "writes what", "writes too")
            for reader in story.readers.values():
                self._ordered(reader, place, low, high, "writes what", "reads")
        origin = task.source.address - span.address if isinstance(task, Transfer) else None
        self._bytes.put(span.address, span.end, Story(place, origin))

    def _ordered(self, first: int, place: int, low: int, high: int, does: str, did: str) -> None:
        if first < 0 or first == place or self._order.before(first, place):
            return
        before, task = self._tasks[first], self._tasks[place]
        text = f"{called(task)} {does} {called(before)} {did}, and does not wait for it"
        fix = f"add {before.id} to `after` of task {task.id}"
        if isinstance(before, Transfer) and isinstance(task, Compute):
            fix += " (wait for the transfer's completion before the call)"
        self._findings.add("unordered", (first, place), low, high, text, fix)

    def _unwritten(self, place: int, low: int, high: int) -> None:
        text = f"{called(self._tasks[place])} copies bytes that no task before it has written"
        fix = "correct the address or the size of its source, or let the task that writes these bytes come first"
        self._findings.add("unwritten", (place,), low, high, text, fix)

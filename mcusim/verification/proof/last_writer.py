"""The last writer of every byte and its readers since: what a task finds in memory, and which pairs are not ordered.

The tasks are followed in list order. Where all pairs are ordered, any other order gives the same; a pair that is not is
the finding. What is known is kept once for adjacent bytes with the same history. Not modelled: further pairs on bytes
where one pair was found.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from mcusim.errors import ProgramError
from mcusim.program.program import Compute, Program, Span, Transfer
from mcusim.verification.findings import Findings
from mcusim.verification.proof.happens_before import Order
from mcusim.verification.proof.task_accesses import accesses, called, host_spans

MOST_VISITS = 4_000_000  # runs that a proof may look at; 40,000 tasks of a planner come to some 300,000

T = TypeVar("T")


class ByteMap(Generic[T]):
    """Runs ``low`` to below ``high`` with one item each; ``fresh`` makes the item of bytes not seen before, ``copy``
    that of the second half of a run that is cut."""

    def __init__(self, fresh: Callable[[], T], copy: Callable[[T], T]) -> None:
        self._fresh, self._copy = fresh, copy
        self._lows: list[int] = []
        self._highs: list[int] = []
        self._items: list[T] = []
        self._visits = 0

    def runs(self, low: int, high: int) -> Sequence[tuple[int, int, T]]:
        """The runs that make up ``low`` to below ``high``, cut at both ends, every byte in one of them.

        Raises ProgramError when a program has so many pieces that a proof would take minutes.
        """
        first, end = self._range(low, high)
        return list(zip(self._lows[first:end], self._highs[first:end], self._items[first:end], strict=True))

    def known(self, low: int, high: int) -> Sequence[tuple[int, int, T]]:
        """The parts of runs seen before that lie in ``low`` to ``high``; nothing is cut, gaps stay gaps."""
        first = bisect_right(self._highs, low)
        end = bisect_left(self._lows, high)
        self._count(end - first)
        runs = zip(self._lows[first:end], self._highs[first:end], self._items[first:end], strict=True)
        return [(max(start, low), min(stop, high), item) for start, stop, item in runs]

    def put(self, low: int, high: int, item: T) -> None:
        """Make ``low`` to ``high`` one run."""
        first, end = self._range(low, high)
        self._lows[first:end], self._highs[first:end], self._items[first:end] = [low], [high], [item]

    def _range(self, low: int, high: int) -> tuple[int, int]:
        self._cut(low)
        self._cut(high)
        first, end = bisect_left(self._lows, low), bisect_left(self._lows, high)
        at, gaps = low, []
        for run in range(first, end):
            if self._lows[run] > at:
                gaps.append((at, self._lows[run]))
            at = self._highs[run]
        if at < high:
            gaps.append((at, high))
        for start, stop in gaps:
            where = bisect_left(self._lows, start)
            self._lows.insert(where, start)
            self._highs.insert(where, stop)
            self._items.insert(where, self._fresh())
        self._count(end - first)
        return first, end + len(gaps)

    def _cut(self, at: int) -> None:
        where = bisect_right(self._lows, at) - 1
        if where < 0 or not self._lows[where] < at < self._highs[where]:
            return
        self._lows.insert(where + 1, at)
        self._highs.insert(where + 1, self._highs[where])
        self._items.insert(where + 1, self._copy(self._items[where]))
        self._highs[where] = at

    def _count(self, runs: int) -> None:
        self._visits += runs
        if self._visits > MOST_VISITS:
            raise ProgramError(
                f"the program's tasks cut memory into so many pieces that a proof would look at more than"
                f" {MOST_VISITS:,} of them; split its transfers less"
            )


HOST, NOBODY = -1, -2


@dataclass(slots=True)
class ByteHistory:
    """Of one run of bytes: ``writer`` is a position in the list, HOST or NOBODY; ``origin``, when a transfer wrote
    them, the address they came from minus theirs; ``readers`` the last reader of each lane since."""

    writer: int = NOBODY
    origin: int | None = None
    readers: dict[str, int] = field(default_factory=dict)


class LastWriter:
    """Memory as the tasks of ``program`` before the current one have left it."""

    def __init__(self, program: Program, order: Order, findings: Findings) -> None:
        self._tasks, self._order, self._findings = program.tasks, order, findings
        self._bytes: ByteMap[ByteHistory] = ByteMap(ByteHistory, lambda s: replace(s, readers=dict(s.readers)))
        for span, _ in host_spans(program):
            self._bytes.put(span.address, span.end, ByteHistory(HOST))

    def histories(self, span: Span) -> list[tuple[int, int, ByteHistory]]:
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
        for low, high, history in self._bytes.runs(span.address, span.end):
            self._ordered(history.writer, place, low, high, "reads what", "writes")
            if history.writer == NOBODY and isinstance(task, Transfer):
                self._unwritten(place, low, high)
            history.readers[task.lane] = place

    def _write(self, place: int, span: Span) -> None:
        task = self._tasks[place]
        for low, high, history in self._bytes.runs(span.address, span.end):
            self._ordered(history.writer, place, low, high, "writes what", "writes too")
            for reader in history.readers.values():
                self._ordered(reader, place, low, high, "writes what", "reads")
        origin = task.source.address - span.address if isinstance(task, Transfer) else None
        self._bytes.put(span.address, span.end, ByteHistory(place, origin))

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

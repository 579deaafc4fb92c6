"""Findings of a check of a program: rule, tasks, bytes, and how to fix it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcusim.program.program import Buffer, Program

MOST = 1000  # a proof stops at this many findings

RULES: Mapping[str, str] = {
    "unordered": "two tasks touch the same bytes, one writes, and nothing orders them",
    "unwritten": "a task reads bytes that were never written",
    "wrong-data": "a kernel call finds other data in a buffer than its operator and tile need",
    "missing-clean": "the DMA reads bytes that the core wrote and that may still be in its cache",
    "missing-invalidate": "the core reads bytes that the DMA wrote while its cache may hold older ones",
    "dirty-target": "the DMA writes bytes whose dirty cache line may be written back over them",
    "shared-line": "a cache line contains bytes of the core and of the DMA: maintenance of one destroys the other",
    "lost-store": "an invalidate destroys what the core wrote and memory has not",
    "alignment": "a transfer's address or size is not a multiple of its beat",
    "units": "a transfer has more units than a stream counts",
    "reach": "the DMA does not reach the memory",
    "bounds": "bytes lie outside the machine's memory, or in one that cannot be written",
    "priority": "an input tile that a kernel call waits for gives way to what is needed later: slow, not wrong",
}


class TooManyFindings(Exception):
    """There are so many findings that more would not help."""


@dataclass(frozen=True, slots=True)
class Finding:
    """``tasks`` are ids, the one that should come first first; bytes ``low`` to below ``high``."""

    rule: str
    tasks: tuple[int, ...]
    buffers: tuple[str, ...]
    low: int
    high: int
    text: str
    fix: str

    def to_json(self) -> dict[str, Any]:
        """As ``mcusim verify --json`` lists it."""
        return {
            "rule": self.rule,
            "tasks": list(self.tasks),
            "buffers": list(self.buffers),
            "bytes": [self.low, self.high],
            "text": self.text,
            "fix": self.fix,
        }


def buffers_at(buffers: Iterable[Buffer], low: int, high: int, operators: Collection[int]) -> tuple[str, ...]:
    """Buffers that share a byte with ``low`` to ``high``, of those alive at ``operators`` if there are, by address."""
    overlapping = [b for b in buffers if b.span.address < high and low < b.span.end]
    overlapping.sort(key=lambda b: (b.span.address, b.span.bytes))
    alive = [b for b in overlapping if any(b.first <= operator <= b.last for operator in operators)]
    return tuple(b.name for b in alive or overlapping)


class Findings:
    """Collects findings of ``program``: one of each rule for the same tasks, its byte range widened."""

    def __init__(self, program: Program) -> None:
        self._tasks = program.tasks
        self._buffers = program.header.buffers
        self._found: dict[tuple[str, tuple[int, ...]], tuple[int, int, str, str]] = {}

    def add(self, rule: str, places: Sequence[int], low: int, high: int, text: str, fix: str) -> None:
        """``places`` are positions in the program's list, negative ones (the host) left out. Raises TooManyFindings."""
        key = rule, tuple(index for index in places if index >= 0)
        old = self._found.get(key)
        if old is None and len(self._found) >= MOST:
            raise TooManyFindings
        self._found[key] = (low, high, text, fix) if old is None else (min(low, old[0]), max(high, old[1]), *old[2:])

    def all(self) -> list[Finding]:
        """By the last task that each names, then by rule."""
        order = sorted(self._found.items(), key=lambda item: (item[0][1][-1:], list(RULES).index(item[0][0])))
        return [self._finding(rule, places, *rest) for (rule, places), rest in order]

    def _finding(self, rule: str, places: tuple[int, ...], low: int, high: int, text: str, fix: str) -> Finding:
        tasks = [self._tasks[index] for index in places]
        names = buffers_at(self._buffers, low, high, {task.operator for task in tasks})
        return Finding(rule, tuple(task.id for task in tasks), names, low, high, text, fix)

"""Findings of a check of a program: rule, tasks, bytes, and how to fix it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mcusim.finding_rules import PROGRAM
from mcusim.program.program import Buffer, Program

MOST = 1000  # a proof stops at this many findings


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
        order = sorted(self._found.items(), key=lambda item: (item[0][1][-1:], list(PROGRAM).index(item[0][0])))
        return [self._finding(rule, places, *rest) for (rule, places), rest in order]

    def _finding(self, rule: str, places: tuple[int, ...], low: int, high: int, text: str, fix: str) -> Finding:
        tasks = [self._tasks[index] for index in places]
        names = buffers_at(self._buffers, low, high, {task.operator for task in tasks})
        return Finding(rule, tuple(task.id for task in tasks), names, low, high, text, fix)

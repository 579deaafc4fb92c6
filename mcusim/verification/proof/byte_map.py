"""What is known of every byte of memory, kept for runs of bytes with the same story."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from mcusim.errors import ProgramError

__all__ = ["MOST_VISITS", "ByteMap"]

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

"""The log of exceptions as runs of handlers: from the moment that the frame is pushed to the one when it is popped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mcusim.cpu.system import exception_layout as X


@dataclass(slots=True)
class HandlerRun:
    """One entry of exception ``number``, in ticks: pending since ``pended``, its entry from ``begin`` to ``first``, its
    last instruction at ``end``, the core's return from it at ``last``; ``depth`` handlers are active with it.
    ``pieces``: when it had the core, entry and return included and handlers that preempted it left out."""

    number: int
    depth: int
    pended: int
    begin: int
    first: int
    end: int
    last: int
    pieces: list[tuple[int, int]]


def handler_runs(entries: Iterable[Any], now: int) -> list[HandlerRun]:
    """Runs by their beginning; those that are under way end at ``now``, in ticks."""
    result: list[HandlerRun] = []
    active: list[HandlerRun] = []
    since, ended = 0, None
    for what, time, first, _ in (map(int, row) for row in entries):
        kind = what & 15
        if kind == X.BEGUN:
            number = X.number_of(what >> 4 & 0xFFF)
            active.append(HandlerRun(number, what >> 16, first, since or time, time, now, now, []))
            result.append(active[-1])
            since, ended = since or time, None
            continue
        owner = active.pop() if kind == X.ENDED and active else ended if kind == X.POPPED else None
        if kind == X.PUSHED and active:
            owner = active[-1]
        if owner is not None:
            owner.pieces.append((since, time))
            owner.end = time if kind == X.ENDED else owner.end
            owner.last = time if kind in (X.ENDED, X.POPPED) else owner.last
        ended = owner if kind == X.ENDED else None
        since = time
    for run in active[-1:]:
        run.pieces.append((since, now))
    return result

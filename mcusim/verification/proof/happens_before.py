"""Happens-before: which tasks of a program are over when another one starts, whatever the timing.

Tasks of one lane run in list order; an ``after`` edge waits for the end of a task of another. Not modelled: that a DMA
controller makes one beat at a time, which orders no whole transfers.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.program.program import Task


class Order:
    """A vector clock for each of ``tasks``: how many tasks of every lane are over at its start.

    ``tasks`` have ids of their own, and ``after`` names earlier ones.
    """

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._place: list[tuple[str, int]] = []
        self._over: list[dict[str, int]] = []
        index = {task.id: i for i, task in enumerate(tasks)}
        last: dict[str, int] = {}
        for i, task in enumerate(tasks):
            clock: dict[str, int] = {}
            before = [index[other] for other in task.after]
            if task.lane in last:
                before.append(last[task.lane])
            for one in before:
                lane, number = self._place[one]
                for other, over in self._over[one].items():
                    clock[other] = max(clock.get(other, 0), over)
                clock[lane] = max(clock.get(lane, 0), number + 1)
            number = self._place[last[task.lane]][1] + 1 if task.lane in last else 0
            last[task.lane] = i
            self._place.append((task.lane, number))
            self._over.append(clock)

    def before(self, first: int, second: int) -> bool:
        """Is task ``first`` over when task ``second`` starts? Positions in the list; a negative one is the host, who
        was there before all of them."""
        if first < 0:
            return True
        lane, number = self._place[first]
        return self._over[second].get(lane, 0) > number

    def over(self, place: int, lane: str) -> int:
        """How many tasks of ``lane`` are over when the task at that position starts, whatever the timing."""
        return self._over[place].get(lane, 0)

"""Rule priority: an input tile that a kernel call waits for must not give way to a transfer that is needed later.

That costs time and no correctness. Not modelled: how much time; that a controller serves equal priorities by turns;
filters and arrays that give way to a tile (tiles go first, whatever they are for); all but the first 64 transfers of a
stream that may get in a tile's way.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict

from mcusim.program.program import Compute, Program, Transfer
from mcusim.verification.findings import Findings
from mcusim.verification.proof.happens_before import Order
from mcusim.verification.proof.last_writer import ByteMap
from mcusim.verification.proof.task_accesses import called

NEAR = 64
TILES = ("input", "input1")
Lane = list[int]  # places of its tasks


def check_priorities(program: Program, order: Order, findings: Findings) -> None:
    """Rule priority: of two transfers that one controller may have in flight at once, a kernel call waits for the one
    of lower priority, an input tile, and none before a later one waits for or reads what the other copies in."""
    lanes: dict[str, Lane] = defaultdict(list)
    for index, task in enumerate(program.tasks):
        lanes[task.lane].append(index)
    core = lanes.pop("core", [])
    if len({task.priority for task in program.tasks if isinstance(task, Transfer)}) < 2:
        return
    _Priorities(program, order, lanes, core, findings).check()


class _Priorities:
    """``needed`` is the kernel call that waits for a transfer, rising along a lane, ``used`` the first that reads it;
    both are places in the program's list, the one after all when there is none."""

    def __init__(self, program: Program, order: Order, lanes: dict[str, Lane], core: Lane, findings: Findings) -> None:
        self._tasks, self._order, self._lanes, self._findings = program.tasks, order, lanes, findings
        self._needed = {name: self._waits(name, len(lane), core) for name, lane in lanes.items()}
        self._used = self._readers()

    def check(self) -> None:
        for name, lane in self._lanes.items():
            for other in self._lanes:
                if other != name and _controller(other) == _controller(name):
                    for number, index in enumerate(lane):
                        if self._transfer(index).kind in TILES:
                            self._beside(index, self._needed[name][number], other)

    def _beside(self, place: int, call: int, lane: str) -> None:
        """Look for a transfer of ``lane`` that gets in the way of the one at ``place``, which ``call`` waits for."""
        if call == len(self._tasks):
            return
        others, needed = self._lanes[lane], self._needed[lane]
        first = max(self._order.over(place, lane), bisect_right(needed, call))
        mine = self._transfer(place)
        for number in range(first, min(first + NEAR, len(others))):
            if self._order.before(place, others[number]):
                return
            other = self._transfer(others[number])
            if other.priority > mine.priority and self._used.get(others[number], call + 1) > call:
                self._found(place, call, others[number], needed[number])
                return

    def _found(self, place: int, call: int, other: int, later: int) -> None:
        mine, before = self._transfer(place), self._transfer(other)
        who = f"{called(self._tasks[later])} waits" if later < len(self._tasks) else "no task waits"
        text = (
            f"{called(mine)} has priority {mine.priority} and {called(self._tasks[call])} waits for it;"
            f" {called(before)}, which {who} for, has priority {before.priority} on the same controller and may be"
            " in flight at the same time: its beats go first"
        )
        fix = (
            f"give task {mine.id} at least the priority of task {before.id}, or let that wait for it"
            f" (add {mine.id} to its `after`)"
        )
        self._findings.add("priority", (place, other), mine.destination.address, mine.destination.end, text, fix)

    def _waits(self, lane: str, count: int, core: Lane) -> list[int]:
        """For each transfer of a lane the first kernel call that starts after its end is waited for."""
        needed: list[int] = []
        waiting = 0  # transfers that tasks of the core before this one have waited for
        for index in core:
            waiting = max(waiting, self._order.over(index, lane))
            if isinstance(self._tasks[index], Compute):
                needed += [index] * (waiting - len(needed))
        return needed + [len(self._tasks)] * (count - len(needed))

    def _readers(self) -> dict[int, int]:
        """Transfer -> the first kernel call that finds bytes of it in its operands."""
        bytes_: ByteMap[list[int]] = ByteMap(list, list)
        used: dict[int, int] = {}
        for index, task in enumerate(self._tasks):
            if isinstance(task, Transfer) and task.destination.bytes > 0:
                bytes_.put(task.destination.address, task.destination.end, [index])
            elif isinstance(task, Compute):
                for operand in task.operands:
                    for _, _, writers in bytes_.known(operand.span.address, operand.span.end):
                        for writer in writers:
                            used.setdefault(writer, index)
        return used

    def _transfer(self, place: int) -> Transfer:
        task = self._tasks[place]
        assert isinstance(task, Transfer)
        return task


def _controller(lane: str) -> str:
    return lane.partition(".s")[0]

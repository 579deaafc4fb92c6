"""Activities that share memories: how much two that overlap in time slow each other down.

An *activity* (a kernel call, a DMA transfer) knows its length when alone and what it asks of every region. While others
run, each of its accesses to a region that another one occupies a share ``u`` of the time waits for the rest of that
one's access, on average half its service time (round-robin arbitration, M/D/1-like residual at low load). What a read
FIFO has ahead for it is lost where an access of the other one comes in between. Streams of one DMA controller do not
overlap at all: the highest priority runs, the others are held, equals share.

SimPy sees starts and ends only: when the set of activities changes, every running one is re-timed.

Not modelled: bursts of accesses (the residual assumes they are spread evenly over the activity), the feedback of a
slowed activity asking less per cycle, and rows of an SDRAM bank that core and DMA close for each other.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

import simpy

from mcusim.memory.state_layout import TICK
from mcusim.memory.system import AccessStats

ONE = 1 << 16  # fixed-point slowdown of an undisturbed activity
HELD = 0


@dataclass(eq=False)
class Activity:
    """``cycles`` when alone; ``controller`` and ``priority`` for DMA streams.

    ``waiting``: by region the part of its accesses there that wait for others, and others for them; 1 if not given.
    """

    cycles: int
    demand: Mapping[str, AccessStats]
    controller: str = ""
    priority: int = 0
    waiting: Mapping[str, float] = field(default_factory=dict)
    remaining: int = field(init=False)  # ticks

    def __post_init__(self) -> None:
        self.remaining = self.cycles * TICK

    def wait_per_tick(self, other: Activity) -> int:
        """Extra ticks (fixed point) that ``other`` costs this activity per tick of its own work."""
        total = 0
        for region, mine in self.demand.items():
            theirs = other.demand.get(region)
            if theirs is None or not theirs.occupied or not theirs.accesses or not mine.accesses:
                continue
            lost = theirs.spared * other.interrupted(theirs.accesses, self, mine.accesses) // ONE
            occupied = theirs.occupied + lost
            share = min(ONE, round(occupied * other.waiting.get(region, 1)) * ONE // (other.cycles * TICK + lost))
            residual = occupied // (2 * theirs.accesses)
            waiting = round(mine.accesses * self.waiting.get(region, 1))
            again = mine.spared * self.interrupted(mine.accesses, other, theirs.accesses)
            total += (waiting * share * residual + again) // (self.cycles * TICK)
        return total

    def interrupted(self, accesses: int, other: Activity, others: int) -> int:
        """How often (fixed point) one of its ``accesses`` to a region is behind one of the ``others``."""
        return min(ONE, others * self.cycles * ONE // (accesses * other.cycles))


def first_of(*events: simpy.Event) -> simpy.Event:
    """Happens when the first of ``events`` does, none of which has: their ``|`` in fewer steps, without a value."""
    first = events[0].env.event()

    def happen(_: simpy.Event) -> None:
        if not first.triggered:
            first.succeed()

    for event in events:
        assert event.callbacks is not None
        event.callbacks.append(happen)
    return first


class Arbiter:
    """The set of running activities of one engine."""

    def __init__(self, env: simpy.Environment) -> None:
        self.env = env
        self.running: list[Activity] = []
        self._change = env.event()

    def slowdown(self, activity: Activity) -> int:
        """Fixed-point factor on the activity's length now; ``HELD`` while a stream of higher priority runs."""
        factor = ONE
        sharing = 1
        for other in self.running:
            if other is activity:
                continue
            if activity.controller and other.controller == activity.controller:
                if other.priority > activity.priority:
                    return HELD
                sharing += other.priority == activity.priority
            elif self._runs(other):
                factor += activity.wait_per_tick(other) // self._sharing(other)
        return factor * sharing

    def perform(self, activity: Activity) -> Generator[Any, Any, int]:
        """SimPy process part: run ``activity`` to its end; returns the cycles it took longer than alone."""
        if activity.remaining == 0:
            return 0
        begin = self.env.now
        self.running.append(activity)
        self._notify()
        while activity.remaining > 0:
            factor = self.slowdown(activity)
            change, start = self._change, self.env.now
            if factor == HELD:
                yield change
                continue
            need = -(-activity.remaining * factor // (ONE * TICK))
            yield first_of(self.env.timeout(need), change)
            elapsed = int(self.env.now - start)
            activity.remaining = 0 if elapsed >= need else activity.remaining - elapsed * TICK * ONE // factor
        self.running.remove(activity)
        self._notify()
        return int(self.env.now - begin) - activity.cycles

    def _sharing(self, activity: Activity) -> int:
        """How many streams of its controller and priority run: each gets that part of the time."""
        if not activity.controller:
            return 1
        key = (activity.controller, activity.priority)
        return sum((o.controller, o.priority) == key for o in self.running)

    def _runs(self, other: Activity) -> bool:
        return not any(
            o.controller == other.controller and o.priority > other.priority for o in self.running if other.controller
        )

    def _notify(self) -> None:
        change, self._change = self._change, self.env.event()
        change.succeed()

"""The order of least peak: a search over sets of operators that have run, the set of least peak first.

What is alive depends on the set alone, not on the order inside it (Liberis and Lane 2019, Algorithm 1, where sets of
tensors take that place), so each set is visited once, with the least peak by which it can be reached. An operator that
frees at least what it makes, and runs within the peak reached so far, is run at once: running it later could not make
anything smaller. Parts that every order runs one after the other are searched one by one.

Both hold where results take the place of what dies and where weights are streamed: what an operator adds depends on the
set as well, and never grows with it. Left out: operators that run twice.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mcusim.model.graph import Graph
from mcusim.plan.accounting import Accounting
from mcusim.plan.ordering.bounds import needed_at, parts
from mcusim.plan.ordering.precedence import Precedence, members, precedence
from mcusim.plan.timeline import timeline

__all__ = ["Ordering", "optimal_order"]

BEAMS = (8, 64, 512)
LOOK = 256  # sets between two looks at the clock


@dataclass(frozen=True, slots=True)
class Ordering:
    """``order`` lists operator indices; no order has a peak below ``bound`` bytes. ``states``: sets looked at."""

    order: tuple[int, ...]
    peak: int
    bound: int
    states: int
    seconds: float

    @property
    def optimal(self) -> bool:
        """Is the peak proven to be the least."""
        return self.peak == self.bound


def optimal_order(graph: Graph, seconds: float = 60.0, accounting: Accounting | None = None) -> Ordering:
    """The order of ``graph``'s operators with the least peak of bytes in use, never worse than the file's.

    ``accounting`` says what counts (default: activations, each in its own bytes). After ``seconds`` the best order
    found is returned with the bound proven until then. Equal peaks: the file's order.
    """
    started = time.monotonic()
    counted = accounting or Accounting()
    p = precedence(graph, counted)
    search, order = Search(p, started + seconds), []
    peak = bound = 0
    for part in parts(p):
        reached, proven, found = search.part(part, bound)
        order += found
        peak, bound = max(peak, reached), max(bound, proven)
    own = timeline(graph, None, counted).peak
    if own <= peak:
        order, peak = list(range(p.count)), own
    assert timeline(graph, order, counted).peak == peak
    return Ordering(tuple(order), peak, min(bound, peak), search.states, time.monotonic() - started)


@dataclass(slots=True)
class State:
    """``done`` has run, ``ready`` can run now, ``live`` bytes are alive; ``run`` are the operators since ``since``."""

    done: int
    ready: int
    live: int
    peak: int
    since: State | None
    run: tuple[int, ...]


class Search:
    """Orders parts of ``p`` one after the other, until ``deadline`` (of ``time.monotonic``)."""

    def __init__(self, p: Precedence, deadline: float) -> None:
        self.p, self.deadline, self.states = p, deadline, 0
        self.done, self.live = 0, p.start

    def part(self, part: int, enough: int) -> tuple[int, int, list[int]]:
        """The peak, a bound on it and the order of ``part``, behind the parts before; a peak of ``enough`` is as good
        as any below."""
        p = self.p
        floor = max(enough, *(needed_at(p, i) for i in members(part)))
        ready = sum(1 << i for i in members(part) if p.before[i] & ~self.done == 0)
        first = State(self.done, ready, self.live, floor, None, ())
        goal = self.done | part
        best, bound = self._beams(first, part, goal, floor), floor
        if best.peak > floor:
            best, bound = self._exact(first, part, goal, best)
        self.done, self.live = goal, best.live
        return best.peak, bound, _path(best)

    def _after(self, state: State, i: int, part: int) -> State:
        """``state`` when operator ``i`` has run."""
        p = self.p
        done = state.done | 1 << i
        in_place = any(p.readers[t] & ~done == 0 for t in p.hosts[i])
        working = state.live + p.extra[i] + (0 if in_place else p.results[i])
        freed = p.waste[i] + (p.unread if not state.done else 0)
        for t in p.reads[i]:
            if t not in p.kept and p.readers[t] & ~done == 0:
                freed += p.size[t]
        ready = state.ready & ~(1 << i)
        for j in members(p.after[i] & part):
            if p.before[j] & ~done == 0:
                ready |= 1 << j
        return State(done, ready, state.live + p.results[i] - freed, max(state.peak, working), state, (i,))

    def _settled(self, state: State, part: int) -> State:
        """``state`` after all operators that can only help: within its peak, and freeing what they make."""
        run: list[int] = []
        one, again = state, True
        while again:
            again = False
            for i in members(one.ready):
                after = self._after(one, i, part)
                unread = 0 if one.done else self.p.unread  # any first operator ends these
                if after.peak == one.peak and after.live + unread <= one.live:
                    run.append(i)
                    one, again = after, True
                    break
        return State(one.done, one.ready, one.live, one.peak, state.since, (*state.run, *run)) if run else state

    def _beams(self, first: State, part: int, goal: int, floor: int) -> State:
        """An order found by keeping the best few sets at each step; wider while it is not good enough."""
        best = self._beam(first, part, goal, 1, None)
        assert best is not None, "the first that can run always leads to the end"
        for width in BEAMS:
            if best.peak == floor or time.monotonic() > self.deadline:
                break
            best = self._beam(first, part, goal, width, best.peak) or best
        return best

    def _beam(self, first: State, part: int, goal: int, width: int, below: int | None) -> State | None:
        states = [self._settled(first, part)]
        while states:
            finished = [s for s in states if s.done == goal]
            if finished:
                return min(finished, key=lambda s: s.peak)
            following: dict[int, State] = {}
            for state in states:
                for i in members(state.ready):
                    after = self._settled(self._after(state, i, part), part)
                    self.states += 1
                    known = following.get(after.done)
                    if (below is None or after.peak < below) and (known is None or after.peak < known.peak):
                        following[after.done] = after
            states = sorted(following.values(), key=lambda s: (s.peak, s.live, s.done))[:width]
        return None

    def _exact(self, first: State, part: int, goal: int, best: State) -> tuple[State, int]:
        """The least peak by sets in order of their peaks; ``best`` is an order known already."""
        heap: list[tuple[int, int, int, State]] = []
        seen: dict[int, int] = {}
        number = 0

        def put(state: State) -> None:
            nonlocal number
            if state.peak >= best.peak or seen.get(state.done, best.peak) <= state.peak:
                return
            seen[state.done] = state.peak
            number += 1
            heapq.heappush(heap, (state.peak, -state.done.bit_count(), number, state))

        put(self._settled(first, part))
        bound = first.peak
        looked = 0
        while heap:
            peak, _, _, state = heapq.heappop(heap)
            bound = peak
            if state.done == goal:
                return state, peak
            if seen[state.done] < peak:
                continue
            looked += 1
            self.states += 1
            if looked % LOOK == 0 and time.monotonic() > self.deadline:
                return best, bound
            for i in members(state.ready):
                put(self._settled(self._after(state, i, part), part))
        return best, best.peak


def _path(state: State | None) -> list[int]:
    runs: list[Sequence[int]] = []
    while state is not None:
        runs.append(state.run)
        state = state.since
    return [i for run in reversed(runs) for i in run]

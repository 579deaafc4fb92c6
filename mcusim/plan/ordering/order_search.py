"""The order of least peak: a search over sets of operators that have run, the set of least peak first.

What is alive depends on the set alone, not on the order inside it (Liberis and Lane 2019, Algorithm 1, where sets of
tensors take that place), so each set is visited once, with the least peak by which it can be reached. An operator that
frees at least what it makes, and runs within the peak reached so far, is run at once: running it later could not make
anything smaller. Parts that every order runs one after the other are searched one by one.

Both are true where results take the place of what dies and where weights are streamed: what an operator adds depends on
the set as well, and never grows with it. The time limit applies in every phase. Past the limit of memory the exact
search ends, its bound is kept, and wider beams follow. Not modelled: operators that run twice.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Sequence
from dataclasses import dataclass

from mcusim.errors import UnsupportedError
from mcusim.model.graph import Graph, require_plain
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.lifetimes import unmade
from mcusim.plan.liveness.timeline import timeline
from mcusim.plan.ordering.bounds import needs, parts
from mcusim.plan.ordering.precedence import Precedence, members, precedence

BEAMS = (8, 64)
WIDE_BEAMS = (512, 2048, 8192)
GRACE = 1.0  # seconds that a first order may take in any case
MOST_BYTES = 400 * 2**20  # what the sets of the exact search may take, roughly


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
    found is returned with the bound proven until then. Equal peaks: the file's order. Where the search takes a good
    part of ``seconds``, which order is found depends on the machine's speed; its peak does only when it is not proven.
    Raises UnsupportedError for a graph with control flow, or with an accelerator's scratch memory.
    """
    require_plain(graph, "orders of its operators are not searched")
    if unmade(graph):
        raise UnsupportedError(
            f"{graph.name}: has tensors that nothing makes: orders of its operators are not searched"
        )
    started = time.monotonic()
    counted = accounting or Accounting()
    p = precedence(graph, counted)
    search, order = Search(p, started, seconds), []
    peak = bound = 0
    for part in parts(p):
        search.share(part)
        reached, proven, part_order = search.part(part, bound)
        order += part_order
        peak, bound = max(peak, reached), max(bound, proven)
    own = timeline(graph, None, counted).peak
    if own <= peak:
        order, peak = list(range(p.count)), own
    assert timeline(graph, order, counted).peak == peak
    return Ordering(tuple(order), peak, min(bound, peak), search.states, time.monotonic() - started)


@dataclass(slots=True)
class SearchState:
    """``done`` has run, ``ready`` can run now, ``live`` bytes are alive; ``run`` are the operators since ``since``."""

    done: int
    ready: int
    live: int
    peak: int
    since: SearchState | None
    run: tuple[int, ...]


class Search:
    """Orders parts of ``p`` one after the other, for ``seconds`` from ``started`` (of ``time.monotonic``)."""

    def __init__(self, p: Precedence, started: float, seconds: float) -> None:
        self.p, self.states = p, 0
        self.deadline, self.grace = started + seconds, started + max(seconds, GRACE)
        self.until = self.deadline  # of the current part
        self.most = MOST_BYTES // (600 + p.count // 4)  # a state has two sets, and a place in the heap
        self.done, self.live = 0, p.start
        self.needs = needs(p, self.deadline)

    def share(self, part: int) -> None:
        """Give ``part`` its share of the time that is left, by the operators that are left."""
        now = time.monotonic()
        left = self.p.count - self.done.bit_count()
        self.until = now + (self.deadline - now) * part.bit_count() / left

    def part(self, part: int, enough: int) -> tuple[int, int, list[int]]:
        """The peak, a bound on it and the order of ``part``, after the parts before; a peak of ``enough`` is as good
        as any below."""
        p = self.p
        floor = max(enough, *(self.needs[i] for i in members(part)))
        ready = sum(1 << i for i in members(part) if p.before[i] & ~self.done == 0)
        first = SearchState(self.done, ready, self.live, floor, None, ())
        goal, bound = self.done | part, floor
        best = self._beams(first, part, goal, self._first(first, part, goal), floor, BEAMS)
        sets = Sets([(floor, 0, 0, self._settled(first, part))], {})
        for width in WIDE_BEAMS:
            if best.peak == bound or self._late():
                break
            half = time.monotonic() + (self.until - time.monotonic()) / 2
            best, bound = self._exact(sets, part, goal, best, half)
            best = self._beams(first, part, goal, best, bound, (width,))
        if best.peak > bound:
            best, bound = self._exact(sets, part, goal, best, self.until)
        self.done, self.live = goal, best.live
        return best.peak, bound, _path(best)

    def _late(self) -> bool:
        return time.monotonic() > self.until

    def _bytes(self, state: SearchState, i: int) -> tuple[int, int]:
        """Bytes alive while operator ``i`` runs next, and after it."""
        p = self.p
        left = ~(state.done | 1 << i)
        working, freed = state.live + p.extra[i] + p.results[i], p.waste[i]
        for t in p.reads[i]:
            if not p.readers[t] & left and t not in p.kept:
                freed += p.size[t]
        for t in p.in_place_candidates[i]:
            if not p.readers[t] & left:
                working -= p.results[i]
                break
        return working, state.live + p.results[i] - freed - (0 if state.done else p.unread)

    def _after(self, state: SearchState, i: int, part: int) -> SearchState:
        """``state`` when operator ``i`` has run."""
        p = self.p
        working, live = self._bytes(state, i)
        done, ready = state.done | 1 << i, state.ready & ~(1 << i)
        for j in members(p.after[i] & part):
            if p.before[j] & ~done == 0:
                ready |= 1 << j
        return SearchState(done, ready, live, max(state.peak, working), state, (i,))

    def _settled(self, state: SearchState, part: int) -> SearchState:
        """``state`` after all operators that can only help: within its peak, and freeing what they make."""
        run: list[int] = []
        search_state, again = state, True
        while again and time.monotonic() < self.grace:
            again = False
            for i in members(search_state.ready & self.p.savers):
                working, live = self._bytes(search_state, i)
                unread = 0 if search_state.done else self.p.unread  # any first operator ends these
                if working <= search_state.peak and live + unread <= search_state.live:
                    run.append(i)
                    search_state, again = self._after(search_state, i, part), True
                    break
        return (
            SearchState(
                search_state.done,
                search_state.ready,
                search_state.live,
                search_state.peak,
                state.since,
                (*state.run, *run),
            )
            if run
            else state
        )

    def _first(self, first: SearchState, part: int, goal: int) -> SearchState:
        """A quick order: always the operator with the least peak, then the least that is alive; past the grace as
        stored."""
        state = self._settled(first, part)
        while state.done != goal and time.monotonic() < self.grace:
            following = [self._after(state, i, part) for i in members(state.ready)]
            state = self._settled(min(following, key=lambda s: (s.peak, s.live)), part)
        for i in members(goal & ~state.done):
            state = self._after(state, i, part)
        return state

    def _beams(
        self, first: SearchState, part: int, goal: int, best: SearchState, bound: int, widths: Sequence[int]
    ) -> SearchState:
        """``best``, or a better order found by keeping the best few sets at each step; wider while it is not good
        enough."""
        for width in widths:
            if best.peak == bound or self._late():
                break
            best = self._beam(first, part, goal, width, best.peak) or best
        return best

    def _beam(self, first: SearchState, part: int, goal: int, width: int, below: int) -> SearchState | None:
        """An order with a peak ``below`` that, or None."""
        states = [self._settled(first, part)]
        while states:
            finished = [s for s in states if s.done == goal]
            if finished:
                return min(finished, key=lambda s: s.peak)
            following: dict[int, SearchState] = {}
            for state in states:
                for i in members(state.ready):
                    if self._late():
                        return None
                    after = self._settled(self._after(state, i, part), part)
                    self.states += 1
                    known = following.get(after.done)
                    if after.peak < below and (known is None or after.peak < known.peak):
                        following[after.done] = after
                if len(following) > 4 * width:
                    following = {s.done: s for s in _best(following, width)}
            states = _best(following, width)
        return None

    def _exact(self, sets: Sets, part: int, goal: int, best: SearchState, until: float) -> tuple[SearchState, int]:
        """The least peak by sets in order of their peaks, continuing from ``sets``; ``best`` is an order known already.

        Without an answer at ``until``, or when there is no memory for more sets: ``best`` and the bound reached."""
        while sets.heap:
            entry = heapq.heappop(sets.heap)
            peak, state = entry[0], entry[3]
            if peak >= best.peak or state.done == goal:
                return min(best, state, key=lambda s: s.peak), min(peak, best.peak)
            if sets.seen.get(state.done, peak) < peak:
                continue
            for i in members(state.ready):
                if sets.number > self.most or time.monotonic() > until:
                    heapq.heappush(sets.heap, entry)
                    return best, peak
                self.states += 1
                sets.put(self._settled(self._after(state, i, part), part), best.peak)
        return best, best.peak


@dataclass(slots=True)
class Sets:
    """Sets still to look at by their peak, the fuller first, and the least peak of each set ever seen."""

    heap: list[tuple[int, int, int, SearchState]]
    seen: dict[int, int]
    number: int = 0

    def put(self, state: SearchState, below: int) -> None:
        """Keep ``state`` unless it is no better than an order or a set known already."""
        if state.peak < below and self.seen.get(state.done, below) > state.peak:
            self.seen[state.done] = state.peak
            self.number += 1
            heapq.heappush(self.heap, (state.peak, -state.done.bit_count(), self.number, state))


def _best(states: dict[int, SearchState], width: int) -> list[SearchState]:
    return sorted(states.values(), key=lambda s: (s.peak, s.live, s.done))[:width]


def _path(state: SearchState | None) -> list[int]:
    runs: list[Sequence[int]] = []
    while state is not None:
        runs.append(state.run)
        state = state.since
    return [i for run in reversed(runs) for i in run]

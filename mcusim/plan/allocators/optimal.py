"""Offsets that need the fewest bytes, with the proof or the gap."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from time import monotonic

from mcusim.plan.allocators.exact_search import Limit, fit
from mcusim.plan.allocators.greedy import Arena, ArenaBlock, align_up, live_bytes, plan_arena

FIRST_STATES = 2_000  # of one question in the first round; four times as many in each later one
MOST_SUMS = 1_000_000  # bits of the set of subset sums


@dataclass(frozen=True, slots=True)
class Optimum:
    """The smallest ``arena`` found and a proven lower ``bound`` on its bytes.

    ``states`` counts the states of the search over all questions, ``seconds`` is the time it took.
    """

    arena: Arena
    bound: int
    states: int
    seconds: float

    @property
    def gap(self) -> int:
        """Bytes between the arena and the bound; 0 when the arena is proven optimal."""
        return self.arena.bytes - self.bound


def optimal(blocks: Sequence[ArenaBlock], align: int = 16, seconds: float = 10.0) -> Optimum:
    """The smallest arena for ``blocks``, or the smallest found within ``seconds`` with a proven lower bound.

    Dynamic storage allocation is NP-hard. The start is :func:`plan_arena` and the peak of live aligned bytes; parts of
    the time line that no block crosses are solved each for itself. Where the two differ, the question whether an arena
    of the bound's size exists is searched exactly (:mod:`mcusim.plan.allocators.exact_search`): yes ends it, no lifts
    the bound to the next sum of block sizes, and a search cut short is asked again for a larger arena, which can still
    be better than the best one known, then again with four times the states. The cuts count states, so a result with
    gap 0 is always the same; one that ran out of ``seconds`` depends on the machine. Zero-size blocks are put at offset
    0. Not modelled: blocks at given offsets.
    """
    start = monotonic()
    used = sorted((i for i, b in enumerate(blocks) if b.bytes), key=lambda i: (blocks[i].first, blocks[i].last, i))
    sized = [ArenaBlock(align_up(blocks[i].bytes, align), blocks[i].first, blocks[i].last) for i in used]
    offsets = [0] * len(blocks)
    parts = [_Part(sized[low:high], used[low:high]) for low, high in _cuts(sized)]
    bound = max((part.bound for part in parts), default=0)
    states = 0
    for part in sorted(parts, key=lambda part: -part.bound):
        states += part.improve(bound, start + seconds)
        bound = max(bound, part.bound)
    for part in parts:
        for i, offset in zip(part.index, part.arena.offsets, strict=True):
            offsets[i] = offset
    total = max((part.arena.bytes for part in parts), default=0)
    return Optimum(Arena(tuple(offsets), total), bound, states, monotonic() - start)


def _cuts(blocks: Sequence[ArenaBlock]) -> list[tuple[int, int]]:
    """Ranges of ``blocks`` (by rising ``first``) such that no block of one lives together with one of another."""
    cuts, last = [], -1
    for i, b in enumerate(blocks):
        if b.first > last:
            cuts.append(i)
        last = max(last, b.last)
    return list(pairwise([*cuts, len(blocks)]))


class _Part:
    """Blocks that hang together in time: ``index`` names them, ``arena`` is the best known, ``bound`` is proven."""

    def __init__(self, blocks: Sequence[ArenaBlock], index: Sequence[int]) -> None:
        self.index = index
        self.blocks = blocks
        self.bound = max(live_bytes(blocks))
        order = sorted(range(len(blocks)), key=lambda i: index[i])  # plan_arena breaks ties by the caller's order
        arena = plan_arena([blocks[i] for i in order], 1)
        offsets = dict(zip(order, arena.offsets, strict=True))
        self.arena = Arena(tuple(offsets[i] for i in range(len(blocks))), arena.bytes)

    def improve(self, enough: int, deadline: float) -> int:
        """Searches until the arena is proven optimal or no larger than ``enough``; the number of states looked at."""
        if self.arena.bytes <= max(enough, self.bound):
            return 0
        sums = _sums([b.bytes for b in self.blocks], self.arena.bytes)
        self.bound = sums[bisect_left(sums, self.bound)]
        budget, states = FIRST_STATES, 0
        while self.arena.bytes > max(enough, self.bound) and monotonic() < deadline:
            states += self._round(max(enough, self.bound), sums, budget, deadline)
            budget *= 4
        return states

    def _round(self, target: int, sums: Sequence[int], budget: int, deadline: float) -> int:
        """Asks for an arena of ``target`` bytes, and while the answer stays open for ever larger ones."""
        states = 0
        while target < self.arena.bytes:
            limit = Limit(budget, deadline)
            result = fit(self.blocks, target, limit)
            states += budget - max(limit.states, 0)
            if result.fits:
                self.arena = Arena(result.offsets, _top(self.blocks, result.offsets))
                break
            above = bisect_left(sums, target + 1)
            if result.fits is False:
                self.bound = max(self.bound, sums[above])
                target = self.bound
            else:
                target = sums[(above + bisect_left(sums, self.arena.bytes)) // 2]
        return states


def _top(blocks: Sequence[ArenaBlock], offsets: Sequence[int]) -> int:
    return max(offset + b.bytes for offset, b in zip(offsets, blocks, strict=True))


def _sums(sizes: Sequence[int], most: int) -> Sequence[int]:
    """Sums of some of ``sizes``, rising, up to ``most``: in a placement without a needless gap every end is one.

    When they are too many to list, all multiples of the sizes' common divisor.
    """
    unit = gcd(*sizes)
    if most // unit > MOST_SUMS:
        return range(0, most + unit, unit)
    reach, cut = 1, (1 << (most // unit + 1)) - 1
    for size in sizes:
        reach |= (reach << size // unit) & cut
    bits = bin(reach)[:1:-1]
    return [i * unit for i, bit in enumerate(bits) if bit == "1"]

"""Do these blocks fit into so many bytes? An exact search over skyline placements.

If a placement exists, one with the smallest sum of offsets exists, and in that one no block can be moved down. Taken by
rising offset, each of its blocks lies on the skyline of the blocks before it, so it is enough to try, again and again,
each block on the skyline, at offsets that never fall. The idea, and the rule about blocks that would fit below, are
those of MiniMalloc (Moffitt 2023, "MiniMalloc: A Lightweight Memory Allocator for Hardware-Accelerated Machine
Learning"); splitting and remembering failures are specific to this search. Blocks that are easy to place are set aside
first and placed when all others have their offsets.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import gcd
from time import monotonic

from mcusim.plan.allocators.greedy import ArenaBlock, gap


def set_aside_easy(blocks: Sequence[ArenaBlock], height: int) -> tuple[list[int], list[int]]:
    """The blocks that need a search at ``height`` bytes, and the others in the order in which they were taken away.

    A block of ``s`` bytes whose ``n`` neighbours (those alive with it) have ``t`` bytes together finds a gap wherever
    the neighbours are when ``height - t > (n + 1) * (s - unit)``: else all n + 1 gaps could be too small. ``unit`` is
    the common divisor of the sizes; no other offsets are needed than its multiples, so a rest of ``height`` counts for
    nothing. Taking one block away makes others easier. Sizes must be positive. Not modelled: nothing that would change
    the answer; the blocks fit if and only if those that need a search do.
    """
    unit = gcd(*(b.bytes for b in blocks))
    height -= height % unit if unit else 0
    left = set(range(len(blocks)))
    near = [{j for j in left if j != i and _together(b, blocks[j])} for i, b in enumerate(blocks)]
    load = [sum(blocks[j].bytes for j in js) for js in near]
    easy: list[int] = []
    queue = list(range(len(blocks)))
    while queue:
        i = queue.pop()
        if i not in left or height - load[i] <= (len(near[i]) + 1) * (blocks[i].bytes - unit):
            continue
        left.remove(i)
        easy.append(i)
        for j in sorted(near[i]):
            near[j].remove(i)
            load[j] -= blocks[i].bytes
            queue.append(j)
    return sorted(left), easy


def place_rest(blocks: Sequence[ArenaBlock], easy: Sequence[int], offsets: dict[int, int]) -> None:
    """Adds an offset for each of the ``easy`` blocks, last taken first, to those in ``offsets``: the first gap."""
    for i in reversed(easy):
        alive = sorted((at, at + blocks[j].bytes) for j, at in offsets.items() if _together(blocks[i], blocks[j]))
        offsets[i] = gap(alive, blocks[i].bytes)


def _together(a: ArenaBlock, b: ArenaBlock) -> bool:
    return a.first <= b.last and b.first <= a.last


REMEMBERED = 4_000_000  # integers in the keys of remembered failures, at most


@dataclass(frozen=True, slots=True)
class _Sections:
    """Blocks over the sections of time that matter: the steps whose set of live blocks lies in no other step's set.

    Block ``i`` (``sizes[i]`` bytes, > 0) lives in sections ``first[i]`` to ``last[i]``, both inclusive. ``twin[i]`` is
    the nearest earlier block of equal size and life, or -1.
    """

    sizes: tuple[int, ...]
    first: tuple[int, ...]
    last: tuple[int, ...]
    twin: tuple[int, ...]

    @staticmethod
    def of(blocks: Sequence[ArenaBlock]) -> _Sections:
        """Sections of ``blocks``, which are given by rising ``first`` and not empty."""
        ends = sorted(b.last for b in blocks)
        births = sorted({b.first for b in blocks})
        steps: list[float] = []
        for step, following in pairwise([*births, float("inf")]):
            at = bisect_left(ends, step)
            if at < len(ends) and ends[at] < following:
                steps.append(step)
        sizes = tuple(b.bytes for b in blocks)
        first = tuple(bisect_left(steps, b.first) for b in blocks)
        last = tuple(bisect_right(steps, b.last) - 1 for b in blocks)
        seen: dict[tuple[int, int, int], int] = {}
        twin = []
        for i, block in enumerate(zip(sizes, first, last, strict=True)):
            twin.append(seen.get(block, -1))
            seen[block] = i
        return _Sections(sizes, first, last, tuple(twin))


@dataclass(slots=True)
class Limit:
    """The search stops after ``states`` states or at ``deadline`` (seconds of ``time.monotonic``); counts down."""

    states: int
    deadline: float

    def reached(self) -> bool:
        """One more state; True when that is one too many."""
        self.states -= 1
        return self.states < 0 or (self.states % 64 == 0 and monotonic() > self.deadline)


@dataclass(frozen=True, slots=True)
class Fit:
    """``fits`` is None when the limit came first; ``offsets`` are given when it is True."""

    fits: bool | None
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _PartialPlacement:
    """Blocks still to place (``left``, rising), the skyline from section ``low`` on, and the placement made last."""

    left: tuple[int, ...]
    low: int
    skyline: tuple[int, ...]
    latest: tuple[int, int]  # (offset, block)


def fit(blocks: Sequence[ArenaBlock], height: int, limit: Limit) -> Fit:
    """Offsets for all ``blocks`` (by rising ``first``, sizes > 0) below ``height`` bytes, or proof that there are none.

    Blocks that fit wherever the others are (:func:`set_aside_easy`) come last. The rest is searched depth-first over
    skyline placements; a state is given up when in some section the blocks left do not fit above its skyline, and is
    not entered when it is known to fail. Worst case exponential in the number of blocks.
    Not modelled: alignment (sizes must be aligned, then offsets are).
    """
    hard, easy = set_aside_easy(blocks, height)
    search = _HeightSearch(_Sections.of([blocks[i] for i in hard]), height)
    answer = _run(search, limit)
    if not answer:
        return Fit(answer)
    offsets = dict(zip(hard, search.offsets, strict=True))
    place_rest(blocks, easy, offsets)
    return Fit(True, tuple(offsets[i] for i in range(len(blocks))))


def _run(search: _HeightSearch, limit: Limit) -> bool | None:
    """Whether the blocks of ``search`` fit; a stack of generators, so that depth is not bound by Python's own stack."""
    stack = [search.solve(search.start())]
    answer: bool | None = None
    while stack:
        try:
            below = next(stack[-1]) if answer is None else stack[-1].send(answer)
        except StopIteration as done:
            stack.pop()
            answer = done.value
            continue
        if limit.reached():
            return None
        stack.append(search.solve(below))
        answer = None
    return answer


class _HeightSearch:
    """One search at one height; ``offsets`` is filled when it succeeds."""

    def __init__(self, sections: _Sections, height: int) -> None:
        self.sections = sections
        self.height = height
        self.offsets = [0] * len(sections.sizes)
        self.failed: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[int, int]] = {}
        self.room = REMEMBERED

    def start(self) -> _PartialPlacement:
        """Nothing placed yet."""
        width = max(self.sections.last, default=-1) + 1
        return _PartialPlacement(tuple(range(len(self.offsets))), 0, (0,) * width, (0, -1))

    def solve(self, state: _PartialPlacement) -> Generator[_PartialPlacement, bool, bool]:
        """Yields the states whose answer it needs; returns whether the blocks left fit."""
        parts = self._parts(state)
        if len(parts) != 1:
            for part in parts:
                if not (yield part):
                    return False
            return True
        state = parts[0]
        lowest = self._lowest(state)
        skyline = self._raised(state, lowest)
        if skyline is None:
            return False
        key = (state.left, skyline)
        if key in self.failed and self.failed[key] <= state.latest:
            return False
        for i in self._candidates(state, lowest):
            self.offsets[i] = lowest[i]
            if (yield self._placed(state, skyline, i, lowest[i])):
                return True
        self._remember(key, state.latest)
        return False

    def _parts(self, state: _PartialPlacement) -> list[_PartialPlacement]:
        """``state`` cut where no block left lives on from one section to the next."""
        first, last = self.sections.first, self.sections.last
        groups: list[tuple[int, int, list[int]]] = []  # (first section, last section, blocks)
        for i in state.left:
            if groups and first[i] <= groups[-1][1]:
                low, high, members = groups[-1]
                members.append(i)
                groups[-1] = (low, max(high, last[i]), members)
            else:
                groups.append((first[i], last[i], [i]))
        return [
            _PartialPlacement(tuple(members), low, state.skyline[low - state.low : high + 1 - state.low], state.latest)
            for low, high, members in groups
        ]

    def _lowest(self, state: _PartialPlacement) -> dict[int, int]:
        """Offset of each block left if it were the next one."""
        first, last, low = self.sections.first, self.sections.last, state.low
        return {i: max(state.skyline[first[i] - low : last[i] + 1 - low]) for i in state.left}

    def _raised(self, state: _PartialPlacement, lowest: dict[int, int]) -> tuple[int, ...] | None:
        """The skyline up to where the blocks left can begin at all; None when they do not fit above it."""
        sections, low, height = self.sections, state.low, self.height
        total = [0] * len(state.skyline)
        raised = [height] * len(state.skyline)
        for i in state.left:
            size, offset = sections.sizes[i], lowest[i]
            if max(offset, state.latest[0]) + size > height:
                return None
            for section in range(sections.first[i] - low, sections.last[i] + 1 - low):
                total[section] += size
                if offset < raised[section]:
                    raised[section] = offset
        floor = state.latest[0]
        if any(max(start, floor) + bytes_left > height for start, bytes_left in zip(raised, total, strict=True)):
            return None
        return tuple(raised)

    def _candidates(self, state: _PartialPlacement, lowest: dict[int, int]) -> list[int]:
        """Blocks that may come next: none that leaves room below itself for another one, and twins in order.

        Of equal offsets the earliest life is first, so that what is tried again stays close in time to what failed.
        """
        sections, left = self.sections, set(state.left)
        roof = min(lowest[i] + sections.sizes[i] for i in state.left)
        able = [
            i for i in state.left if lowest[i] < roof and (lowest[i], i) > state.latest and sections.twin[i] not in left
        ]
        return sorted(able, key=lambda i: (lowest[i], sections.first[i], -sections.sizes[i], i))

    def _placed(self, state: _PartialPlacement, skyline: tuple[int, ...], i: int, offset: int) -> _PartialPlacement:
        first, end = self.sections.first[i] - state.low, self.sections.last[i] + 1 - state.low
        roof = (offset + self.sections.sizes[i],) * (end - first)
        left = tuple(j for j in state.left if j != i)
        return _PartialPlacement(left, state.low, skyline[:first] + roof + skyline[end:], (offset, i))

    def _remember(self, key: tuple[tuple[int, ...], tuple[int, ...]], latest: tuple[int, int]) -> None:
        self.room -= len(key[0]) + len(key[1])
        if self.room >= 0:
            self.failed[key] = min(latest, self.failed.get(key, latest))

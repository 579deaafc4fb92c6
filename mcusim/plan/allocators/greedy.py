"""Arena planning: an offset for every buffer so that buffers alive together never overlap.

:func:`greedy_by_size` is TensorFlow Lite Micro's GreedyMemoryPlanner (buffers by falling size, each into the first gap
between the buffers already placed that are alive at the same time). :func:`plan_arena` tries several orders and both
gap rules, that one included, and keeps the smallest arena, so it is never worse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ArenaBlock:
    """A buffer of ``bytes`` bytes, alive at steps ``first`` to ``last``, both inclusive."""

    bytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Arena:
    """``offsets[i]`` belongs to block ``i``; ``bytes`` is the first byte after all blocks, aligned."""

    offsets: tuple[int, ...]
    bytes: int


def align_up(value: int, align: int) -> int:
    """``value`` rounded up to a multiple of ``align`` (>= 1)."""
    return -(-value // align) * align


def greedy_by_size(blocks: Sequence[ArenaBlock], align: int = 16, fixed: Mapping[int, int] | None = None) -> Arena:
    """TFLM's GreedyMemoryPlanner: by falling aligned size (equal sizes: last first), first gap large enough.

    The TFLM planner fills its list from the tail before a stable sort, hence the order of equal sizes; give the blocks
    in tensor order to get its result. ``fixed``: offsets by block, as an offline memory plan has them; those blocks
    stay there, overlapping or not, and the others are put around them.
    """
    sized = _aligned(blocks, align)
    return _place(sized, _by_size(sized), best_fit=False, fixed=fixed)


def plan_arena(blocks: Sequence[ArenaBlock], align: int = 16) -> Arena:
    """The smallest arena found for ``blocks``; every offset is a multiple of ``align`` and live blocks never overlap.

    Deterministic, O(n^2) per order tried and at most twelve tries; it stops at the first that reaches the lower bound
    (the peak of live aligned bytes). Not modelled: an exact search, so the bound is not always reached when it could
    be.
    """
    sized = _aligned(blocks, align)
    bound = max(live_bytes(sized), default=0)
    best: Arena | None = None
    for order in _orders(sized):
        for best_fit in (False, True):
            arena = _place(sized, order(), best_fit)
            if best is None or arena.bytes < best.bytes:
                best = arena
            if best.bytes == bound:
                return best
    return best if best is not None else Arena((), 0)


def gap(alive: Sequence[tuple[int, int]], needed: int, best_fit: bool = False) -> int:
    """Offset of the first (or the smallest) gap of at least ``needed`` bytes between the ``alive`` ranges.

    ``alive`` has (start, end) pairs sorted by start; after the last of them there is always room.
    """
    free, choice, size = 0, -1, -1
    for start, end in alive:
        if start - free >= needed and (choice < 0 or start - free < size):
            if not best_fit:
                return free
            choice, size = free, start - free
        free = max(free, end)
    return choice if choice >= 0 else free


def live_bytes(blocks: Sequence[ArenaBlock]) -> list[int]:
    """Sum of the blocks alive at each step, from step 0 to the last one."""
    steps = max((b.last for b in blocks), default=-1) + 1
    change = [0] * (steps + 1)
    for b in blocks:
        change[b.first] += b.bytes
        change[b.last + 1] -= b.bytes
    total, live = [], 0
    for delta in change[:steps]:
        live += delta
        total.append(live)
    return total


def _aligned(blocks: Sequence[ArenaBlock], align: int) -> list[ArenaBlock]:
    return [ArenaBlock(align_up(b.bytes, align), b.first, b.last) for b in blocks]


def _by_size(blocks: Sequence[ArenaBlock]) -> list[int]:
    return sorted(range(len(blocks)), key=lambda i: (-blocks[i].bytes, -i))


def _orders(blocks: Sequence[ArenaBlock]) -> Iterable[Callable[[], list[int]]]:
    """Orders of placement, each computed when it is asked for; TFLM's first."""

    def sort(key: Callable[[ArenaBlock], tuple[int, ...]]) -> Callable[[], list[int]]:
        return lambda: sorted(range(len(blocks)), key=lambda i: (*key(blocks[i]), i))

    yield lambda: _by_size(blocks)
    yield lambda: _by_breadth(blocks)
    yield sort(lambda b: (-b.bytes,))
    yield sort(lambda b: (b.first, -b.bytes))
    yield sort(lambda b: (b.first - b.last, -b.bytes))
    yield sort(lambda b: (-b.bytes * (b.last - b.first + 1),))


def _by_breadth(blocks: Sequence[ArenaBlock]) -> list[int]:
    """Steps by falling live bytes; at each step its blocks by falling size, those already listed left out."""
    live = live_bytes(blocks)
    at: list[list[int]] = [[] for _ in live]
    for i, b in enumerate(blocks):
        for step in range(b.first, b.last + 1):
            at[step].append(i)
    order: dict[int, None] = {}
    for step in sorted(range(len(live)), key=lambda s: (-live[s], s)):
        for i in sorted(at[step], key=lambda i: (-blocks[i].bytes, i)):
            order.setdefault(i)
    return list(order)


def _place(
    blocks: Sequence[ArenaBlock], order: Sequence[int], best_fit: bool, fixed: Mapping[int, int] | None = None
) -> Arena:
    """Each block of ``order`` into the first (or the smallest) gap among the placed blocks alive with it."""
    held = fixed or {}
    offsets = [held.get(i, 0) for i in range(len(blocks))]
    # (start, end, first, last)
    placed = [(at, at + blocks[i].bytes, blocks[i].first, blocks[i].last) for i, at in held.items()]
    for i in order:
        if i in held:
            continue
        b = blocks[i]
        alive = sorted((s, e) for s, e, first, last in placed if first <= b.last and b.first <= last)
        offsets[i] = gap(alive, b.bytes, best_fit)
        placed.append((offsets[i], offsets[i] + b.bytes, b.first, b.last))
    return Arena(tuple(offsets), max((end for _, end, _, _ in placed), default=0))

"""The allocators by name, for the same residents; ``linear`` is TFLM's planner that reuses no memory."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from time import monotonic

from mcusim.errors import UsageError
from mcusim.plan.allocators.dynamic import BufferMove, Moves, dynamic
from mcusim.plan.allocators.greedy import Arena, ArenaBlock, align_up, greedy_by_size, live_bytes
from mcusim.plan.allocators.optimal import optimal

OFFLINE = "offline"  # the allocator that needs the plan of a model's file


def linear(blocks: Sequence[ArenaBlock], align: int = 16) -> Arena:
    """TFLM's LinearMemoryPlanner: the blocks one after the other in the order given, none sharing its place.

    ``Arena.bytes`` is the sum of all aligned sizes: what an engine needs that never reclaims a tensor (the static
    allocation of Liberis & Lane 2019, Table 1). Not modelled: lifetimes, which do not matter here.
    """
    ends = list(accumulate((align_up(b.bytes, align) for b in blocks), initial=0))
    return Arena(tuple(ends[:-1]), ends[-1])


Places = tuple[tuple[tuple[int, int], ...], ...]


@dataclass(frozen=True)
class Placed:
    """Where an allocator puts each block, and what that needs.

    ``places[i]``: (step, offset) pairs by rising step; block ``i`` is at that offset from that step on. ``bytes``: the
    first byte after all blocks. ``bound``: no placement needs less. ``moves``: what is copied in between.
    """

    allocator: str
    align: int
    bytes: int
    bound: int
    places: Places
    moves: tuple[BufferMove, ...]
    seconds: float

    @property
    def gap(self) -> int:
        """Bytes above the proven bound; 0 when no allocator needs less."""
        return self.bytes - self.bound

    @property
    def moved_bytes(self) -> int:
        """Bytes copied by all moves together."""
        return sum(move.bytes for move in self.moves)

    def offset(self, block: int, step: int) -> int:
        """Offset of ``block`` while step ``step`` runs; the step must lie in the block's life."""
        places = self.places[block]
        return places[bisect_right(places, step, key=lambda place: place[0]) - 1][1]

    def tops(self, blocks: Sequence[ArenaBlock], steps: int) -> tuple[int, ...]:
        """The first byte after the ``blocks`` in use at each step; 0 where there is none."""
        numbers = [0] * steps
        for i, b in enumerate(blocks):
            for step in range(b.first, min(b.last + 1, steps)):
                numbers[step] = max(numbers[step], self.offset(i, step) + b.bytes)
        return tuple(numbers)

    @property
    def offsets(self) -> tuple[int, ...]:
        """The offset of each block; UsageError for an allocator that moves them."""
        if any(len(places) != 1 for places in self.places):
            raise UsageError(f"the {self.allocator} allocator moves tensors: they have no fixed offsets")
        return tuple(places[0][1] for places in self.places)


def allocate(
    blocks: Sequence[ArenaBlock],
    allocator: str,
    align: int = 16,
    seconds: float = 10.0,
    stored: Mapping[int, int] | None = None,
) -> Placed:
    """Place ``blocks`` with one of :data:`ALLOCATORS`; ``seconds`` limits the search of ``optimal``.

    ``stored`` are offsets, by block, of a plan in the model's file: ``offline`` puts the other blocks around them, as
    TFLM does, and ``optimal`` keeps them where it finds nothing smaller.

    The bound is the peak of live aligned bytes, or what ``optimal`` proves on top of it for blocks that do not move.
    Raises UsageError for another name or an alignment that is no power of two. Not modelled: headers between blocks.
    """
    if allocator not in (*ALLOCATORS, OFFLINE):
        raise UsageError(f"allocator {allocator!r}: must be one of {', '.join((*ALLOCATORS, OFFLINE))}")
    if align < 1 or align & (align - 1):
        raise UsageError(f"an alignment of {align} B: must be a power of two")
    began = monotonic()
    if allocator == OFFLINE:
        entry = _stored(blocks, align, stored or {})
    else:
        entry = ALLOCATORS[allocator](blocks, align, seconds)
        if allocator == "optimal" and stored:
            entry = min(entry, _stored(blocks, align, stored), key=lambda item: item[0])
    bytes_, bound, places, moves = entry
    return Placed(allocator, align, bytes_, min(bound, bytes_), places, moves, monotonic() - began)


_Result = tuple[int, int, Places, tuple[BufferMove, ...]]


def _linear(blocks: Sequence[ArenaBlock], align: int, _: float) -> _Result:
    return _fixed(blocks, linear(blocks, align), _floor(blocks, align))


def _greedy(blocks: Sequence[ArenaBlock], align: int, _: float) -> _Result:
    return _fixed(blocks, greedy_by_size(blocks, align), _floor(blocks, align))


def _stored(blocks: Sequence[ArenaBlock], align: int, offsets: Mapping[int, int]) -> _Result:
    arena = greedy_by_size(blocks, align, offsets)
    whole = Arena(arena.offsets, align_up(arena.bytes, align))  # the offsets can be any
    return _fixed(blocks, whole, _floor(blocks, align))


def _optimal(blocks: Sequence[ArenaBlock], align: int, seconds: float) -> _Result:
    optimum = optimal(blocks, align, seconds)
    return _fixed(blocks, optimum.arena, optimum.bound)


def _dynamic(blocks: Sequence[ArenaBlock], align: int, _: float) -> _Result:
    moves: Moves = dynamic(blocks, align)
    return moves.bytes, _floor(blocks, align), moves.places, moves.moves


def _fixed(blocks: Sequence[ArenaBlock], arena: Arena, bound: int) -> _Result:
    return arena.bytes, bound, tuple(((b.first, at),) for b, at in zip(blocks, arena.offsets, strict=True)), ()


def _floor(blocks: Sequence[ArenaBlock], align: int) -> int:
    return max(live_bytes([ArenaBlock(align_up(b.bytes, align), b.first, b.last) for b in blocks]), default=0)


ALLOCATORS: dict[str, Callable[[Sequence[ArenaBlock], int, float], _Result]] = {
    "linear": _linear,
    "greedy": _greedy,
    "dynamic": _dynamic,
    "optimal": _optimal,
}

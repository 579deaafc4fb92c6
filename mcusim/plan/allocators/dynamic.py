"""The dynamic allocator of Liberis & Lane 2019: buffers come and go, and after every operator they move together."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from mcusim.errors import UsageError
from mcusim.plan.allocators.greedy import ArenaBlock, align_up, live_bytes

MOST_MOVES = 1_000_000  # a move and what is known of it take some 200 B


@dataclass(frozen=True, slots=True)
class BufferMove:
    """After step ``step``, ``bytes`` bytes of block ``block`` go from offset ``source`` down to offset ``target``.

    The two ranges may overlap: the copy is a memmove, lowest byte first.
    """

    step: int
    block: int
    source: int
    target: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Moves:
    """What a dynamic allocator did.

    ``places[i]`` has the (step, offset) pairs of block ``i`` by rising step: from that step on it is at that offset.
    ``moves`` is in the order of execution; ``bytes`` is the first byte after all blocks at the fullest moment.
    """

    places: tuple[tuple[tuple[int, int], ...], ...]
    moves: tuple[BufferMove, ...]
    bytes: int

    def offset(self, block: int, step: int) -> int:
        """Offset of ``block`` while step ``step`` runs; the step must lie in the block's life."""
        places = self.places[block]
        return places[bisect_right(places, step, key=lambda place: place[0]) - 1][1]

    @property
    def moved_bytes(self) -> int:
        """Bytes copied by all moves together."""
        return sum(move.bytes for move in self.moves)


def dynamic(blocks: Sequence[ArenaBlock], align: int = 16) -> Moves:
    """Liberis & Lane 2019, section 4: "moving all tensor buffers to the start of the memory region as much as possible
    after the execution of every operator".

    The rule, step by step:

    1. Before step ``s`` every block with ``first == s`` is placed, in the order given, into the first gap between live
       blocks that fits its aligned size. Rule 3 left no gap, so that is after the last live block.
    2. After step ``s`` every block with ``last == s`` is freed.
    3. Then each block still alive, by rising offset, moves down to the end of the one before it (the first to 0). Order
       of addresses is kept, so no move touches a block that has not moved yet. A block already there is not copied; a
       copy moves its own bytes and no padding.

    ``Moves.bytes`` therefore equals the peak of live aligned bytes, the lower bound of every allocator. Nothing
    outlives its ``last``, so a graph's outputs do not move after the last step; for that let them live a step longer.
    Time and memory O(blocks alive, summed over the steps with a birth or a death); UsageError when that sum could pass
    :data:`MOST_MOVES`. Not modelled: the cost of a move, headers between buffers, and allocators that move only when a
    block does not fit.
    """
    most = moves_at_most(blocks)
    if most > MOST_MOVES:
        raise UsageError(f"the dynamic allocator could make {most:,} moves here; it does up to {MOST_MOVES:,}")
    sizes = [align_up(b.bytes, align) for b in blocks]
    places: list[list[tuple[int, int]]] = [[] for _ in blocks]
    moves: list[BufferMove] = []
    live: list[int] = []  # by rising offset, without gaps while a step runs
    end = peak = 0
    for step, born in _births(blocks):
        for i in born:
            places[i].append((step, end))
            end += sizes[i]
        peak = max(peak, end)
        live = [i for i in (*live, *born) if blocks[i].last > step]
        end = _compact(step, live, sizes, places, moves, blocks)
    return Moves(tuple(map(tuple, places)), tuple(moves), peak)


def moves_at_most(blocks: Sequence[ArenaBlock]) -> int:
    """A bound on the moves that :func:`dynamic` makes: the blocks alive, summed over the steps at which it looks."""
    counts = live_bytes([ArenaBlock(1, b.first, b.last) for b in blocks])
    return sum(counts[step] for step, _ in _births(blocks))


def _births(blocks: Sequence[ArenaBlock]) -> list[tuple[int, list[int]]]:
    """Every step at which a block is born or dies, with the blocks born at it."""
    steps: dict[int, list[int]] = {step: [] for b in blocks for step in (b.first, b.last)}
    for i, b in enumerate(blocks):
        steps[b.first].append(i)
    return sorted(steps.items())


def _compact(
    step: int,
    live: Sequence[int],
    sizes: Sequence[int],
    places: Sequence[list[tuple[int, int]]],
    moves: list[BufferMove],
    blocks: Sequence[ArenaBlock],
) -> int:
    """Moves the ``live`` blocks together after ``step``; the first byte after them."""
    end = 0
    for i in live:
        source = places[i][-1][1]
        if source != end:
            places[i].append((step + 1, end))
            if blocks[i].bytes:
                moves.append(BufferMove(step, i, source, end, blocks[i].bytes))
        end += sizes[i]
    return end

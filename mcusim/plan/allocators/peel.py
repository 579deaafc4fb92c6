"""Blocks so easy to place that they can wait until all others have their offsets."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from mcusim.plan.allocators.greedy import Block, gap

__all__ = ["peel", "put_back"]


def peel(blocks: Sequence[Block], height: int) -> tuple[list[int], list[int]]:
    """The blocks that need a search at ``height`` bytes, and the others in the order in which they were taken away.

    A block of ``s`` bytes whose ``n`` neighbours (those alive with it) have ``t`` bytes together finds a gap wherever
    the neighbours are when ``height - t > (n + 1) * (s - unit)``: else all n + 1 gaps could be too small. ``unit`` is
    the common divisor of the sizes; no other offsets are needed than its multiples, so a rest of ``height`` counts for
    nothing. Taking one block away makes others easier. Sizes must be positive. Leaves out: nothing that would change
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


def put_back(blocks: Sequence[Block], easy: Sequence[int], offsets: dict[int, int]) -> None:
    """Adds an offset for each of the ``easy`` blocks, last taken first, to those in ``offsets``: the first gap."""
    for i in reversed(easy):
        alive = sorted((at, at + blocks[j].bytes) for j, at in offsets.items() if _together(blocks[i], blocks[j]))
        offsets[i] = gap(alive, blocks[i].bytes)


def _together(a: Block, b: Block) -> bool:
    return a.first <= b.last and b.first <= a.last

"""A graph's operators as bit sets: who comes before whom, and which tensors each lets live and die.

Sets of operators are integers with a bit for each. Left out: constants (they stay where the weights are).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mcusim.model.graph import Graph

__all__ = ["Precedence", "members"]


def members(bits: int) -> Iterator[int]:
    """The members of a set, rising."""
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


@dataclass(frozen=True)
class Precedence:
    """For operator ``i``: ``before[i]`` and ``after[i]`` the operators that directly come before and after it,
    ``results[i]`` bytes of its outputs, ``reads[i]`` the tensors it may be the last to read, ``waste[i]`` bytes of
    outputs that nobody reads. For tensor ``t``: ``size[t]``, ``readers[t]``, ``kept[t]`` (a graph output).

    ``start`` bytes are alive before the first operator, ``unread`` more of them only until it has run.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    results: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]
    waste: tuple[int, ...]
    size: dict[int, int]
    readers: dict[int, int]
    producer: dict[int, int]
    kept: frozenset[int]
    start: int
    unread: int

    @property
    def count(self) -> int:
        return len(self.before)

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """All operators that come before each one."""
        found: list[int] = []
        for i in range(self.count):  # a graph's operators stand in an order that works
            every = self.before[i]
            for j in members(self.before[i]):
                every |= found[j]
            found.append(every)
        return tuple(found)

    @cached_property
    def descendants(self) -> tuple[int, ...]:
        """All operators that come after each one."""
        found = [0] * self.count
        for i in reversed(range(self.count)):
            for j in members(self.before[i]):
                found[j] |= found[i] | 1 << i
        return tuple(found)


def precedence(graph: Graph) -> Precedence:
    """The precedence of ``graph``, whose operators stand in an order that works."""
    n = len(graph.operators)
    live = {t for t in graph.inputs if not graph.tensors[t].constant}
    producer: dict[int, int] = {}
    for op in graph.operators:
        producer |= dict.fromkeys(op.outputs, op.index)
    readers = dict.fromkeys([*live, *producer], 0)
    reads: list[tuple[int, ...]] = []
    for op in graph.operators:
        mine = tuple(dict.fromkeys(t for t in op.inputs if t in readers))
        reads.append(mine)
        for t in mine:
            readers[t] |= 1 << op.index
    size = {t: graph.tensors[t].bytes for t in readers}
    kept = frozenset(t for t in graph.outputs if t in readers)
    before, after = [0] * n, [0] * n
    for t, who in readers.items():
        if t in producer:
            after[producer[t]] |= who
            for i in members(who):
                before[i] |= 1 << producer[t]
    unread = {t for t in live if not readers[t] and t not in kept}
    return Precedence(
        tuple(before),
        tuple(after),
        tuple(sum(size[t] for t in set(op.outputs)) for op in graph.operators),
        tuple(reads),
        tuple(sum(size[t] for t in set(op.outputs) if not readers[t] and t not in kept) for op in graph.operators),
        size,
        readers,
        producer,
        kept,
        sum(size[t] for t in live),
        sum(size[t] for t in unread),
    )

"""A graph's operators as bit sets: which come before which, and which tensors each creates and frees.

Sets of operators are integers with a bit for each; tensors that share bytes count as the one that is made first. Left
out: kernels' scratch buffers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from mcusim.model.graph import Graph
from mcusim.plan.liveness.accounting import Accounting, sharing, weights_bytes


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
    outputs that nobody reads, ``in_place_candidates[i]`` the tensors whose place its output takes when one of them dies
    at it, ``extra[i]`` bytes that are needed while it runs. For tensor ``t``: ``size[t]``, ``readers[t]``, ``kept[t]``
    (a graph output).

    ``start`` bytes are alive before the first operator, ``resident`` of them all the time, ``unread`` more of them only
    until it has run.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    results: tuple[int, ...]
    reads: tuple[tuple[int, ...], ...]
    waste: tuple[int, ...]
    in_place_candidates: tuple[tuple[int, ...], ...]
    extra: tuple[int, ...]
    size: dict[int, int]
    readers: dict[int, int]
    producer: dict[int, int]
    kept: frozenset[int]
    start: int
    resident: int
    unread: int

    @property
    def count(self) -> int:
        return len(self.before)

    @cached_property
    def savers(self) -> int:
        """The operators that may free as much as they make."""
        most = [sum(self.size[t] for t in ts if t not in self.kept) for ts in self.reads]
        return sum(1 << i for i in range(self.count) if self.results[i] - self.waste[i] <= most[i])

    @cached_property
    def ancestors(self) -> tuple[int, ...]:
        """All operators that come before each one."""
        masks: list[int] = []
        for i in range(self.count):  # a graph's operators are in an order in which they can run
            every = self.before[i]
            for j in members(self.before[i]):
                every |= masks[j]
            masks.append(every)
        return tuple(masks)

    @cached_property
    def descendants(self) -> tuple[int, ...]:
        """All operators that come after each one."""
        masks = [0] * self.count
        for i in reversed(range(self.count)):
            for j in members(self.before[i]):
                masks[j] |= masks[i] | 1 << i
        return tuple(masks)


def precedence(graph: Graph, accounting: Accounting) -> Precedence:
    """The precedence of ``graph``, whose operators are in an order in which they can run."""
    shares = sharing(graph, accounting.in_place)
    storage_of = shares.storage_of
    state = {t.index for t in graph.tensors if t.variable}
    made = {storage_of[t]: op.index for op in graph.operators for t in {*op.outputs} - state if storage_of[t] == t}
    live = {t for t in graph.inputs if not graph.tensors[t].constant}
    readers = dict.fromkeys([*live, *made], 0)
    reads = []
    for op in graph.operators:
        mine = tuple(dict.fromkeys(storage_of[t] for t in op.inputs if t >= 0 and storage_of[t] in readers))
        reads.append(mine)
        for t in mine:
            readers[t] |= 1 << op.index
    size = {t: graph.tensors[t].bytes for t in readers}
    kept = frozenset(storage_of[t] for t in graph.outputs if storage_of[t] in readers)
    before, after = _neighbours(graph)
    results = [
        [t for t in dict.fromkeys(op.outputs) if storage_of[t] == t and t not in state] for op in graph.operators
    ]
    streamed = accounting.weights == "streamed"
    always = weights_bytes(graph) if accounting.weights == "resident" else 0
    return Precedence(
        before,
        after,
        tuple(sum(size[t] for t in ts) for ts in results),
        tuple(reads),
        tuple(sum(size[t] for t in ts if not readers[t] and t not in kept) for ts in results),
        shares.in_place_candidates,
        tuple(weights_bytes(graph, op) if streamed else 0 for op in graph.operators),
        size,
        readers,
        made,
        kept,
        sum(size[t] for t in live) + always,
        always,
        sum(size[t] for t in live if not readers[t] and t not in kept),
    )


def _neighbours(graph: Graph) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The operators that directly come before and after each one, by the tensors themselves; those that use the same
    variable stay in their order, but for reads between two writes."""
    before, after = [0] * len(graph.operators), [0] * len(graph.operators)

    def pair(first: int, second: int) -> None:
        before[second] |= 1 << first
        after[first] |= 1 << second

    producer = {t: op.index for op in graph.operators for t in op.outputs if not graph.tensors[t].variable}
    for op in graph.operators:
        for t in op.inputs:
            if t in producer:
                pair(producer[t], op.index)
    for first, second in _uses_in_order(graph):
        pair(first, second)
    return tuple(before), tuple(after)


def _uses_in_order(graph: Graph) -> Iterator[tuple[int, int]]:
    """Pairs of operators of which the second may not come before the first, because one of them writes a variable that
    the other uses."""
    for t in (tensor.index for tensor in graph.tensors if tensor.variable):
        writer, readers = -1, list[int]()
        for op in (op for op in graph.operators if t in op.inputs or t in op.outputs):
            if t in op.outputs or op.traits.keeps_state:
                yield from ((reader, op.index) for reader in readers if reader != op.index)
                if writer >= 0:
                    yield writer, op.index
                writer, readers = op.index, []
            else:
                if writer >= 0:
                    yield writer, op.index
                readers.append(op.index)

"""The least peak of all orders by two ways that share nothing with the search: every order one by one, and every set.

What is counted, from the definition: bytes belong to a store, and each tensor to one store. A store lives from the
operator that makes it (a graph input: from the first) to the last operator that reads a tensor in it, or to the end
when a graph output is in it; one that nobody reads lives while it is made. In place: the output of a RESHAPE, SQUEEZE
or EXPAND_DIMS lies in its input's store, and the output of an element-wise operator takes the bytes of an input of
equal shape and bytes whose store dies there, unless another input has these bytes in another shape. Streamed:
constants count while an operator that reads them runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcusim.model import Graph, Operator

VIEWS = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")
ELEMENTWISE = ("ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "RELU", "RELU6", "TANH", "LOGISTIC", "HARD_SWISH")


@dataclass(frozen=True)
class Stores:
    """``size`` of each store, the operators that read it, those kept to the end, those there at the start; for each
    operator the stores it reads, makes, may take over, and the bytes of its constants; whom it must come after."""

    size: dict[int, int]
    readers: dict[int, set[int]]
    kept: set[int]
    start: set[int]
    reads: list[set[int]]
    makes: list[set[int]]
    hosts: list[set[int]]
    constants: list[int]
    after: list[set[int]]

    @property
    def unread(self) -> int:
        """Bytes that are there while the first operator runs, and no longer."""
        return sum(self.size[s] for s in self.start if not self.readers[s] and s not in self.kept)


def stores(graph: Graph, in_place: bool = False, streamed: bool = False) -> Stores:
    where = {t.index: t.index for t in graph.tensors if not t.constant}
    producer = {t: op.index for op in graph.operators for t in op.outputs}
    for op in graph.operators:
        if in_place and op.type in VIEWS and op.inputs[0] in where:
            where[op.outputs[0]] = where[op.inputs[0]]
    reads = [{where[t] for t in op.inputs if t in where} for op in graph.operators]
    kept = {where[t] for t in graph.outputs}
    return Stores(
        size={s: graph.tensors[s].bytes for s in set(where.values())},
        readers={s: {i for i, mine in enumerate(reads) if s in mine} for s in set(where.values())},
        kept=kept,
        start={where[t] for t in graph.inputs},
        reads=reads,
        makes=[{t for t in op.outputs if where[t] == t} for op in graph.operators],
        hosts=[_hosts(graph, op, where, kept) if in_place else set() for op in graph.operators],
        constants=[_constants(graph, op) if streamed else 0 for op in graph.operators],
        after=[{producer[t] for t in op.inputs if t in producer} for op in graph.operators],
    )


def _hosts(graph: Graph, op: Operator, where: dict[int, int], kept: set[int]) -> set[int]:
    if op.type not in ELEMENTWISE:
        return set()
    shapes: dict[int, set[tuple[int, ...]]] = {}
    for t in op.inputs:
        if t in where:
            shapes.setdefault(where[t], set()).add(graph.tensors[t].shape)
    out = graph.tensors[op.outputs[0]]
    return {s for s, found in shapes.items() if found == {out.shape} and s not in kept}


def _constants(graph: Graph, op: Operator) -> int:
    return sum(graph.tensors[t].bytes for t in set(op.inputs) if t >= 0 and graph.tensors[t].constant)


class Walk:
    """Runs operators one after the other and takes them back; ``live`` are the bytes between two of them."""

    def __init__(self, facts: Stores) -> None:
        self.facts = facts
        self.left = {s: len(readers) for s, readers in facts.readers.items()}
        self.waits = [len(after) for after in facts.after]
        self.follows: list[list[int]] = [[] for _ in facts.after]
        for i, after in enumerate(facts.after):
            for j in after:
                self.follows[j].append(i)
        self.ran: list[tuple[int, int]] = []
        self.live = sum(facts.size[s] for s in facts.start)

    def run(self, i: int) -> int:
        """Bytes while operator ``i`` runs, next."""
        facts, left = self.facts, self.left
        working = self.live + sum(facts.size[s] for s in facts.makes[i]) + facts.constants[i]
        freed = sum(facts.size[s] for s in facts.makes[i] if not left[s] and s not in facts.kept)
        freed += facts.constants[i] + (0 if self.ran else facts.unread)
        taken = 0
        for s in facts.reads[i]:
            left[s] -= 1
            if not left[s] and s not in facts.kept:
                freed += facts.size[s]
                taken = facts.size[s] if s in facts.hosts[i] else taken
        for j in self.follows[i]:
            self.waits[j] -= 1
        self.ran.append((i, self.live))
        self.live = working - freed
        return working - taken

    def back(self) -> None:
        i, self.live = self.ran.pop()
        for s in self.facts.reads[i]:
            self.left[s] += 1
        for j in self.follows[i]:
            self.waits[j] += 1


def usage_by_walk(graph: Graph, order: Sequence[int], in_place: bool = False, streamed: bool = False) -> list[int]:
    """Bytes at each step of ``order``, which must be one that works."""
    walk = Walk(stores(graph, in_place, streamed))
    usage = []
    for i in order:
        assert not walk.waits[i], "reads what is not there yet"
        usage.append(walk.run(i))
    assert sorted(order) == list(range(len(graph.operators)))
    return usage


def least_by_enumeration(graph: Graph, in_place: bool = False, streamed: bool = False) -> int:
    """Every order that works is walked from its first operator to its last."""
    walk, count, peaks = Walk(stores(graph, in_place, streamed)), len(graph.operators), set()
    todo = set(range(count))

    def every(peak: int) -> None:
        if not todo:
            peaks.add(peak)
        for i in [j for j in todo if not walk.waits[j]]:
            todo.remove(i)
            every(max(peak, walk.run(i)))
            walk.back()
            todo.add(i)

    every(0)
    return min(peaks)


def least_by_subsets(graph: Graph, in_place: bool = False, streamed: bool = False) -> int:
    """The paper's recursion on sets of operators that have run, smaller sets first."""
    facts, count = stores(graph, in_place, streamed), len(graph.operators)
    bits = {s: sum(1 << i for i in readers) for s, readers in facts.readers.items()}
    made = {s: 1 << i for i, mine in enumerate(facts.makes) for s in mine}
    after = [sum(1 << j for j in mine) for mine in facts.after]
    least: list[int | None] = [None] * (1 << count)
    least[0] = 0
    for done in range(1 << count):
        reached = least[done]
        if reached is None:
            continue
        alive = [s for s in facts.size if (s in facts.start or made[s] & done) and (s in facts.kept or bits[s] & ~done)]
        live = sum(facts.size[s] for s in alive) + (0 if done else facts.unread)
        for i in range(count):
            then = done | 1 << i
            if then == done or after[i] & ~done:
                continue
            needs = live + sum(facts.size[s] for s in facts.makes[i]) + facts.constants[i]
            needs -= max((facts.size[s] for s in facts.hosts[i] if not bits[s] & ~then), default=0)
            known, peak = least[then], max(reached, needs)
            least[then] = peak if known is None else min(known, peak)
    found = least[-1]
    assert found is not None, "some order always works"
    return found

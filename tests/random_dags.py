"""Graphs with random connections and sizes, cell networks, and their least peak by other means than the search."""

from __future__ import annotations

import random
from functools import cache
from itertools import permutations

from mcusim.errors import UsageError
from mcusim.model import Graph, Operator, Tensor
from mcusim.plan.lifetimes import peak_bytes


class Sketch:
    """Tensors and operators, one after the other."""

    def __init__(self, *inputs: int) -> None:
        self.tensors = [Tensor(i, f"input{i}", (size,), "int8") for i, size in enumerate(inputs)]
        self.inputs = tuple(range(len(inputs)))
        self.operators: list[Operator] = []

    def op(self, sources: list[int], *sizes: int) -> int:
        """An operator; the index of its last output."""
        outputs = []
        for size in sizes:
            self.tensors.append(Tensor(len(self.tensors), f"t{len(self.tensors)}", (size,), "int8"))
            outputs.append(self.tensors[-1].index)
        self.operators.append(Operator(len(self.operators), "ADD", tuple(sources), tuple(outputs)))
        return outputs[-1]

    def graph(self, outputs: tuple[int, ...] | None = None) -> Graph:
        read = {t for op in self.operators for t in op.inputs}
        ends = outputs if outputs is not None else tuple(t.index for t in self.tensors if t.index not in read)
        return Graph("sketch", tuple(self.tensors), tuple(self.operators), self.inputs, ends, "")


def random_dag(count: int, seed: int) -> Graph:
    """``count`` operators; some tensors are empty, some results nobody reads, some inputs too."""
    rng = random.Random(seed)
    sketch = Sketch(*(rng.randint(1, 50) for _ in range(rng.randint(1, 2))))
    for _ in range(count):
        n = len(sketch.tensors)
        sources = rng.sample(range(n), min(n, rng.choice((1, 1, 2, 3))))
        if rng.random() < 0.5:
            sources = [t for t in sources if t >= n - 4] or [n - 1]
        sketch.op(sources, *(rng.randint(0, 60) for _ in range(rng.choice((1, 1, 1, 2)))))
    ends = sketch.graph().outputs
    return sketch.graph(tuple(t for t in ends if rng.random() < 0.8) or ends[-1:])


def cell_network(count: int, seed: int) -> Graph:
    """Cells of five blocks on the two results before, as NASNet has them; at least ``count`` operators."""
    rng = random.Random(seed)
    sketch = Sketch(32 * 32 * 16)
    side, channels, last, older = 32, 16, 0, 0
    while len(sketch.operators) < count:
        if rng.random() < 0.2 and side > 4:
            side, channels = side // 2, channels * 2
        size = side * side * channels
        hidden = [sketch.op([last], size), sketch.op([older], size)]
        used: set[int] = set()
        for _ in range(5):
            pair = [rng.choice(hidden), rng.choice(hidden)]
            used.update(pair)
            ends = []
            for branch in pair:
                ends.append(branch)
                for _ in range(rng.choice((0, 1, 2, 4))):
                    ends[-1] = sketch.op([ends[-1]], size)
            hidden.append(sketch.op(ends, size))
        rest = [t for t in hidden if t not in used]
        last, older = sketch.op(rest, size * len(rest)), last
    return sketch.graph()


def least_by_enumeration(graph: Graph) -> int:
    """The least peak of all orders that work."""
    peaks = []
    for order in permutations(range(len(graph.operators))):
        try:
            peaks.append(peak_bytes(graph, order))
        except UsageError:  # reads before it is produced
            continue
    return min(peaks)


def least_by_subsets(graph: Graph) -> int:
    """The least peak by the paper's recursion, on sets of operators: which one runs last."""
    n = len(graph.operators)
    inputs = set(graph.inputs)
    readers = {t.index: [op.index for op in graph.operators if t.index in op.inputs] for t in graph.tensors}
    producer = {t: op.index for op in graph.operators for t in op.outputs}

    def alive(done: frozenset[int], now: int | None = None) -> int:
        total = 0
        for t in graph.tensors:
            made = t.index in inputs or producer[t.index] in done or producer[t.index] == now
            later = any(i not in done for i in readers[t.index]) or t.index in graph.outputs
            own = now is not None and (producer.get(t.index) == now or now in readers[t.index])
            first = now is not None and not done and t.index in inputs
            total += t.bytes if made and (later or own or first) else 0
        return total

    @cache
    def least(done: frozenset[int]) -> float:
        best = float("inf") if done else 0.0
        for i in done:
            before = done - {i}
            op = graph.operators[i]
            fed = all(producer[t] in before for t in op.inputs if t in producer)
            if fed and not any(j in before for t in op.outputs for j in readers[t]):
                best = min(best, max(least(before), alive(before, i)))
        return best

    return int(least(frozenset(range(n))))

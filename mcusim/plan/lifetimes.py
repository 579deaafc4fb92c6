"""Which tensors are alive while an operator runs, and how many bytes that is.

The working set of an operator is its activation inputs, its outputs, and every tensor produced earlier (or a graph
input) that a later operator still reads or that is a graph output. Constants are not counted: they stay where the
weights are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mcusim.errors import UsageError
from mcusim.model.graph import Graph

__all__ = ["Lifetime", "lifetimes", "peak_bytes", "usage_bytes"]


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Tensor ``tensor`` (``bytes`` long) is alive from step ``first`` to step ``last``, both inclusive.

    A step is a position in the execution order, not an operator index.
    """

    tensor: int
    bytes: int
    first: int
    last: int


def lifetimes(graph: Graph, order: Sequence[int] | None = None) -> tuple[Lifetime, ...]:
    """Lifetimes of all activations of ``graph``, by tensor index (the order TFLM plans them in).

    ``order`` lists operator indices in the order they run (default: as stored). Graph inputs live from step 0, graph
    outputs to the last step; a result that nobody reads lives while its producer runs.

    Raises UsageError when ``order`` is not a permutation of the operators or runs an operator before its producer.
    Leaves out: tensors that two operators could share in place (RESHAPE is an ordinary operator here).
    """
    steps = _checked(graph, order)
    first = {t: 0 for t in graph.inputs if not graph.tensors[t].constant}
    last = dict.fromkeys(first, 0)
    for step, index in enumerate(steps):
        operator = graph.operators[index]
        for t in operator.inputs:
            if t >= 0 and not graph.tensors[t].constant:
                if t not in first:
                    raise UsageError(f"operator {index} ({operator.type}) reads tensor {t} before it is produced")
                last[t] = step
        for t in operator.outputs:
            first.setdefault(t, step)
            last[t] = max(last.get(t, step), step)
    for t in graph.outputs:
        if t in first:
            last[t] = max(len(steps) - 1, 0)
    return tuple(Lifetime(t, graph.tensors[t].bytes, first[t], last[t]) for t in sorted(first))


def usage_bytes(graph: Graph, order: Sequence[int] | None = None) -> tuple[int, ...]:
    """Bytes of live activations at each step of ``order``, without alignment or fragmentation."""
    change = [0] * (len(graph.operators) + 2)
    for life in lifetimes(graph, order):
        change[life.first] += life.bytes
        change[life.last + 1] -= life.bytes
    usage, live = [], 0
    for delta in change[: len(graph.operators)]:
        live += delta
        usage.append(live)
    return tuple(usage)


def peak_bytes(graph: Graph, order: Sequence[int] | None = None) -> int:
    """Largest of :func:`usage_bytes`; 0 for a graph without operators."""
    return max(usage_bytes(graph, order), default=0)


def _checked(graph: Graph, order: Sequence[int] | None) -> Sequence[int]:
    everything = range(len(graph.operators))
    if order is None:
        return everything
    if sorted(order) != list(everything):
        raise UsageError(f"the order must name each of the {len(everything)} operators once")
    return order

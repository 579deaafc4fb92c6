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
from mcusim.plan.liveness.accounting import sharing


@dataclass(frozen=True, slots=True)
class Lifetime:
    """Tensor ``tensor`` (``bytes`` long) is alive from step ``first`` to step ``last``, both inclusive.

    A step is a position in the execution order, not an operator index. ``shared``: tensors that lie in the same bytes
    later on, in the order in which they are made; the life is that of all of them.
    """

    tensor: int
    bytes: int
    first: int
    last: int
    shared: tuple[int, ...] = ()


def lifetimes(graph: Graph, order: Sequence[int] | None = None, in_place: bool = False) -> tuple[Lifetime, ...]:
    """Lifetimes of all activations of ``graph``, by tensor index (the order TFLM plans them in).

    ``order`` lists operator indices in the order they run (default: as stored). Graph inputs live from step 0, graph
    outputs to the last step; a result that nobody reads lives while its producer runs. ``in_place``: tensors that can
    share bytes under this order (:func:`mcusim.plan.liveness.accounting.sharing`) have one lifetime; an output that
    could take the place of several inputs takes that of the first. Variables have no lifetime: they are kept.

    Raises UsageError when ``order`` is not a permutation of the operators or runs an operator before its producer.
    Not modelled: in-place results smaller than what they replace.
    """
    steps = _checked(graph, order)
    shares = sharing(graph, in_place)
    first, last = _spans(graph, steps, shares.storage_of)
    group = {t: t for t in first}
    members: dict[int, list[int]] = {t: [] for t in first}
    kept = {shares.storage_of[t] for t in graph.outputs}
    for step, index in enumerate(steps):
        for out in graph.operators[index].outputs:
            if not graph.tensors[out].variable and shares.storage_of[out] != out:
                members[group[shares.storage_of[out]]].append(out)
        dying = [t for t in shares.in_place_candidates[index] if last[t] == step and t not in kept]
        if dying:
            out, into = graph.operators[index].outputs[0], group[dying[0]]
            group[out] = into
            members[into].append(out)
            last[into] = last[out]
    alone = sorted(t for t in first if group[t] == t)
    return tuple(Lifetime(t, graph.tensors[t].bytes, first[t], last[t], tuple(members[t])) for t in alone)


def _spans(graph: Graph, steps: Sequence[int], storage_of: Sequence[int]) -> tuple[dict[int, int], dict[int, int]]:
    """First and last step of each activation that is no view."""
    made = {t for t in graph.inputs if not graph.tensors[t].constant} | unmade(graph)
    first = dict.fromkeys(made, 0)
    last = dict(first)
    for step, index in enumerate(steps):
        operator = graph.operators[index]
        for t in operator.inputs:
            if t >= 0 and not graph.tensors[t].constant and not graph.tensors[t].variable:
                if t not in made:
                    raise UsageError(f"operator {index} ({operator.type}) reads tensor {t} before it is produced")
                last[storage_of[t]] = step
        for t in operator.outputs:
            if graph.tensors[t].variable:
                continue
            made.add(t)
            first.setdefault(storage_of[t], step)
            last[storage_of[t]] = max(last.get(storage_of[t], step), step)
    for t in graph.outputs:
        if t in made:
            last[storage_of[t]] = max(len(steps) - 1, 0)
    return first, last


def unmade(graph: Graph) -> set[int]:
    """Activations that are read and that nothing makes, as an accelerator's scratch memory: there from the start on."""
    made = {t for op in graph.operators for t in op.outputs}.union(graph.inputs)
    read = [graph.tensors[t] for op in graph.operators for t in op.inputs if t >= 0 and t not in made]
    return {t.index for t in read if not t.constant and not t.variable}


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

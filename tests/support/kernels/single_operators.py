"""One operator of a graph as a graph of its own, and its output rows in pieces."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from mcusim.model import Graph, Operator, Tile, geometry


def tiles(graph: Graph, parts: int) -> list[Tile]:
    """Output rows in ``parts`` pieces, each with the input rows it needs and no others."""
    g, found = geometry(graph, graph.operators[0]), []
    edges = [round(part * g.out_h / parts) for part in range(parts + 1)]
    for first, last in pairwise(edges):
        if last > first:
            reach = (g.kernel_h - 1) * g.dilation_h + 1
            low = max(0, first * g.stride_h - g.pad_top)
            high = min(g.in_h, (last - 1) * g.stride_h - g.pad_top + reach)
            if g.type not in ("CONV_2D", "DEPTHWISE_CONV_2D", "AVERAGE_POOL_2D", "MAX_POOL_2D", "PAD"):
                low, high = first, last
            found.append(Tile(first, last - first, low, max(high, low) - low))
    return found


def alone(graph: Graph, op: Operator) -> Graph:
    """A graph of that one operator."""
    used = [*(i for i in dict.fromkeys(op.inputs) if i >= 0), *op.outputs]
    order = {old: new for new, old in enumerate(used)} | {-1: -1}
    tensors = tuple(replace(graph.tensors[old], index=order[old]) for old in used)
    inputs, outputs = (tuple(order[i] for i in part) for part in (op.inputs, op.outputs))
    data = tuple(order[i] for i in dict.fromkeys(op.inputs) if i >= 0 and not graph.tensors[i].constant)
    return Graph(graph.name, tensors, (replace(op, index=0, inputs=inputs, outputs=outputs),), data, outputs, "")

"""A graph some of whose operators run on parts of their output channels, so that a part's filter fits where the whole
does not.

Each part is an operator with its own filters, biases and scales; what they compute is joined along the channels. The
values are those of the whole operator, as each channel is computed from its own filter alone. Not modelled: parts of
convolutions in groups and of depthwise ones, whose channels have inputs of their own; parts that write straight into
the joined tensor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from mcusim.errors import UsageError
from mcusim.model.geometry import groups_of
from mcusim.model.graph import Graph, Operator, Quantization, Tensor
from mcusim.model.operators import JOIN
from mcusim.units import quoted

WORD = 4  # channels of a part are a multiple, where there are enough: kernels compute four at a time
MOST = 4096  # parts


def parse_counts(text: str) -> dict[int, int]:
    """``75:14,73:2`` as numbers by operator, in the operators' order. Raises UsageError."""
    counts: dict[int, int] = {}
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d{1,6})\s*:\s*(\d{1,6})\s*", part, re.ASCII)
        if match is None:
            raise UsageError(f"{quoted(part[:80])} is no operator's number with another one, as 75:14")
        operator, count = int(match[1]), int(match[2])
        if operator in counts:
            raise UsageError(f"operator {operator} is named twice")
        if not 1 <= count <= MOST:
            raise UsageError(f"{part.strip()}: must be 1 to {MOST}")
        counts[operator] = count
    return dict(sorted(counts.items()))


def counts_text(counts: Mapping[int, int]) -> str:
    """As :func:`parse_counts` reads it."""
    return ",".join(f"{operator}:{count}" for operator, count in sorted(counts.items()))


def channel_tileable(graph: Graph, op: Operator) -> str | None:
    """None for an operator that can run on parts of its output channels, or why it cannot."""
    if not op.traits.parametric or op.traits.depthwise or op.traits.keeps_state or len(op.outputs) != 1:
        return "it has no filter for each channel of its output"
    if graph.tensors[op.inputs[1]].stored_bytes is not None:
        return "its filters are packed"
    if groups_of(graph, op) > 1:
        return "its channels have inputs of their own, by groups"
    constants = [graph.tensors[t] for t in op.inputs[1:3] if t >= 0]
    channels = graph.tensors[op.outputs[0]].shape[-1]
    if len(op.inputs) > 3 or any(t.data is None or t.shape[0] != channels for t in constants):
        return "its filters are no constants in the order of its channels"
    return None


def channel_tiled(graph: Graph, counts: Mapping[int, int]) -> Graph:
    """``graph`` with operators, by number, in so many parts; itself where that is done already.

    Tensors keep their numbers, new ones come behind them. Raises UsageError for an operator that is not there, or
    cannot be cut so.
    """
    counts = {operator: count for operator, count in counts.items() if count > 1}
    text = counts_text(counts)
    if graph.channel_tiles == text:
        return graph
    _check(graph, counts)
    tensors, operators = list(graph.tensors), list[Operator]()
    for op in graph.operators:
        if op.index in counts:
            _cut(op, counts[op.index], tensors, operators)
        else:
            operators.append(replace(op, index=len(operators)))
    return replace(
        graph, tensors=tuple(tensors), operators=tuple(operators), offline_plan=None, channel_tiles=text
    )  # fmt: skip


def model_operators(graph: Graph) -> list[int]:
    """For each operator of ``graph`` the number of the model's that it is, or is a part of or joins parts of."""
    counts = parse_counts(graph.channel_tiles) if graph.channel_tiles else {}
    stored = len(graph.operators) - sum(counts.values())  # of n parts and what joins them n more than before
    whole = [k for k in range(stored) for _ in range(counts.get(k, 0) + 1)]
    return whole if graph.order is None else [whole[k] for k in graph.order]


def _check(graph: Graph, counts: Mapping[int, int]) -> None:
    for number, count in counts.items():
        if number >= len(graph.operators):
            raise UsageError(f"channel tiles: there is no operator {number}; the last is {len(graph.operators) - 1}")
        op = graph.operators[number]
        against = channel_tileable(graph, op)
        if against is not None:
            raise UsageError(f"channel tiles: operator {number}, {op.type}, has no parts: {against}")
        channels = graph.tensors[op.outputs[0]].shape[-1]
        if count > channels:
            raise UsageError(f"channel tiles: operator {number} has {channels} channels, which are no {count} parts")


def _cut(op: Operator, count: int, tensors: list[Tensor], operators: list[Operator]) -> None:
    """Append the parts of ``op`` and what joins them."""
    output = tensors[op.outputs[0]]
    parts = []
    for begin, end in pairwise(_edges(output.shape[-1], count)):
        inputs = [op.inputs[0]]
        for t in op.inputs[1:]:
            inputs.append(t if t < 0 else _part(tensors, tensors[t], begin, end))
        shape = (*output.shape[:-1], end - begin)
        tensors.append(replace(output, index=len(tensors), name=_name(output, begin, end), shape=shape))
        parts.append(len(tensors) - 1)
        operators.append(Operator(len(operators), op.type, tuple(inputs), (parts[-1],), op.options))
    options: dict[str, Any] = {"axis": len(output.shape) - 1, "activation": "NONE"}
    operators.append(Operator(len(operators), JOIN, tuple(parts), op.outputs, options))


def _edges(channels: int, count: int) -> list[int]:
    """Where parts begin and end: as equal as whole words allow."""
    unit = WORD if channels >= WORD * count else 1
    return [*(channels * n // count // unit * unit for n in range(count)), channels]


def _part(tensors: list[Tensor], whole: Tensor, begin: int, end: int) -> int:
    assert whole.data is not None  # the caller checked
    data = np.ascontiguousarray(whole.data[begin:end])
    data.setflags(write=False)
    tensors.append(
        replace(
            whole, index=len(tensors), name=_name(whole, begin, end), shape=(end - begin, *whole.shape[1:]), data=data,
            quantization=_scales(whole.quantization, begin, end),
        )
    )  # fmt: skip
    return len(tensors) - 1


def _scales(whole: Quantization | None, begin: int, end: int) -> Quantization | None:
    if whole is None or len(whole.scales) == 1:
        return whole
    zeros = whole.zero_points if len(whole.zero_points) == 1 else whole.zero_points[begin:end]
    return replace(whole, scales=whole.scales[begin:end], zero_points=zeros)


def _name(whole: Tensor, begin: int, end: int) -> str:
    return f"{whole.name[:80]} channels {begin}-{end - 1}"

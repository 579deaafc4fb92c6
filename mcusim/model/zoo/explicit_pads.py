"""A network as a PyTorch export stores it: an explicit PAD before every strided window, which then pads nothing."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from mcusim.model.geometry import geometry
from mcusim.model.graph import Graph, Operator, Tensor

__all__ = ["with_pads"]


def with_pads(graph: Graph) -> Graph:
    """``graph`` with a PAD before each CONV_2D and DEPTHWISE_CONV_2D of stride 2 or more that pads.

    A PAD adds half a kernel (rounded down) on every side, as PyTorch does for an odd kernel, and the window after it
    is VALID. SAME puts the odd row and column at the end, so that values differ by a shift of one pixel; shapes do not.
    Equal to ``graph`` where nothing strided pads. Not modelled: even kernels and dilation, whose windows stay as they
    are when half a kernel on each side would change the output's size.
    """
    tensors = list(graph.tensors)
    operators: list[Operator] = []
    for op in graph.operators:
        amounts = _amounts(graph, op)
        source, options = op.inputs[0], dict(op.options)
        if amounts is not None:
            operators.append(_pad(tensors, op, len(operators), amounts))
            source, options["padding"] = operators[-1].outputs[0], "VALID"
        operators.append(replace(op, index=len(operators), inputs=(source, *op.inputs[1:]), options=options))
    if len(operators) == len(graph.operators):
        return graph
    digest = hashlib.sha256(f"{graph.sha256} with pads".encode()).hexdigest()
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), sha256=digest)


def _amounts(graph: Graph, op: Operator) -> tuple[int, int] | None:
    """Rows and columns to add on each side; None where no PAD belongs."""
    if not (op.traits.parametric and op.traits.windowed):
        return None
    g = geometry(graph, op)
    if max(g.stride_h, g.stride_w) < 2 or not g.pad_top + g.pad_bottom + g.pad_left + g.pad_right:
        return None
    high, wide = g.kernel_h // 2, g.kernel_w // 2
    fits = (g.in_h + 2 * high - g.kernel_h) // g.stride_h + 1 == g.out_h
    fits &= (g.in_w + 2 * wide - g.kernel_w) // g.stride_w + 1 == g.out_w
    return (high, wide) if fits and g.dilation_h == g.dilation_w == 1 else None


def _pad(tensors: list[Tensor], op: Operator, index: int, amounts: tuple[int, int]) -> Operator:
    source, (high, wide) = tensors[op.inputs[0]], amounts
    table = np.array([[0, 0], [high, high], [wide, wide], [0, 0]], np.int32)
    table.setflags(write=False)
    n, h, w, c = source.shape
    tensors.append(Tensor(len(tensors), f"paddings_{index}", (4, 2), "int32", data=table))
    padded = replace(source, index=len(tensors), name=f"pad_{index}", shape=(n, h + 2 * high, w + 2 * wide, c))
    tensors.append(padded)
    return Operator(index, "PAD", (source.index, padded.index - 1), (padded.index,), {})

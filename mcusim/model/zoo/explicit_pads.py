"""A network as exports store it: explicit PADs before strided windows, or all convolutions, which then pad nothing."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import numpy as np

from mcusim.model.geometry import geometry
from mcusim.model.graph import Graph, Operator, Tensor


def with_pads(graph: Graph, everywhere: bool = False) -> Graph:
    """``graph`` with a PAD before each CONV_2D and DEPTHWISE_CONV_2D of stride 2 or more that pads.

    A PAD adds half a kernel (rounded down) on every side, as PyTorch does for an odd kernel, and the window after it
    is VALID. SAME puts the odd row and column at the end, so that values differ by a shift of one pixel; shapes do not.
    Equal to ``graph`` where nothing strided pads. ``everywhere``: a PAD before each of them but the last, the
    classifier, of zeros where the kernel is 1x1, and all VALID, as MIT's converter stores its networks. Not modelled:
    even kernels and dilation, whose windows stay as they are when half a kernel on each side would change the output's
    size.
    """
    tensors = list(graph.tensors)
    operators: list[Operator] = []
    last = max((op.index for op in graph.operators if _padded(op)), default=-1)
    for op in graph.operators:
        amounts = _amounts(graph, op, everywhere and op.index != last) if _padded(op) else None
        source, options = op.inputs[0], dict(op.options)
        if amounts is not None:
            operators.append(_pad(tensors, op, len(operators), amounts))
            source = operators[-1].outputs[0]
        if amounts is not None or (everywhere and op.index == last):
            options["padding"] = "VALID"
        operators.append(replace(op, index=len(operators), inputs=(source, *op.inputs[1:]), options=options))
    if len(operators) == len(graph.operators):
        return graph
    digest = hashlib.sha256(f"{graph.sha256} with pads".encode()).hexdigest()
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), sha256=digest)


def _padded(op: Operator) -> bool:
    return op.traits.parametric and op.traits.windowed


def _amounts(graph: Graph, op: Operator, always: bool) -> tuple[int, int] | None:
    """Rows and columns to add on each side; None where no PAD belongs."""
    g = geometry(graph, op)
    pads = g.pad_top + g.pad_bottom + g.pad_left + g.pad_right
    if not always and (max(g.stride_h, g.stride_w) < 2 or not pads):
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

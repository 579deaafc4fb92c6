"""Windows with a padding of their own, which no file has, as a file can have them: an explicit PAD and a VALID window.

Not modelled: windows that the padding of a file's own options would do.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mcusim.model.graph import Graph, Operator, Tensor


def with_written_pads(graph: Graph) -> Graph:
    """``graph`` with a PAD before each window of explicit padding; tensors keep their numbers, the PADs' come last."""
    tensors = list(graph.tensors)
    operators: list[Operator] = []
    for op in graph.operators:
        if op.options.get("padding") == "EXPLICIT":
            options = {name: value for name, value in op.options.items() if name != "pads"} | {"padding": "VALID"}
            pad = _pad(tensors, op)
            operators.append(replace(pad, index=len(operators)))
            op = replace(op, inputs=(pad.outputs[0], *op.inputs[1:]), options=options)  # noqa: PLW2901
        operators.append(replace(op, index=len(operators)))
    if len(operators) == len(graph.operators):
        return graph
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators))


def _pad(tensors: list[Tensor], op: Operator) -> Operator:
    source, (top, bottom, left, right) = tensors[op.inputs[0]], op.options["pads"]
    table = np.array([[0, 0], [top, bottom], [left, right], [0, 0]], np.int32)
    tensors.append(Tensor(len(tensors), f"paddings of operator {op.index}", (4, 2), "int32", data=table))
    n, h, w, c = source.shape
    shape = (n, h + top + bottom, w + left + right, c)
    tensors.append(replace(source, index=len(tensors), name=f"padded input of operator {op.index}", shape=shape))
    return Operator(0, "PAD", (source.index, len(tensors) - 2), (len(tensors) - 1,), {})

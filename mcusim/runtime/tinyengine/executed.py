"""The graph that compiled code executes: what a compiler absorbs or leaves out is not in it.

A PAD of zero points before a window becomes that window's own padding; a view (RESHAPE and relatives) of one scale
whose reader does not see its input's shape, and a QUANTIZE that changes nothing, vanish; so do the conversions from and
to floats at the ends, which are the caller's. Values of all other tensors stay as they are.

Not modelled: dead operators, constant folding (the reader does it), PADs of other values than the zero point.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from mcusim.model.graph import Graph, Operator, Tensor


def executed(graph: Graph, absorbing: bool = True) -> Graph:
    """``graph`` as compiled code executes it, its operators renumbered; itself where nothing vanishes. ``absorbing``:
    windows absorb the PADs before them.

    Tensors keep their numbers. An output that was a view's becomes the tensor it is a view of, of another shape; float
    inputs and outputs become those that they are converted to and from.
    """
    inner = _without_floats(graph)
    operators = _absorbed(inner) if absorbing else list(inner.operators)
    replaced: dict[int, int] = {}
    kept: list[Operator] = []
    for operator in operators:
        op = replace(operator, inputs=tuple(replaced.get(t, t) for t in operator.inputs))
        if _nothing(inner, op, operators):
            replaced[op.outputs[0]] = op.inputs[0]
        else:
            kept.append(op)
    if len(kept) == len(graph.operators):
        return graph
    outputs = tuple(replaced.get(t, t) for t in inner.outputs)
    numbered = tuple(replace(op, index=i) for i, op in enumerate(kept))
    return replace(inner, operators=numbered, outputs=outputs, offline_plan=None)


def _without_floats(graph: Graph) -> Graph:
    """``graph`` from its first quantised tensors to its last."""
    instead: dict[int, int] = {}
    kept = []
    for op in graph.operators:
        pair = _conversion(graph, op) if op.traits.casts else None
        if pair is None:
            kept.append(op)
        else:
            instead[pair[0]] = pair[1]
    if not instead or not kept:
        return graph
    inputs, outputs = (tuple(instead.get(t, t) for t in side) for side in (graph.inputs, graph.outputs))
    if set(inputs) & set(outputs) or len(set(outputs)) < len(outputs):
        return graph
    return replace(graph, operators=tuple(kept), inputs=inputs, outputs=outputs)


def _conversion(graph: Graph, op: Operator) -> tuple[int, int] | None:
    """The float tensor at an end of the graph that ``op`` alone converts, and its quantised one."""
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if source.constant or (source.dtype == "float32") == (target.dtype == "float32"):
        return None
    readers = {t: sum(t in operator.inputs for operator in graph.operators) for t in (source.index, target.index)}
    if source.dtype == "float32" and source.index in graph.inputs:
        only = readers[source.index] == 1 and source.index not in graph.outputs
        return (source.index, target.index) if only else None
    if target.dtype == "float32" and target.index in graph.outputs:
        return (target.index, source.index) if readers[target.index] == 0 else None
    return None


def _absorbed(graph: Graph) -> list[Operator]:
    """The operators of ``graph`` with the PADs taken into the windows that read them."""
    readers: dict[int, list[Operator]] = {}
    for op in graph.operators:
        for t in op.inputs:
            readers.setdefault(t, []).append(op)
    pads = {op.outputs[0]: op for op in graph.operators if _absorbable(graph, op, readers)}
    return [_widened(graph, op, pads) for op in graph.operators if not op.outputs or op.outputs[0] not in pads]


def _absorbable(graph: Graph, op: Operator, readers: Mapping[int, Sequence[Operator]]) -> bool:
    """Whether ``op`` adds zero points around the pixels alone, for unpadded convolutions alone."""
    if not op.traits.pads or op.traits.mirrors or len(op.inputs) != 2 or op.outputs[0] in graph.outputs:
        return False
    table, source, target = graph.tensors[op.inputs[1]].data, graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if table is None or len(source.shape) != 4 or source.constant or source.variable or not _same(source, target):
        return False
    if table.reshape(-1, 2)[[0, 3]].any():
        return False
    windows = readers.get(target.index, ())
    return bool(windows) and all(_unpadded(window) and window.inputs.count(target.index) == 1 for window in windows)


def _unpadded(op: Operator) -> bool:
    window = op.traits.parametric and op.traits.windowed and not op.traits.transposed
    return window and op.options.get("padding") == "VALID"


def _widened(graph: Graph, op: Operator, pads: Mapping[int, Operator]) -> Operator:
    pad = pads.get(op.inputs[0]) if op.inputs else None
    if pad is None:
        return op
    table = graph.tensors[pad.inputs[1]].data
    assert table is not None  # _absorbable saw to that
    top, bottom, left, right = (int(v) for v in table.reshape(-1, 2)[1:3].reshape(-1))
    options = {**op.options, "padding": "EXPLICIT", "pads": (top, bottom, left, right)}
    return replace(op, inputs=(pad.inputs[0], *op.inputs[1:]), options=options)


def _nothing(graph: Graph, op: Operator, operators: Sequence[Operator]) -> bool:
    """Whether ``op`` does nothing that its readers see."""
    if len(op.outputs) != 1 or not op.inputs or op.inputs[0] < 0:
        return False
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if source.constant or source.variable or target.variable or source.bytes != target.bytes:
        return False
    if target.index in graph.outputs and (source.index in graph.inputs or source.index in graph.outputs):
        return False  # an output of the network that is its input must still be computed
    if op.traits.casts:
        return _same(source, target)
    if not op.traits.view or not _same(source, target):
        return False
    return all(_indifferent(operator, source, target) for operator in operators if target.index in operator.inputs)


def _indifferent(reader: Operator, source: Tensor, target: Tensor) -> bool:
    """Whether ``reader`` computes the same from another shape of its input."""
    if reader.traits.parametric and not reader.traits.windowed:
        return not reader.options.get("keep_num_dims")
    if reader.traits.view:
        return True
    return reader.traits.along_depth and source.shape[-1:] == target.shape[-1:]


def _same(source: Tensor, target: Tensor) -> bool:
    return source.dtype == target.dtype and source.quantization == target.quantization

"""A model as plain data, for ``mcusim inspect``."""

from __future__ import annotations

from typing import Any

from mcusim.model.geometry import operator_macs
from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.model.operators import is_opaque


def inspect(graph: Graph) -> dict[str, Any]:
    """The graph as JSON-ready data: sizes in bytes, shapes in elements, ``macs`` of one inference.

    Keys: ``name sha256 file_bytes random_weights warnings macs weight_bytes inputs outputs operators[] folded[]
    tensors[]``. An operator has ``index type opaque refused macs inputs outputs options``
    (``refused``: why nothing here runs it, or None), one that the reader computed and
    that is not among the others ``index`` (in the file) ``type inputs outputs``, a tensor ``index name shape dtype
    bytes constant quantization``.

    Not modelled: the peak of live activations, which depends on the schedule, and the constants' values.
    """
    operators = [_operator(graph, op) for op in graph.operators]
    return {
        "name": graph.name,
        "sha256": graph.sha256,
        "file_bytes": graph.file_bytes,
        "random_weights": graph.random_weights,
        "warnings": list(graph.warnings),
        "macs": sum(op["macs"] for op in operators),
        "weight_bytes": sum(t.bytes for t in graph.tensors if t.constant),
        "inputs": list(graph.inputs),
        "outputs": list(graph.outputs),
        "operators": operators,
        "folded": [
            {"index": op.index, "type": op.type, "inputs": list(op.inputs), "outputs": list(op.outputs)}
            for op in graph.folded
        ],
        "tensors": [_tensor(t) for t in graph.tensors],
    }


def _operator(graph: Graph, op: Operator) -> dict[str, Any]:
    return {
        "index": op.index,
        "type": op.type,
        "opaque": is_opaque(op.type),
        "refused": graph.refused.get(op.index),
        "macs": operator_macs(graph, op),
        "inputs": list(op.inputs),
        "outputs": list(op.outputs),
        "options": {key: list(v) if isinstance(v, tuple) else v for key, v in op.options.items()},
    }


def _tensor(tensor: Tensor) -> dict[str, Any]:
    quantization = tensor.quantization
    return {
        "index": tensor.index,
        "name": tensor.name,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "bytes": tensor.bytes,
        "constant": tensor.constant,
        "quantization": quantization
        and {
            "scales": list(quantization.scales),
            "zero_points": list(quantization.zero_points),
            "axis": quantization.axis,
        },
    }

"""How large a network's ``.tflite`` would be."""

from __future__ import annotations

from mcusim.model.graph import Graph

PAIR_BYTES = 4 + 8  # a float32 scale and an int64 zero point, for each filter and bias channel and each activation
TENSOR_BYTES = 176  # tensor, quantisation, buffer and operator tables, alignment and names, spread over the tensors


def estimate_file_bytes(graph: Graph) -> int:
    """Constants + 12 B a scale + 176 B a tensor, in bytes.

    176 makes proxyless-w0.30-r144 the 929,784 B of its published ``.tflite``. Leaves out what varies between
    converters: the length of names, metadata, and min/max vectors (8 B a channel where a converter keeps them).
    """
    pairs = sum(len(t.quantization.scales) for t in graph.tensors if t.quantization)
    constants = sum(t.bytes for t in graph.tensors if t.constant)
    return constants + PAIR_BYTES * pairs + TENSOR_BYTES * len(graph.tensors)

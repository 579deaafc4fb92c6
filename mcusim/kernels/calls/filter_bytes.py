"""A filter as a kernel reads it: in the model's order, or rearranged when the program is built.

Not modelled: orders that take more bytes.
"""

from __future__ import annotations

import numpy as np

from mcusim.kernels.kernel_set import Kernel
from mcusim.model.graph import Graph, Operator


def filter_bytes(graph: Graph, op: Operator, kernel: Kernel) -> bytes:
    """The filter of ``op``, bytes of its tensor in the order of ``kernel``: (1, h, w, c) as (c, h, w) with ``chw``."""
    data = graph.tensors[op.inputs[1]].data
    assert data is not None  # the reader checks it
    if kernel.filter_order == "chw" and op.traits.depthwise:
        data = np.moveaxis(data, -1, 1)
    return data.tobytes()

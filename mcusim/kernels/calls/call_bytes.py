"""What a kernel is called with: an operator of a graph to the bytes of its call structure, as TFLite prepares it.

Not modelled: everything but int8, uint8 and int16 activations (int32, float32 at QUANTIZE and DEQUANTIZE), tensors of
more axes than a structure has, tiles of operators other than convolutions, pools, PAD and element-wise ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

import numpy as np

from mcusim.errors import ModelError, ProgramError, UnsupportedError
from mcusim.kernels.calls import prepare, prepare_selecting
from mcusim.kernels.calls import quantize as Q
from mcusim.kernels.calls.lookup_tables import CURVES, SOFTMAX_BYTES
from mcusim.kernels.calls.matrices import batch_matmul
from mcusim.kernels.calls.prepare import CallJob, Places, data_inputs, tables
from mcusim.kernels.calls.state import BUILDERS as WITH_STATE
from mcusim.kernels.calls.structs import LAYOUTS, layout_of, size_of
from mcusim.model.geometry import Tile, filter_form, geometry, whole
from mcusim.model.graph import Graph, Operator
from mcusim.model.matrix_shapes import copies_bytes
from mcusim.model.operators import OPERATORS

__all__ = ["Places", "call_bytes", "call_size", "calls", "channel_arrays", "data_inputs", "types"]


BUILDERS = {"batch_matmul_call": batch_matmul, **prepare.BUILDERS, **prepare_selecting.BUILDERS, **WITH_STATE}
assert set(BUILDERS) == set(LAYOUTS)


def types(graph: Graph, op: Operator) -> str:
    """The key of a manifest's line: ``int8``, ``int8_to_float32`` where input and output differ, ``int8_int4`` with a
    filter of int4, ``int8_grouped`` of a convolution in groups."""
    first, last = graph.tensors[data_inputs(op)[0]].dtype, graph.tensors[op.outputs[0]].dtype
    return (first if first == last else f"{first}_to_{last}") + filter_form(graph, op)


def calls(op: Operator) -> int:
    """Kernel calls the operator takes: one, for SPLIT and relatives one an output."""
    return len(op.outputs) if op.traits.splits else 1


def channel_arrays(graph: Graph, op: Operator) -> tuple[bytes, bytes] | None:
    """Multipliers and shifts of a convolution or FULLY_CONNECTED, 4 bytes an output channel each; None for others and
    for those of floats.

    As LiteRT: in float64, but uint8 convolutions with a float32 product of the scales.
    Raises ModelError when the filter's scales do not match its channels, or cannot be computed with.
    """
    if not op.traits.parametric or graph.tensors[op.outputs[0]].dtype == "float32":
        return None
    with _scaled(graph, op):
        return _channel_arrays(graph, op)


def _channel_arrays(graph: Graph, op: Operator) -> tuple[bytes, bytes]:
    source, weights, output = (graph.tensors[i] for i in (op.inputs[op.traits.data_input], op.inputs[1], op.outputs[0]))
    channels = weights.shape[3 if op.traits.depthwise else 0]
    scales = weights.quantization.scales if weights.quantization else ()
    if len(scales) not in (1, channels):
        raise ModelError(f"filter '{weights.name}' has {len(scales)} scales for {channels} output channels")
    single = op.traits.per_channel and source.dtype == "uint8"
    multipliers, shifts = _scales(Q.real_scale(source), scales[:1] if single else scales, Q.real_scale(output), single)
    times = channels if single else channels // len(scales)
    return (multipliers, shifts) if times == 1 else (multipliers * times, shifts * times)


@lru_cache(maxsize=512)
def _scales(first: float, scales: tuple[float, ...], last: float, single: bool) -> tuple[bytes, bytes]:
    """``single``: with a product in float32."""
    products = (float(Q.F32(first) * Q.F32(scale)) if single else first * float(Q.F32(scale)) for scale in scales)
    multipliers, shifts = zip(*(Q.quantize_multiplier(product / last) for product in products), strict=True)
    return words(multipliers), words(shifts)


def call_size(graph: Graph, op: Operator, layout: str) -> int:
    """Bytes that :func:`call_bytes` gives: the structure and what follows it."""
    more = 0
    if op.traits.joins:
        more = 12 * len(op.inputs) + 256 * sum(table is not None for table in tables(graph, op))
    elif op.traits.multiplies:
        more = copies_bytes(graph, op)
    elif op.traits.computes in CURVES:
        more = 256 if graph.tensors[data_inputs(op)[0]].dtype in ("int8", "uint8") else 0
    elif op.traits.along_depth:
        more = SOFTMAX_BYTES if _wide(graph, op) else 0
    return size_of(layout) + more


def _wide(graph: Graph, op: Operator) -> bool:
    return graph.tensors[data_inputs(op)[0]].dtype == "int16"


def call_bytes(graph: Graph, op: Operator, places: Places, tile: Tile | None = None, part: int = 0) -> bytes:
    """The bytes to put at ``places.call``: the structure of call ``part`` (see :func:`calls`) and its tables.

    ``tile`` is the rows the call computes, all by default; input and output addresses are those of its first rows.
    Raises UnsupportedError for an operator without a kernel call, ProgramError for a tile of one that has no tiles,
    ModelError for scales that cannot be computed with.
    """
    g = geometry(graph, op)
    rows = tile or whole(g)
    if rows != whole(g) and (not op.traits.by_rows or len(graph.tensors[op.outputs[0]].shape) != 4):
        raise ProgramError(f"operator {op.index} {op.type}: its kernel computes the whole operator, not {rows}")
    if op.type not in OPERATORS:
        raise UnsupportedError(f"operator {op.index} {op.type}: there is no kernel call for it")
    with _scaled(graph, op):
        builder = prepare_selecting.OWN.get(op.traits.computes) or BUILDERS[layout_of(op.type)]
        return builder(CallJob(graph, op, g, rows, places, part))


@contextmanager
def _scaled(graph: Graph, op: Operator) -> Iterator[None]:
    """A ModelError with the scales of ``op`` where computing with them leaves the numbers."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, ValueError):
        values = {
            t.quantization.scales[0]
            for i in (*op.inputs, *op.outputs)
            if i >= 0
            if (t := graph.tensors[i]).quantization is not None
        }
        raise ModelError(
            f"operator {op.index} {op.type}: its kernel cannot compute with the scales"
            f" {', '.join(f'{scale:g}' for scale in sorted(values)[:8])}: one is 0, or they are too far apart"
        ) from None


def words(values: Sequence[int]) -> bytes:
    """Integers as little-endian 32-bit words."""
    return np.array(values, "<i4").tobytes()

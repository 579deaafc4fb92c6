"""What TinyEngine's static array has besides activations, and which activations share bytes, as its planner has it.

Scratch is one buffer for all kernels: columns of 16-bit inputs for a convolution (two of them, or by the paper's rule
as many as fit where the largest has one: Lin et al. 2020, equations 1 and 2), a padded plane for a depthwise one in
place, which takes twice the bytes that 8-bit data need. Filters of the first 3 x 3 convolution are widened to 16 bits
in RAM. Source: the public planner's code; its results are what tests hold these rules to.

Not modelled: patches, and kernels that need other scratch buffers than these.
"""

from __future__ import annotations

from collections.abc import Sequence

from mcusim.model.geometry import Geometry
from mcusim.model.graph import Graph, Operator

IM2COL = ("two", "adaptive")
_WIDE = 2  # bytes of an input in a column, of a widened filter
_PER_CHANNEL = 8  # bytes of a bias and a scale


def in_place(graph: Graph, op: Operator) -> bool:
    """Whether ``op`` may write over its input: an int8 depthwise convolution, each channel of which is computed from a
    copy of its plane; and a change of scale."""
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if op.traits.casts:
        return source.bytes == target.bytes
    if not op.traits.depthwise or source.dtype != "int8":
        return False
    return source.shape[0] == 1 and source.shape[3] == target.shape[3] and source.bytes >= target.bytes


def columns(shapes: Sequence[Geometry], im2col: str = IM2COL[0]) -> tuple[int, ...]:
    """Columns of inputs that each convolution has in scratch at once; 0 for other operators."""
    longest = max((_column(g) for g in shapes if _convolves(g)), default=0)
    return tuple((2 if im2col == "two" else longest // _column(g)) if _convolves(g) else 0 for g in shapes)


def scratch_bytes(shapes: Sequence[Geometry], over_input: bool = True, im2col: str = IM2COL[0]) -> int:
    """Bytes of the scratch buffer; ``over_input``: depthwise convolutions are in place."""
    numbers = [_WIDE * n * _column(g) for g, n in zip(shapes, columns(shapes, im2col), strict=True)]
    for g in shapes:
        if g.traits.parametric and g.traits.depthwise:
            plane = (g.in_h + g.kernel_h // 2 * 2) * (g.in_w + g.kernel_w // 2 * 2)
            numbers.append(2 * (plane if over_input else g.kernel_h * g.kernel_w * g.in_c))
    return max(numbers, default=0)


def filter_bytes(shapes: Sequence[Geometry]) -> int:
    """Bytes of the first convolution's filters at 16 bits; 0 unless it is 3 x 3."""
    first = next((g for g in shapes if _convolves(g)), None)
    if first is None or (first.kernel_h, first.kernel_w) != (3, 3):
        return 0
    return _WIDE * _column(first) * first.out_c


def parameter_bytes(graph: Graph) -> int:
    """Bytes of weights, and of a bias and a scale for each output channel."""
    every = [op for op in graph.operators if op.traits.parametric and op.inputs[1] >= 0]
    operators = {op.inputs[1]: op for op in every}.values()  # patches share them
    weights = sum(graph.tensors[op.inputs[1]].bytes for op in operators)
    return weights + _PER_CHANNEL * sum(graph.tensors[op.outputs[0]].shape[-1] for op in operators)


def _convolves(g: Geometry) -> bool:
    return g.traits.parametric and g.traits.windowed and not g.traits.depthwise and g.groups == 1


def _column(g: Geometry) -> int:
    """Inputs of an output element of a convolution."""
    return g.kernel_h * g.kernel_w * g.in_c

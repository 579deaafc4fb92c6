"""The loop nest of an operator, in one form for every type: what planners tile and kernels cost.

:func:`geometry` gives the :class:`Geometry` of a whole operator of a graph; a :class:`Tile` says which output rows a
task computes and which input rows its buffer contains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import Any

from mcusim.model.graph import ITEM_BYTES, Graph, Operator, Tensor
from mcusim.model.shapes import padding_split


@dataclass(frozen=True, slots=True)
class Geometry:
    """NHWC sizes in elements. Operators without a spatial shape use ``h = w = 1`` and put all elements in ``c``.

    ``item`` is the bytes per activation element (1 for int8/uint8). ``pad_*`` are zero rows/columns around the input.
    ``inputs`` is the number of activation inputs (2 for ADD; CONCATENATION: as many as it has). ``types`` is that of
    input and output, ``uint8``, or of both where they differ, ``int8_to_float32``.
    """

    type: str
    batch: int
    in_h: int
    in_w: int
    in_c: int
    out_h: int
    out_w: int
    out_c: int
    kernel_h: int = 1
    kernel_w: int = 1
    stride_h: int = 1
    stride_w: int = 1
    dilation_h: int = 1
    dilation_w: int = 1
    pad_top: int = 0
    pad_bottom: int = 0
    pad_left: int = 0
    pad_right: int = 0
    depth_multiplier: int = 1
    inputs: int = 1
    item: int = 1
    types: str = "int8"

    @property
    def macs(self) -> int:
        """Multiply-accumulates of CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED; 0 for the rest."""
        outputs = self.batch * self.out_h * self.out_w * self.out_c
        if self.type in ("CONV_2D", "FULLY_CONNECTED"):
            return outputs * self.kernel_h * self.kernel_w * self.in_c
        if self.type == "DEPTHWISE_CONV_2D":
            return outputs * self.kernel_h * self.kernel_w
        return 0

    @property
    def in_bytes(self) -> int:
        """Bytes of one activation input (the first)."""
        return self.batch * self.in_h * self.in_w * self.in_c * self.item

    @property
    def out_bytes(self) -> int:
        return self.batch * self.out_h * self.out_w * self.out_c * self.item


@dataclass(frozen=True, slots=True)
class Tile:
    """Output rows ``out_row .. out_row+out_rows`` computed from input rows ``in_row .. in_row+in_rows``.

    The input operand of the task starts at row ``in_row``; rows outside the tensor are padding. A whole operator is
    ``Tile(0, out_h, 0, in_h)``. The output operand of the task starts at row ``out_row``.
    """

    out_row: int
    out_rows: int
    in_row: int
    in_rows: int


def whole(geometry: Geometry) -> Tile:
    """The tile that is the whole operator."""
    return Tile(0, geometry.out_h, 0, geometry.in_h)


FLAT = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "SPLIT")


def _inputs(graph: Graph, operator: Operator) -> list[Tensor]:
    return [graph.tensors[i] for i in operator.inputs if i >= 0]


def activation_inputs(graph: Graph, operator: Operator) -> list[Tensor]:
    """Inputs that are computed while the network runs, in the operator's order; an input used twice is listed twice."""
    return [t for t in _inputs(graph, operator) if not t.constant]


def constant_inputs(graph: Graph, operator: Operator) -> list[Tensor]:
    """Inputs stored in the file (filter, bias, shape ...), in the operator's order; omitted ones are left out."""
    return [t for t in _inputs(graph, operator) if t.constant]


def geometry(graph: Graph, operator: Operator) -> Geometry:
    """The operator's loop nest, sizes in elements.

    Rank-4 tensors are read as NHWC. FULLY_CONNECTED is a 1x1 kernel over ``batch`` rows. RESHAPE, SQUEEZE,
    EXPAND_DIMS, SPLIT (all outputs together), tensors of another rank and unknown operators put all elements in ``c``.
    A spatial MEAN is a pool whose kernel is the whole input. ``in_*`` is the first activation input that has the most
    elements (broadcast operands are smaller than it). ``item`` is the wider of input and output item, in bytes.

    Not modelled: the sizes of further inputs, broadcasting, and which axis a CONCATENATION joins; read them from the
    tensors.
    """
    data = activation_inputs(graph, operator) or _inputs(graph, operator)
    outputs = [graph.tensors[i] for i in operator.outputs]
    main = max(data, key=lambda t: t.elements) if data else outputs[0]
    common: dict[str, Any] = {"inputs": max(1, len(data))}
    common["item"] = max(ITEM_BYTES[main.dtype], ITEM_BYTES[outputs[0].dtype])
    first, last = main.dtype, outputs[0].dtype
    common["types"] = first if first == last else f"{first}_to_{last}"
    sizes = _SPECIAL[operator.type](graph, operator) if operator.type in _SPECIAL else {}
    if sizes:
        return _geometry(operator, common | sizes)
    spatial = len(main.shape) == len(outputs[0].shape) == 4 and not operator.type.startswith("UNKNOWN:")
    if spatial and operator.type not in FLAT:
        return _geometry(operator, common | _nhwc(main.shape, outputs[0].shape))
    flat = _nhwc((1, 1, 1, main.elements), (1, 1, 1, sum(t.elements for t in outputs)))
    return _geometry(operator, common | flat)


def graph_macs(graph: Graph) -> int:
    """Multiply-accumulates of one inference: convolutions and fully connected layers only."""
    return sum(geometry(graph, op).macs for op in graph.operators)


def _geometry(operator: Operator, sizes: dict[str, Any]) -> Geometry:
    return Geometry(type=operator.type, **sizes)


def _nhwc(source: tuple[int, ...], target: tuple[int, ...]) -> dict[str, int]:
    names = ("in_h", "in_w", "in_c", "out_h", "out_w", "out_c")
    return {"batch": target[0], **dict(zip(names, source[1:] + target[1:], strict=True))}


def _window(sizes: dict[str, int], kernel: tuple[int, int], options: Any) -> dict[str, int]:
    """Add kernel, stride, dilation and the padding they imply to NHWC ``sizes``."""
    for axis, length, names in (("h", kernel[0], ("top", "bottom")), ("w", kernel[1], ("left", "right"))):
        stride, dilation = options[f"stride_{axis}"], options.get(f"dilation_{axis}", 1)
        sizes |= {f"kernel_{axis}": length, f"stride_{axis}": stride, f"dilation_{axis}": dilation}
        pads = padding_split(sizes[f"in_{axis}"], length, stride, dilation, sizes[f"out_{axis}"])
        sizes |= {f"pad_{name}": pad for name, pad in zip(names, pads, strict=True)}
    return sizes


def _ends(graph: Graph, op: Operator) -> dict[str, int]:
    return _nhwc(graph.tensors[op.inputs[0]].shape, graph.tensors[op.outputs[0]].shape)


def _convolution(graph: Graph, op: Operator) -> dict[str, int]:
    kernel = graph.tensors[op.inputs[1]].shape  # CONV_2D: OHWI, DEPTHWISE_CONV_2D: 1HWC
    sizes = _window(_ends(graph, op), (kernel[1], kernel[2]), op.options)
    depthwise = op.type == "DEPTHWISE_CONV_2D"
    return sizes | {"inputs": 1, "depth_multiplier": sizes["out_c"] // sizes["in_c"] if depthwise else 1}


def _pool(graph: Graph, op: Operator) -> dict[str, int]:
    return _window(_ends(graph, op), (op.options["filter_h"], op.options["filter_w"]), op.options)


def _fully_connected(graph: Graph, op: Operator) -> dict[str, int]:
    units, depth = graph.tensors[op.inputs[1]].shape
    batch = prod(graph.tensors[op.inputs[0]].shape) // depth
    return _nhwc((batch, 1, 1, depth), (batch, 1, 1, units)) | {"inputs": 1}


def _mean(graph: Graph, op: Operator) -> dict[str, int]:
    source, target = graph.tensors[op.inputs[0]].shape, graph.tensors[op.outputs[0]]
    axes = graph.tensors[op.inputs[1]].data
    if len(source) != 4 or axes is None or {int(a) % 4 for a in axes.reshape(-1)} != {1, 2}:
        return {}
    sizes = _nhwc(source, (source[0], 1, 1, target.elements // source[0]))
    return sizes | {"kernel_h": source[1], "kernel_w": source[2]}


def _pad(graph: Graph, op: Operator) -> dict[str, int]:
    source, table = graph.tensors[op.inputs[0]].shape, graph.tensors[op.inputs[1]].data
    if len(source) != 4 or table is None:
        return {}
    (top, bottom), (left, right) = (tuple(int(v) for v in table[axis]) for axis in (1, 2))
    return _ends(graph, op) | {"pad_top": top, "pad_bottom": bottom, "pad_left": left, "pad_right": right}


_SPECIAL: dict[str, Callable[[Graph, Operator], dict[str, int]]] = {
    "CONV_2D": _convolution,
    "DEPTHWISE_CONV_2D": _convolution,
    "FULLY_CONNECTED": _fully_connected,
    "MEAN": _mean,
    "PAD": _pad,
    "PADV2": _pad,
    "AVERAGE_POOL_2D": _pool,
    "MAX_POOL_2D": _pool,
}

"""The loop nest of an operator, in one form for every type: what planners tile and kernels cost.

:func:`geometry` gives the :class:`Geometry` of a whole operator of a graph; a :class:`Tile` says which output rows a
task computes and which input rows its buffer contains.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mcusim.model.graph import Graph, Operator, Tensor, item_bytes
from mcusim.model.operators import OPERATORS, is_opaque, traits_of
from mcusim.model.shapes import LOOP_NESTS, nhwc
from mcusim.model.traits import Traits


@dataclass(frozen=True, slots=True)
class Geometry:
    """NHWC sizes in elements. Operators without a spatial shape use ``h = w = 1`` and put all elements in ``c``.

    ``item`` is the bytes per activation element (1 for int8/uint8). ``pad_*`` are zero rows/columns around the input.
    ``inputs`` is the number of activation inputs (2 for ADD; CONCATENATION: as many as it has). ``types`` is that of
    input and output, ``uint8``, or of both where they differ, ``int8_to_float32``. ``slow_channels``: how many output
    channels the planned kernel does not rescale in its quick way, ``clamped``: 1 where it clamps outputs in a pass of
    their own (both: :mod:`mcusim.kernels.calls.rescaling`). ``paddings``: of a PAD of more than height and width, or of
    another rank, by axis the elements before, of the input and of the output. ``groups`` of a CONV_2D: each output
    channel is computed from its group's part of the input's channels, and ``types`` end in
    ``_grouped``; with a filter of int4 they are ``int8_int4``.
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
    slow_channels: int = 0
    clamped: int = 0
    paddings: tuple[tuple[int, int, int], ...] = ()
    groups: int = 1

    @property
    def traits(self) -> Traits:
        """What is special about its type."""
        return traits_of(self.type)

    @property
    def macs(self) -> int:
        """Multiply-accumulates of parametric operators (convolutions, fully connected layers), of matrices and of
        operators with state; 0 for the rest."""
        if self.traits.gates:
            return self.batch * self.out_h * self.traits.gates * self.out_c * (self.in_c + self.out_c)
        if self.traits.filters_in_time:
            return self.batch * self.out_c * self.depth_multiplier * (self.in_c + self.kernel_w)
        if self.traits.multiplies:
            return self.batch * self.out_h * self.out_c * self.in_c
        if not self.traits.parametric:
            return 0
        pixels = self.in_h * self.in_w if self.traits.transposed else self.out_h * self.out_w
        return (
            self.batch
            * pixels
            * self.out_c
            * self.kernel_h
            * self.kernel_w
            * (1 if self.traits.depthwise else self.filter_c)
        )

    @property
    def is_float(self) -> bool:
        """Whether the activations that it reads are floats: their kernels have no multipliers and shifts."""
        return self.types.startswith("float")

    @property
    def filter_c(self) -> int:
        """Channels of a convolution's filter."""
        return self.in_c // self.groups

    @property
    def filter_elements(self) -> int:
        """Of a parametric operator's filter; 0 for others."""
        if not self.traits.parametric:
            return 0
        return self.kernel_h * self.kernel_w * self.out_c * (1 if self.traits.depthwise else self.filter_c)

    @property
    def in_batch(self) -> int:
        """Images of the input: as many as of the output unless a PAD adds some."""
        return self.paddings[0][1] if len(self.paddings) == 4 else self.batch

    @property
    def in_bytes(self) -> int:
        """Bytes of one activation input (the first)."""
        return self.in_batch * self.in_h * self.in_w * self.in_c * self.item

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


PACKED, GROUPED = "_int4", "_grouped"
"""Behind the types of a convolution or FULLY_CONNECTED with a filter of int4, of a convolution in groups: they have
kernels of their own."""
FLAT = ("elements", "split")  # rules of operators whose elements are all in ``c``


def _inputs(graph: Graph, operator: Operator) -> list[Tensor]:
    return [graph.tensors[i] for i in operator.inputs if i >= 0]


def activation_inputs(graph: Graph, operator: Operator) -> list[Tensor]:
    """Inputs that are computed while the network runs, in the operator's order; an input used twice is listed twice.

    Variables are not among them.
    """
    return [t for t in _inputs(graph, operator) if not t.constant and not t.variable]


def constant_inputs(graph: Graph, operator: Operator) -> list[Tensor]:
    """Inputs stored in the file (filter, bias, shape ...), in the operator's order; omitted ones are left out."""
    return [t for t in _inputs(graph, operator) if t.constant]


def geometry(graph: Graph, operator: Operator) -> Geometry:
    """The operator's loop nest, sizes in elements.

    Rank-4 tensors are read as NHWC. FULLY_CONNECTED is a 1x1 kernel over ``batch`` rows. RESHAPE, SQUEEZE,
    EXPAND_DIMS, SPLIT (all outputs together), tensors of another rank and unknown operators put all elements in ``c``.
    A spatial MEAN is a pool whose kernel is the whole input. LSTM has its steps in ``h``, SVDF its memory in
    ``kernel_w`` and its rank in ``depth_multiplier``. ``in_*`` is the first activation input that has the most
    elements (broadcast operands are smaller than it). ``item`` is the wider of input and output item, in bytes.

    Not modelled: the sizes of further inputs, broadcasting, and which axis a CONCATENATION joins; read them from the
    tensors.
    """
    data = activation_inputs(graph, operator) or _inputs(graph, operator)
    outputs = [graph.tensors[i] for i in operator.outputs]
    main = max(data, key=lambda t: t.elements) if data else outputs[0]
    common: dict[str, Any] = {"inputs": max(1, len(data))}
    common["item"] = max(item_bytes(tensor.dtype) or 1 for tensor in (main, outputs[0]))
    first, last = main.dtype, outputs[0].dtype
    common["types"] = first if first == last else f"{first}_to_{last}"
    common["types"] += filter_form(graph, operator)
    common["groups"] = groups_of(graph, operator)
    rule = OPERATORS[operator.type].rule if operator.type in OPERATORS else ""
    sizes = LOOP_NESTS[rule](graph, operator) if rule in LOOP_NESTS else {}
    if sizes:
        return _geometry(operator, common | sizes)
    spatial = len(main.shape) == len(outputs[0].shape) == 4 and not is_opaque(operator.type)
    if spatial and rule not in FLAT:
        return _geometry(operator, common | nhwc(main.shape, outputs[0].shape))
    flat = nhwc((1, 1, 1, main.elements), (1, 1, 1, sum(t.elements for t in outputs)))
    return _geometry(operator, common | flat)


def groups_of(graph: Graph, operator: Operator) -> int:
    """Of a convolution: how many parts its input's channels have, each for outputs of its own. 1 for all others."""
    traits = operator.traits
    if not (traits.parametric and traits.windowed) or traits.depthwise or traits.transposed:
        return 1
    source, filters = (graph.tensors[t] for t in operator.inputs[:2])
    return max(1, source.shape[3] // filters.shape[3])


def filter_form(graph: Graph, operator: Operator) -> str:
    """What stands behind the types of an operator with a filter that is packed, or that is of groups."""
    packed = operator.traits.parametric and graph.tensors[operator.inputs[1]].dtype == "int4"
    return (PACKED if packed else "") + (GROUPED if groups_of(graph, operator) > 1 else "")


def known_types(types: str) -> bool:
    """Whether they are those of a geometry: a type, or two as in ``int8_to_float32``, and the form of a filter."""
    bare = types.removesuffix(GROUPED).removesuffix(PACKED)
    first, to, last = bare.partition("_to_")
    return item_bytes(first) is not None and (not to or item_bytes(last) is not None)


def operator_macs(graph: Graph, operator: Operator) -> int:
    """Multiply-accumulates of an operator (:attr:`Geometry.macs`)."""
    return geometry(graph, operator).macs


def graph_macs(graph: Graph) -> int:
    """Multiply-accumulates of one inference."""
    return sum(operator_macs(graph, op) for op in graph.operators)


def _geometry(operator: Operator, sizes: dict[str, Any]) -> Geometry:
    return Geometry(type=operator.type, **sizes)

"""The operators at the beginning of a network that can run on patches, and which part of each tensor a patch needs.

A patch is a rectangle of the stage's output. What it needs of the tensors before it is found backwards: a window needs
the rows that it covers, an elementwise operator the same place, and a tensor with several readers all that they need.
Rows outside a tensor are padding of the window there, so that only true borders are padded. Not modelled: patches of
networks with several inputs, or of more than one image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from mcusim.errors import UsageError
from mcusim.model.geometry import Geometry, activation_inputs, geometry
from mcusim.model.graph import Graph, Operator
from mcusim.runtime.patches import Patches

_BYTES = ("int8", "uint8")


@dataclass(frozen=True, slots=True)
class Area:
    """Rows ``top`` to ``bottom`` and columns ``left`` to ``right``, the ends not included."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def height(self) -> int:
        return self.bottom - self.top

    @property
    def width(self) -> int:
        return self.right - self.left

    def around(self, other: Area) -> Area:
        """The smallest area that has both."""
        return Area(
            min(self.top, other.top),
            max(self.bottom, other.bottom),
            min(self.left, other.left),
            max(self.right, other.right),
        )

    def within(self, height: int, width: int) -> Area:
        """The part of it that is in a map of that size."""
        return Area(max(self.top, 0), min(self.bottom, height), max(self.left, 0), min(self.right, width))


@dataclass(frozen=True, slots=True)
class Reach:
    """What an operator reads for a part of its output: ``area``, of which what is not in the tensor is padding."""

    area: Area
    inside: Area

    @property
    def pads(self) -> tuple[int, int, int, int]:
        """Top, bottom, left, right."""
        a, b = self.area, self.inside
        return b.top - a.top, a.bottom - b.bottom, b.left - a.left, a.right - b.right


@dataclass(frozen=True)
class PatchStage:
    """The first operators of ``graph``: they read tensor ``source`` and all they make goes into tensor ``target``."""

    graph: Graph
    operators: tuple[Operator, ...]
    source: int
    target: int

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the target."""
        return self.graph.tensors[self.target].shape[1], self.graph.tensors[self.target].shape[2]

    @cached_property
    def _geometries(self) -> dict[int, Geometry]:
        return {op.index: geometry(self.graph, op) for op in self.operators}

    def patches(self, patches: Patches) -> list[list[Area]]:
        """The parts of the target, by rows of patches; heights and widths differ by one at most. Raises UsageError."""
        height, width = self.size
        if patches.rows > height or patches.columns > width:
            raise UsageError(f"{patches}: the map is {height} x {width} there, fewer than there are patches")
        rows, columns = _cuts(height, patches.rows), _cuts(width, patches.columns)
        return [[Area(*row, *column) for column in columns] for row in rows]

    def reach(self, op: Operator, part: Area) -> Reach:
        """What ``op`` reads of its activation inputs for ``part`` of its output."""
        if not op.traits.windowed:
            return Reach(part, part)
        g = self._geometries[op.index]
        top, left = part.top * g.stride_h - g.pad_top, part.left * g.stride_w - g.pad_left
        height = (part.height - 1) * g.stride_h + (g.kernel_h - 1) * g.dilation_h + 1
        width = (part.width - 1) * g.stride_w + (g.kernel_w - 1) * g.dilation_w + 1
        area = Area(top, top + height, left, left + width)
        return Reach(area, area.within(g.in_h, g.in_w))

    def needed(self, patch: Area, bounded: bool = True) -> dict[int, Area]:
        """By tensor, the part that ``patch`` of the target needs; ``bounded`` False: of maps without borders."""
        areas = {self.target: patch}
        for op in reversed(self.operators):
            reach = self.reach(op, areas[op.outputs[0]])
            area = reach.inside if bounded else reach.area
            for tensor in _read(self.graph, op):
                areas[tensor] = areas[tensor].around(area) if tensor in areas else area
        return areas


def _cuts(size: int, count: int) -> list[tuple[int, int]]:
    """``size`` in ``count`` pieces, the longer ones first."""
    each, more = divmod(size, count)
    ends = [0]
    for i in range(count):
        ends.append(ends[-1] + each + (i < more))
    return list(pairwise(ends))


def _read(graph: Graph, op: Operator) -> list[int]:
    return list(dict.fromkeys(t.index for t in activation_inputs(graph, op)))


def patch_stage(graph: Graph, split: int, option: str = "") -> PatchStage:
    """The first ``split`` operators of ``graph``. Raises UsageError, saying why, where they cannot run on patches;
    ``option`` is what a user gave."""
    count, option = len(graph.operators), option or f"--patch-split {split:,}"
    if not 1 <= split < count:
        some = f"of {count:,} operators 1 to {count - 1:,} can run on patches"
        raise UsageError(f"{option}: {some if count > 1 else 'a single operator cannot run on patches'}")
    operators = graph.operators[:split]
    for op in operators:
        if why := _obstacle(graph, op):
            raise UsageError(f"{option}: operator {op.index} {op.type[:80]} cannot run on patches: {why}")
    made = [op.outputs[0] for op in operators]
    read = {t for op in graph.operators[split:] for t in op.inputs} | set(graph.outputs)
    source = _source(graph, operators, made, read)
    crossing = [t for t in made if t in read]
    if crossing != made[-1:]:
        names = ", ".join(f"'{graph.tensors[t].name[:80]}'" for t in crossing[:4])
        raise UsageError(f"{option}: is inside a branch: later operators read {names}")
    unread = [t for t in made[:-1] if not any(t in op.inputs for op in operators)]
    if unread:
        raise UsageError(f"patches: nothing reads '{graph.tensors[unread[0]].name[:80]}'")
    return PatchStage(graph, operators, source, made[-1])


def _source(graph: Graph, operators: Sequence[Operator], made: Sequence[int], later: set[int]) -> int:
    """The one input of the network that the operators read. Raises UsageError."""
    outside = {t for op in operators for t in _read(graph, op)} - set(made)
    if len(outside) != 1:
        raise UsageError(
            f"patches: the operators that are cut read {len(outside)} inputs of the network; one is needed"
        )
    source = outside.pop()
    if source in later:
        raise UsageError(f"patches: later operators read the input '{graph.tensors[source].name[:80]}', too")
    return source


def _obstacle(graph: Graph, op: Operator) -> str:
    """Why an operator cannot run on a part of its map; empty where it can."""
    if len(op.outputs) != 1 or not op.inputs:
        return "it has no single output"
    target, traits = graph.tensors[op.outputs[0]], op.traits
    data = activation_inputs(graph, op)
    if traits.stateful or target.variable or any(graph.tensors[t].variable for t in op.inputs if t >= 0):
        return "it keeps state"
    if not data or any(len(t.shape) != 4 or t.shape[0] != 1 for t in (*data, target)):
        return "its maps are not of one image"
    if any(t.dtype not in _BYTES for t in (*data, target)):
        return f"its maps are of {next(t.dtype for t in (*data, target) if t.dtype not in _BYTES)}"
    if traits.windowed and not traits.transposed:
        return _lost(graph, op)
    if not traits.elementwise:
        return "it needs more than a part of its input"
    if any(t.shape != target.shape for t in data):
        return "its inputs differ in size"
    constants = [graph.tensors[t] for t in op.inputs if t >= 0 and graph.tensors[t].constant]
    flat = (t.elements in (1, t.shape[-1] if t.shape else 1) for t in constants)
    return "" if all(flat) else "it reads a constant map"


def _lost(graph: Graph, op: Operator) -> str:
    g = geometry(graph, op)
    high, wide = ((k - 1) * d + 1 for k, d in ((g.kernel_h, g.dilation_h), (g.kernel_w, g.dilation_w)))
    outside = g.pad_top >= high or g.pad_left >= wide or g.pad_bottom >= high or g.pad_right >= wide
    return "a window of it lies in its padding alone" if outside else ""


def legal_splits(graph: Graph) -> Mapping[int, PatchStage]:
    """The stages that can run on patches, by how many operators they have."""
    stages: dict[int, PatchStage] = {}
    for split, op in zip(range(1, len(graph.operators)), graph.operators, strict=False):
        if _obstacle(graph, op):
            break
        try:
            stages[split] = patch_stage(graph, split)
        except UsageError:
            continue
    return stages


def operators_of_blocks(graph: Graph, blocks: int) -> int:
    """How many operators the first ``blocks`` blocks of ``graph`` have, as MCUNetV2 counts them.

    A block is a depthwise convolution with the 1x1 convolution that expands its input, the one that projects its
    output, and the addition behind that; any other operator is one by itself. Raises UsageError where there are fewer
    blocks, or these cannot run on patches.
    """
    ends = [0]
    while len(ends) <= blocks and ends[-1] < len(graph.operators):
        ends.append(_end_of_block(graph, ends[-1]))
    if len(ends) <= blocks:
        raise UsageError(f'--patch-split "{blocks:,} blocks": there are {len(ends) - 1:,} blocks')
    patch_stage(graph, ends[blocks], f'--patch-split "{blocks} block{"s" * (blocks != 1)}" ({ends[blocks]} operators)')
    return ends[blocks]


def _end_of_block(graph: Graph, start: int) -> int:
    """The number of the operator behind the block that begins with operator ``start``."""

    def skipped(number: int) -> int:
        return next((op.index for op in graph.operators[number:] if not op.traits.pads), number)

    def has(number: int, depthwise: bool) -> bool:
        if number >= len(graph.operators):
            return False
        op = graph.operators[number]
        if depthwise or not (op.traits.windowed and op.traits.parametric):
            return depthwise and op.traits.depthwise
        own = geometry(graph, op)
        return not op.traits.depthwise and own.kernel_h == own.kernel_w == 1

    number = skipped(start)
    if has(number, depthwise=False) and has(skipped(number + 1), depthwise=True):
        number = skipped(number + 1)
    if not has(number, depthwise=True) or not has(number + 1, depthwise=False):
        return number + 1
    behind = graph.operators[number + 2 : number + 3]
    adds = behind and behind[0].traits.elementwise and len(activation_inputs(graph, behind[0])) > 1
    return number + 2 + bool(adds)

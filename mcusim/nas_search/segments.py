"""What each part of a network needs, by the planner's own rules: networks are sums of parts.

A network is a stem, blocks and a tail; each part reads one tensor and makes one. A part's row has what the runtime's
rules give for it alone: its steps, buffers with their lives, scratch, parameters, symbols of kernels. Rows are joined
and placed natively (:mod:`mcusim.nas_search.placement.joined`).

Not modelled: parts whose input is written over by their first operator; there are none in these networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mcusim.errors import UsageError
from mcusim.kernels.calls.call_bytes import types
from mcusim.kernels.kernel_set import KernelSet, load_set
from mcusim.model.geometry import geometry
from mcusim.model.graph import Graph
from mcusim.model.zoo.architectures import Architecture, Layer
from mcusim.model.zoo.builder import PAIR_BYTES, TENSOR_BYTES, GraphBuilder
from mcusim.nas_search.placement import placement_layout as L
from mcusim.nas_search.space import EXPANSIONS, FIRST, KERNELS, ROUNDING, SECOND, STAGES, NasSpace, tail
from mcusim.plan.liveness.lifetimes import lifetimes
from mcusim.plan.static_array import array_blocks
from mcusim.runtime.planning_costs import Costs, costs_of
from mcusim.runtime.runtime import Runtime, find_runtime

PARTS = 2 + 2 * len(STAGES) * len(KERNELS) * len(EXPANSIONS)  # of a space
PER_CHANNEL = 8  # bytes of a multiplier and a shift
BLOCK = 3 * L.PHASES  # figures of a block

Array = np.ndarray[Any, np.dtype[np.int64]]


class _Outline(GraphBuilder):
    """Shapes alone: filters take no memory."""

    def _weights(self, shape: tuple[int, ...], channels: int) -> list[int]:
        number = len(self.operators)
        filters = np.broadcast_to(np.int8(0), shape)
        biases = np.broadcast_to(np.int32(0), (channels,))
        return [
            self._tensor(f"filter_{number}", shape, filters),
            self._tensor(f"bias_{number}", (channels,), biases, "int32"),
        ]


@dataclass(frozen=True)
class SegmentRules:
    """The rules of a runtime with its kernels on a core."""

    runtime: Runtime
    kernels: KernelSet
    in_place: bool = True  # compiled depthwise convolutions write over their input
    symbols: dict[str, int] = field(default_factory=dict)  # places in a mask

    @classmethod
    def of(cls, runtime: str, in_place: bool = True) -> SegmentRules:
        """Raises UsageError for a runtime that is none."""
        result = find_runtime(runtime)
        return cls(result, load_set(result.kernels[1]), in_place)

    @cached_property
    def costs(self) -> Costs:
        """Of the kernels under the runtime."""
        return costs_of(self.kernels, self.runtime)

    def __hash__(self) -> int:
        return id(self)

    def mask(self, graph: Graph) -> int:
        """A bit for each function that ``graph`` calls."""
        mask = 0
        for op in graph.operators:
            kernel = self.kernels.kernel(op.type, types(graph, op))
            called = kernel.called_for(geometry(graph, op)) if self.runtime.array is not None else kernel
            mask |= 1 << self.symbols.setdefault(called.symbol, len(self.symbols))
        if len(self.symbols) > 62:
            raise UsageError(f"runtime {self.runtime.name} has over 62 functions for these networks")
        return mask

    def code_bytes(self, mask: int, isa: str) -> int:
        """Of the functions in a mask, and of the runtime itself."""
        chosen = {symbol for symbol, index in self.symbols.items() if mask >> index & 1}
        return self.kernels.loaded_bytes(isa, chosen) + self.runtime.code_bytes

    def row(self, stored: Graph) -> Array:
        """Of a part, as its file would have it."""
        graph = self.runtime.executed(stored)
        row = L.SegmentRow(np.zeros(L.SegmentRow.WORDS, np.int64))
        row.steps = len(graph.operators)
        self._bytes(graph, stored, row)
        blocks = self._blocks(graph)
        inner = [block for name, block in blocks if name == "inner"]
        ends = {name: block for name, block in blocks if name != "inner"}
        row.input_last = ends["input"][1]
        row.out_first, row.out_bytes = ends["output"][0], ends["output"][2]
        row.block_count = len(inner)
        assert len(inner) <= L.BLOCKS, "a part has more tensors than a row has room for"
        for index, block in enumerate(inner):
            row.blocks[index].phases.table(L.PHASES)[:] = [block[:3], block[3:]]
        return row.array

    def _blocks(self, graph: Graph) -> list[tuple[str, tuple[int, ...]]]:
        """Lives of the tensors: two phases each (first, last, bytes), the second of 0 bytes where there is one."""
        rules, blocks = self.runtime.array, list[tuple[str, tuple[int, ...]]]()
        lives: list[tuple[tuple[int, ...], int]] = []
        if rules is None:
            lives = [((life.first, life.last, life.bytes, 0, 0, 0), life.tensor) for life in lifetimes(graph)]
        else:
            for block in array_blocks(graph, rules.in_place if self.in_place else None):
                phases = [value for p in block.phases for value in (p.first, p.last, p.bytes)]
                assert len(phases) <= BLOCK, "a chain of more than two tensors in place"
                lives.append(((*phases, *(0,) * (BLOCK - len(phases))), block.phases[0].tensor))
        for figures, tensor in lives:
            name = "input" if tensor == graph.inputs[0] else "output" if tensor == graph.outputs[0] else "inner"
            blocks.append((name, figures))
        return blocks

    def _bytes(self, graph: Graph, stored: Graph, row: L.SegmentRow) -> None:
        """Multiply-accumulates, what lies in flash and beside the activations; ``stored`` is the graph of the file."""
        shapes = [geometry(graph, op) for op in graph.operators]
        row.macs = sum(g.macs for g in shapes)
        constants = [t for t in stored.tensors if t.data is not None]
        row.stored = sum(t.bytes for t in constants)
        row.symbols = self.mask(graph)
        costs, rules = self.costs, self.runtime.array
        nodes = sum(costs.node_bytes(graph, op) for op in graph.operators)
        channels = sum(g.out_c for g in shapes if g.type in costs.arrays)
        if rules is not None:
            row.stored = sum(graph.tensors[t].bytes for t in _read(graph))
            row.tables = PER_CHANNEL * channels + nodes
            row.shared = rules.scratch(shapes, self.in_place, rules.im2col[0])
            return
        # the part's input is the output of the one before
        scales = 2 * channels + len(stored.tensors) - len(constants) - 1
        row.tables = PAIR_BYTES * scales + TENSOR_BYTES * (len(stored.tensors) - 1)
        row.runtime = nodes + channels * costs.per_channel_bytes
        sizes = [costs.scratch(graph, op, g) for op, g in zip(graph.operators, shapes, strict=True)]
        kept = [pair for pair in enumerate(sizes) if pair[1]]
        assert len(kept) <= L.SCRATCHES, "a part has more scratch buffers than a row has room for"
        row.buffer_count = len(kept)
        row.buffers.table(len(kept))[:] = kept


def _read(graph: Graph) -> list[int]:
    """Constants that an operator reads."""
    return sorted({t for op in graph.operators for t in op.inputs if t >= 0 and graph.tensors[t].data is not None})


def _part(layers: Sequence[Layer], shape: Sequence[int], space: NasSpace) -> Graph:
    """For an input of ``shape``; channels at width 1 are scaled as the space's."""
    source = (shape[0], shape[1], shape[2])
    builder = _Outline(
        "part", Architecture("part", tuple(layers), rounding=ROUNDING, fixed_head=True, input=source), space.width
    )
    builder.build()
    return builder.graph


def _made(graph: Graph) -> tuple[int, ...]:
    return graph.tensors[graph.outputs[0]].shape[1:]


def space_parts(space: NasSpace) -> list[Graph]:
    """All parts of a space, in this order: the stem, the tail, then of each stage its first block and a later one, by
    kernel and expansion. Filters are of zeros."""
    side = space.resolution
    stem = _part((("conv", 3, 2, FIRST), ("block", "1", 3, SECOND, 1, 1)), (side, side, 3), space)
    shape, blocks = _made(stem), list[Graph]()
    for channels, stride in STAGES:
        for step in (stride, 1):
            after = shape
            for kernel in KERNELS:
                for expansion in EXPANSIONS:
                    blocks.append(_part((("block", str(expansion), kernel, channels, step, 1),), shape, space))
                    after = _made(blocks[-1])
            shape = after
    return [stem, _part(tail(space.classes), shape, space), *blocks]


def segment_rows(space: NasSpace, rules: SegmentRules) -> tuple[Array, Mapping[str, int]]:
    """The rows of :func:`space_parts`, and figures of the network: bytes of its ``input``, ``filters`` widened in RAM,
    what an interpreter's file has for the input."""
    parts, array = space_parts(space), rules.runtime.array
    stem = rules.runtime.executed(parts[0])
    filters = 0 if array is None else array.filters([geometry(stem, op) for op in stem.operators])
    tables = PAIR_BYTES + TENSOR_BYTES if array is None else 0
    extra = {"filters": filters, "input": space.resolution**2 * 3, "tables": tables}
    return np.ascontiguousarray(np.stack([rules.row(part) for part in parts])), extra

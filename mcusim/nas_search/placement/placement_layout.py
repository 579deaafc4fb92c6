"""The structs of the native placement: a part of a network, the blocks that are placed, what comes out of a network."""

from __future__ import annotations

from typing import Annotated

from mcusim.native.structs import POINTER, Struct, Structs, Words

BLOCKS, SCRATCHES, PHASES = 6, 6, 2  # of a part at most; of a block


class LivePhase(Struct):
    """A tensor from its first to its last step; of 0 bytes: there is none."""

    first: int
    last: int
    bytes: int


class LiveBlock(Struct):
    """Tensors that are written over one another."""

    phases: Annotated[Structs[LivePhase], PHASES]


class ScratchNeed(Struct):
    """A kernel's scratch buffer at a step."""

    step: int
    bytes: int


class SegmentRow(Struct):
    """A part of a network: its steps, the last one that reads its input, its output; multiply-accumulates, bytes
    stored, of tables, of what all parts share (the largest counts), of the runtime; a bit a function; its blocks."""

    steps: int
    input_last: int
    out_first: int
    out_bytes: int
    macs: int
    stored: int
    tables: int
    shared: int
    runtime: int
    symbols: int
    block_count: int
    buffer_count: int
    blocks: Annotated[Structs[LiveBlock], BLOCKS]
    buffers: Annotated[Structs[ScratchNeed], SCRATCHES]


class SegmentRows(Struct):
    """By number."""

    records: Annotated[Structs[SegmentRow], 0]


class PlacedBlock(Struct):
    """A block of a network, and where it is."""

    phases: Annotated[Structs[LivePhase], PHASES]
    start: int
    placed: int


class PlacedBlocks(Struct, root=True):
    """One behind another."""

    records: Annotated[Structs[PlacedBlock], 0]


class SearchedNetwork(Struct):
    """Sums of its parts' figures, and the arena."""

    arena: int
    macs: int
    stored: int
    tables: int
    shared: int
    runtime: int
    symbols: int


class SearchedNetworks(Struct):
    """One behind another."""

    records: Annotated[Structs[SearchedNetwork], 0]


class PlacementTask(Struct):
    """``count`` networks, each of ``part_counts`` parts, listed in ``parts``. ``static_array``: one
    byte by byte, else an interpreter's arena; ``input_bytes`` of each network; ``blocks``: room for those of one."""

    rows: Annotated[SegmentRows, POINTER]
    parts: Annotated[Words, POINTER]
    part_counts: Annotated[Words, POINTER]
    blocks: Annotated[PlacedBlocks, POINTER]
    networks: Annotated[SearchedNetworks, POINTER]
    count: int
    static_array: int
    input_bytes: int

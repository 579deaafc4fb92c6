"""Networks joined of parts and placed, native: bytes of an arena by the planners' own rules.

:func:`greedy_bytes` is :func:`mcusim.plan.allocators.greedy.greedy_by_size`, :func:`first_fit_bytes`
:func:`mcusim.plan.static_array.first_fit`; tests hold both to them. Not modelled: other allocators, tensors that are
written over along more than one step.
"""

from __future__ import annotations

from mcusim.nas_search.placement.placement_layout import (
    PHASES,
    LivePhase,
    PlacedBlock,
    PlacedBlocks,
    PlacementTask,
    SearchedNetwork,
    SegmentRow,
)
from mcusim.native.functions import native

ALIGN = 16


@native
def _size(block: PlacedBlock) -> int:
    return max(block.phases[0].bytes, block.phases[1].bytes)


@native
def _largest(blocks: PlacedBlocks, n: int, last_first: int) -> int:
    """The index of the largest block that is not placed; of equal ones the first, or the last."""
    index, size = -1, -1
    for i in range(n):
        block = blocks.records[i]
        if block.placed == 0:
            own = _size(block)
            if own > size or (own == size and last_first):
                index, size = i, own
    return index


@native
def _overlap(phase: LivePhase, other: LivePhase) -> int:
    """Whether they live at the same time."""
    return 1 if phase.first <= other.last and other.first <= phase.last else 0


@native
def _end(new: PlacedBlock, old: PlacedBlock) -> int:
    """The end of a phase of ``old`` that overlaps ``new`` where that is; its offset where none does."""
    end = new.start
    for p in range(PHASES):
        phase = new.phases[p]
        if phase.bytes == 0 and p > 0:
            continue
        for q in range(PHASES):
            other = old.phases[q]
            if other.bytes == 0 and q > 0:
                continue
            inside = old.start < new.start + phase.bytes and new.start < old.start + other.bytes
            if inside and _overlap(phase, other):
                end = max(end, old.start + other.bytes)
    return end


@native
def _furthest(blocks: PlacedBlocks, n: int, new: PlacedBlock) -> int:
    """Where ``new`` may begin, seen from where it is: behind what is in its way."""
    furthest = new.start
    for i in range(n):
        if blocks.records[i].placed:
            furthest = max(furthest, _end(new, blocks.records[i]))
    return furthest


@native
def _placed(blocks: PlacedBlocks, n: int, last_first: int) -> int:
    """Each block, by falling size, at the lowest offset that is free while it lives; the end of all."""
    total = 0
    for i in range(n):
        blocks.records[i].placed = 0
    for _ in range(n):
        new = blocks.records[_largest(blocks, n, last_first)]
        new.start = 0
        furthest = _furthest(blocks, n, new)
        while furthest > new.start:
            new.start = furthest
            furthest = _furthest(blocks, n, new)
        new.placed = 1
        total = max(total, new.start + _size(new))
    return total


@native
def first_fit_bytes(blocks: PlacedBlocks, n: int) -> int:
    """The array of the first ``n`` blocks, byte by byte."""
    return _placed(blocks, n, 0)


@native
def greedy_bytes(blocks: PlacedBlocks, n: int) -> int:
    """The arena of the first ``n`` blocks, each rounded up to a multiple of the alignment."""
    for i in range(n):
        phase = blocks.records[i].phases[0]
        phase.bytes = (phase.bytes + ALIGN - 1) // ALIGN * ALIGN
    return _placed(blocks, n, 1)


@native
def _live(block: PlacedBlock, first: int, last: int, size: int) -> None:
    """A block of one tensor."""
    phase, none = block.phases[0], block.phases[1]
    phase.first, phase.last, phase.bytes = first, last, size
    none.first, none.last, none.bytes = 0, 0, 0


@native
def _inner(blocks: PlacedBlocks, n: int, part: SegmentRow, step: int) -> int:
    """The blocks inside a part that begins at ``step``, behind the first ``n``; how many there are then."""
    for i in range(part.block_count):
        block = blocks.records[n]
        for p in range(PHASES):
            phase, own = block.phases[p], part.blocks[i].phases[p]
            shift = step if own.bytes or p == 0 else 0
            phase.first, phase.last, phase.bytes = own.first + shift, own.last + shift, own.bytes
        n += 1
    return n


@native
def _add(network: SearchedNetwork, part: SegmentRow) -> None:
    """The part's figures to the network's."""
    network.macs += part.macs
    network.stored += part.stored
    network.tables += part.tables
    network.shared = max(network.shared, part.shared)
    network.runtime += part.runtime
    network.symbols |= part.symbols


@native
def _join(task: PlacementTask, first: int, count: int, network: SearchedNetwork) -> int:
    """The blocks of a network of ``count`` parts from the number ``first`` on, as they are made; how many there are."""
    blocks = task.blocks
    n, step, made = 1, 0, 0  # the network's input is block 0, its bytes are there
    for k in range(count):
        part = task.rows.records[task.parts[first + k]]
        blocks.records[made].phases[0].last = step + part.input_last
        n = _inner(blocks, n, part, step)
        made = n
        _live(blocks.records[n], step + part.out_first, step + part.steps - 1, part.out_bytes)
        n += 1
        step += part.steps
        _add(network, part)
    return n


@native
def _scratch(task: PlacementTask, first: int, count: int, n: int) -> int:
    """The kernels' scratch behind the first ``n`` blocks; how many there are then."""
    step = 0
    for k in range(count):
        part = task.rows.records[task.parts[first + k]]
        for i in range(part.buffer_count):
            need = part.buffers[i]
            _live(task.blocks.records[n], step + need.step, step + need.step, need.bytes)
            n += 1
        step += part.steps
    return n


@native
def place(task: PlacementTask) -> None:
    """Fill in the figures of all networks."""
    first = 0
    for number in range(task.count):
        network, count = task.networks.records[number], task.part_counts[number]
        _live(task.blocks.records[0], 0, 0, task.input_bytes)
        n = _join(task, first, count, network)
        if task.static_array:
            network.arena = first_fit_bytes(task.blocks, n)
        else:
            network.arena = greedy_bytes(task.blocks, _scratch(task, first, count, n))
        first += count

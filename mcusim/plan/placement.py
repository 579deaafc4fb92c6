"""Where a network's own data goes: the arena of activations (and scratch), the interpreter's data, the weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from mcusim.machine.description import Machine
from mcusim.model.geometry import Geometry
from mcusim.model.graph import Graph, Operator
from mcusim.plan.allocators.greedy import Arena, align_up
from mcusim.plan.arena import ALIGN, allocator_of, arena_of
from mcusim.plan.liveness.lifetimes import Lifetime, lifetimes
from mcusim.plan.options import IN_PLACE, PlanOptions
from mcusim.plan.pools import Layout, Pool, span_at
from mcusim.plan.ram_pools import RamPools, RamSizes, arena_parts, place_parts
from mcusim.plan.static_array import FIRST_FIT, ArrayBlock, Phase, array_blocks, first_fit, static_array
from mcusim.plan.verdict import ARENA, ARRAY
from mcusim.program.program import Buffer, MemoryParts, OperatorInfo, Span
from mcusim.runtime.planning_costs import Costs

WORD = 4  # bytes: what scratch of 16-bit data and words begins at
PER_CHANNEL = 8  # bytes of a multiplier and a shift

__all__ = ["ALIGN", "MemoryNeeds", "Placement", "memory_needs", "operator_infos", "place"]


@dataclass(frozen=True)
class MemoryNeeds:
    """Bytes a graph needs under one kernel set, before anything has an address.

    ``channels``, by operator: how many multipliers and shifts it has; ``nodes``: its call structures, and what else an
    interpreter keeps for it. ``in_flash``: these lie with the weights, as compiled code has them.
    """

    geometries: tuple[Geometry, ...]
    scratch: tuple[int, ...]  # of each operator
    lives: tuple[Lifetime, ...]
    activations: Arena  # of the tensors alone
    together: Arena  # tensors, then the operators' scratch (those that need any)
    channels: tuple[int, ...]
    nodes: tuple[int, ...]
    runtime: int
    weights: int
    allocator: str = "greedy"
    state: int = 0  # variables, each aligned
    in_flash: bool = False

    @property
    def sizes(self) -> RamSizes:
        """What has to be in RAM."""
        scratch, kept = max(self.scratch, default=0), self.runtime + self.state
        return RamSizes(self.activations.bytes, self.together.bytes, scratch, kept)

    def memory(self, overlay: int = 0, scratch_apart: bool = False) -> MemoryParts:
        """The parts of peak memory; ``arena`` counts the scratch of whole operators, as an interpreter would, among
        the tensors or apart from them."""
        sizes = self.sizes
        planned = sizes.tensors + sizes.scratch if scratch_apart else sizes.planned
        return MemoryParts(
            activations=self.activations.bytes,
            scratch=sizes.scratch,
            overlay=overlay,
            runtime=self.runtime,
            arena=planned + sizes.persistent,
            weights=self.weights,
            state=self.state,
        )


def memory_needs(graph: Graph, kernels: Costs, options: PlanOptions | None = None, longer: int = 0) -> MemoryNeeds:
    """Plan the arena of ``graph`` (its operators in order already, 16-byte alignment) and add up what else it needs.

    Runtime is what an interpreter keeps: ``node_bytes`` of each operator, ``per_channel_bytes`` for each output channel
    of the types in ``arrays``. Tensors live ``longer`` by so many operators than they are used, unless the file's own
    plan says where they are. Not modelled: the interpreter's own objects, its temporary allocations while it starts,
    and the stack. Raises UsageError and ModelError for an allocator that the graph has no plan for.
    """
    geometries = tuple(kernels.geometry(graph, op) for op in graph.operators)
    scratch = tuple(kernels.scratch(graph, op, g) for op, g in zip(graph.operators, geometries, strict=True))
    chosen = options or PlanOptions()
    if chosen.runtime.array is not None:
        return _array_needs(graph, kernels, chosen, geometries, scratch)
    allocator, lives = allocator_of(graph, chosen), lifetimes(graph, in_place=bool(chosen[IN_PLACE]))
    if allocator != "offline":
        last = len(graph.operators) - 1
        lives = tuple(replace(life, last=min(life.last + longer, last)) for life in lives)
    alone = arena_of(graph, lives, (), allocator, chosen.seconds)
    together = arena_of(graph, lives, scratch, allocator, chosen.seconds) if any(scratch) else alone
    channels = tuple(kernels.channels(g) for g in geometries)
    nodes = tuple(kernels.node_bytes(graph, op) for op in graph.operators)
    return MemoryNeeds(
        geometries,
        scratch,
        lives,
        alone,
        together,
        channels,
        nodes,
        sum(channels) * kernels.per_channel_bytes + sum(nodes),
        sum(align_up(graph.tensors[t].bytes, ALIGN) for t in _constants(graph)),
        allocator,
        sum(align_up(graph.tensors[t].bytes, ALIGN) for t in _variables(graph)),
    )


def _array_needs(
    graph: Graph, kernels: Costs, options: PlanOptions, geometries: tuple[Geometry, ...], scratch: tuple[int, ...]
) -> MemoryNeeds:
    """What compiled code needs: one array, with one scratch buffer for all operators behind the activations."""
    rules, over_input = options.runtime.array, options[IN_PLACE] is not False
    assert rules is not None  # the caller saw to that

    def in_place(graph: Graph, op: Operator) -> bool:
        return rules.in_place(graph, op) and (op.traits.casts or kernels.in_place(graph, op, geometries[op.index]))

    blocks = array_blocks(graph, in_place if over_input else None)
    lives = tuple(
        Lifetime(block.tensors[0], block.bytes, block.phases[0].first, block.phases[-1].last, block.tensors[1:])
        for block in blocks
    )
    alone = first_fit(blocks)
    if rules.own_kernels:
        total = static_array(graph, rules, alone.bytes, over_input, rules.im2col[0]).total
        together = _with_one_scratch(alone, scratch, total)
    else:
        buffers = [ArrayBlock((Phase(-1, step, step, size),), ALIGN) for step, size in enumerate(scratch) if size]
        together = first_fit((*blocks, *buffers))
        together = Arena(together.offsets, align_up(together.bytes, ALIGN))
    tensors = {t.index: align_up(t.bytes, ALIGN) for t in graph.tensors}
    channels = tuple(kernels.channels(g) for g in geometries)
    nodes = tuple(kernels.node_bytes(graph, op) for op in graph.operators)
    return MemoryNeeds(
        geometries,
        scratch,
        lives,
        alone,
        together,
        channels,
        nodes,
        0 if rules.own_kernels else sum(channels) * PER_CHANNEL + sum(nodes),
        sum(tensors[t] for t in _constants(graph)),
        FIRST_FIT,
        sum(tensors[t] for t in _variables(graph)),
        in_flash=rules.own_kernels,
    )


def _with_one_scratch(alone: Arena, scratch: Sequence[int], total: int) -> Arena:
    """Behind the activations one buffer for all operators; ``total`` bytes at least."""
    shared = align_up(alone.bytes, WORD)
    end = max(total, shared + max(scratch, default=0))
    return Arena((*alone.offsets, *(shared for size in scratch if size)), align_up(end, WORD))


@dataclass
class Placement:
    """Addresses: ``tensors`` by tensor index (activations and constants), ``scratch``, ``multipliers`` and ``shifts``
    by operator index."""

    machine: Machine
    tensors: dict[int, Span]
    scratch: dict[int, Span]
    multipliers: dict[int, Span]
    shifts: dict[int, Span]
    buffers: list[Buffer]


def place(
    graph: Graph,
    need: MemoryNeeds,
    layout: Layout,
    pools: RamPools,
    weights: Pool,
    scratch: bool = True,
    homes: Mapping[int, Pool] | None = None,
) -> Placement:
    """Put the arena, from its base up (planned buffers, then state, then the interpreter's data), and the weights.

    What ``pools`` have apart from the arena goes there. ``scratch`` False leaves the scratch buffers to the caller.
    ``homes``: the memories of constants that are not with the others in ``weights``. Raises DoesNotFit.
    """
    plan = need.together if scratch and pools.scratch is None else need.activations
    parts = arena_parts(need.activations.bytes, plan.bytes, need.runtime, need.state)
    if pools.scratch is not None:
        parts["scratch"] = need.sizes.scratch
    address = place_parts(layout, pools, ARRAY if need.in_flash else ARENA, parts)
    placed = Placement(layout.machine, {}, {}, {}, {}, [])
    _place_arena(graph, need, plan, address.arena, placed)
    if address.scratch is not None:
        _place_one_scratch(need, address.scratch, placed)
    state = address.arena + plan.bytes if address.persistent is None else address.persistent
    _place_state(graph, state, placed)
    tables = state + need.state
    if need.in_flash:
        size = PER_CHANNEL * sum(need.channels) + sum(need.nodes)
        tables = layout.allocate(weights, size, ALIGN, "the kernels' parameters", {"parameters": size})
    _place_runtime(graph, need, tables, placed)
    _place_weights(graph, layout, weights, homes or {}, placed)
    return placed


def operator_infos(graph: Graph, geometries: Sequence[Geometry]) -> tuple[OperatorInfo, ...]:
    """What a program's header says of each operator."""
    return tuple(OperatorInfo(op.index, op.type, g.macs) for op, g in zip(graph.operators, geometries, strict=True))


def _place_arena(graph: Graph, need: MemoryNeeds, plan: Arena, base: int, placed: Placement) -> None:
    alone = {life.tensor: (life.first, life.last) for life in lifetimes(graph)}
    for life, offset in zip(need.lives, plan.offsets, strict=False):
        for tensor in (life.tensor, *life.shared):
            span = span_at(placed.machine, base + offset, graph.tensors[tensor].bytes)
            placed.tensors[tensor] = span
            first, last = alone[tensor] if life.shared else (life.first, life.last)
            placed.buffers.append(Buffer(f"tensor{tensor}", "activation", span, first, last))
    with_scratch = [step for step, size in enumerate(need.scratch) if size]
    for step, offset in zip(with_scratch, plan.offsets[len(need.lives) :], strict=False):
        span = span_at(placed.machine, base + offset, need.scratch[step])
        placed.scratch[step] = span
        placed.buffers.append(Buffer(f"scratch{step}", "scratch", span, step, step))


def _place_one_scratch(need: MemoryNeeds, base: int, placed: Placement) -> None:
    """One buffer from ``base`` for the kernels of all operators."""
    for step, size in enumerate(need.scratch):
        if size:
            placed.scratch[step] = span = span_at(placed.machine, base, size)
            placed.buffers.append(Buffer(f"scratch{step}", "scratch", span, step, step))


def _place_state(graph: Graph, address: int, placed: Placement) -> None:
    """Variables, in tensor order, each kept from the first operator to the last and on to the next inference."""
    for t in _variables(graph):
        span = span_at(placed.machine, address, graph.tensors[t].bytes)
        placed.tensors[t] = span
        placed.buffers.append(Buffer(f"tensor{t}", "state", span, 0, len(graph.operators) - 1))
        address += align_up(span.bytes, ALIGN)


def _place_runtime(graph: Graph, need: MemoryNeeds, base: int, placed: Placement) -> None:
    """Multipliers and shifts of each operator that has them, then the nodes."""
    last, address = len(graph.operators) - 1, base

    def put(name: str, size: int) -> Span:
        nonlocal address
        span = span_at(placed.machine, address, size)
        placed.buffers.append(Buffer(name, "runtime", span, 0, last))
        address += size
        return span

    arrays: Mapping[str, dict[int, Span]] = {"multiplier": placed.multipliers, "shift": placed.shifts}
    for step, channels in enumerate(need.channels):
        if channels:
            for name, spans in arrays.items():
                spans[step] = put(f"{name}{step}", channels * 4)
    for step, size in enumerate(need.nodes):
        if size:
            put(f"node{step}", size)


def _place_weights(graph: Graph, layout: Layout, pool: Pool, homes: Mapping[int, Pool], placed: Placement) -> None:
    """The constants of each memory in one block, in tensor order."""
    blocks: dict[Pool, list[int]] = {pool: []}
    for t in _constants(graph):
        blocks.setdefault(homes.get(t, pool), []).append(t)
    for home, tensors in blocks.items():
        sizes = [align_up(graph.tensors[t].bytes, ALIGN) for t in tensors]
        address = layout.allocate(home, sum(sizes), ALIGN, "the block of weights", {"weights": sum(sizes)})
        for t, size in zip(tensors, sizes, strict=True):
            span = span_at(placed.machine, address, graph.tensors[t].bytes)
            placed.tensors[t] = span
            placed.buffers.append(Buffer(f"tensor{t}", "weights", span, 0, len(graph.operators) - 1))
            address += size


def _variables(graph: Graph) -> list[int]:
    return [t.index for t in graph.tensors if t.variable and t.bytes]


def _constants(graph: Graph) -> list[int]:
    """Constant tensors that an operator reads, each once."""
    read = {t for op in graph.operators for t in op.inputs if t >= 0}
    return sorted(t for t in read if graph.tensors[t].constant and graph.tensors[t].bytes)

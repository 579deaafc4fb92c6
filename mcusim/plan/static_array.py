"""The one static array of a compiled runtime: where activations, scratch of the kernels and widened filters lie.

Activations go largest first, ties as the network makes them, each to the lowest address that is free all the while it
is alive, and a multiple of its element's bytes. An operator that its runtime computes in place writes over an input
that dies there: both are one block, whose bytes shrink with what is in it. After a window of stride 2 the public
planner of TinyEngine counts a quarter; where sizes are odd and the output is larger than that, it is the output here.
There buffers of exactly equal life count as apart, which they are not.

Not modelled: the stack, a caller's own buffers, tensors that move, kernels that need other scratch than the rules have.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass

from mcusim.model import geometry
from mcusim.model.graph import Graph, Operator, item_bytes
from mcusim.plan.allocators.greedy import Arena, align_up
from mcusim.plan.liveness.lifetimes import Lifetime, lifetimes
from mcusim.runtime.runtime import ArrayRules

FIRST_FIT = "first-fit"  # how tables and headers call who places the blocks of an array


@dataclass(frozen=True, slots=True)
class Phase:
    """``tensor`` in ``bytes`` that count from step ``first`` to step ``last``, both inclusive."""

    tensor: int
    first: int
    last: int
    bytes: int


@dataclass(frozen=True, slots=True)
class ArrayBlock:
    """What lies at one offset: tensors that are computed one over the other, in the order in which they are made.

    ``align``: bytes of the widest element of any of them, which its offset is a multiple of.
    """

    phases: tuple[Phase, ...]
    align: int = 1

    @property
    def tensors(self) -> tuple[int, ...]:
        return tuple(phase.tensor for phase in self.phases)

    @property
    def bytes(self) -> int:
        """The most that it takes."""
        return max(phase.bytes for phase in self.phases)


@dataclass(frozen=True, slots=True)
class StaticArray:
    """Bytes: ``arena`` of the activations, ``scratch``, ``filters``; ``parameters`` lie in flash.

    ``columns``: of inputs that each operator has in scratch at once, by operator; 0 where it has none.
    """

    arena: int
    scratch: int
    filters: int
    parameters: int
    columns: tuple[int, ...] = ()

    @property
    def total(self) -> int:
        """Bytes of the array."""
        return self.arena + self.scratch + self.filters

    def to_json(self) -> dict[str, int]:
        """``arena scratch filters total parameters``, in bytes."""
        fields = {key: value for key, value in asdict(self).items() if key != "columns"}
        return {**fields, "total": self.total}


def static_array(graph: Graph, rules: ArrayRules, arena: int, over_input: bool, im2col: str) -> StaticArray:
    """The array of ``graph``, whose activations take ``arena`` bytes, with the scratch that ``rules`` say."""
    shapes = [geometry(graph, op) for op in graph.operators]
    scratch = rules.scratch(shapes, over_input, im2col)
    columns = rules.columns(shapes, im2col)
    return StaticArray(arena, scratch, rules.filters(shapes), rules.parameters(graph), columns)


def first_fit(blocks: Sequence[ArrayBlock], align: int = 1) -> Arena:
    """Offsets of ``blocks``, multiples of ``align`` and of what each asks for."""
    offsets = [0] * len(blocks)
    placed: list[int] = []
    for i in sorted(range(len(blocks)), key=lambda i: -blocks[i].bytes):
        offsets[i] = _lowest(blocks, offsets, placed, i, max(align, blocks[i].align))
        placed.append(i)
    return Arena(tuple(offsets), max((offsets[i] + block.bytes for i, block in enumerate(blocks)), default=0))


def _lowest(blocks: Sequence[ArrayBlock], offsets: Sequence[int], placed: Sequence[int], new: int, align: int) -> int:
    """The lowest offset for block ``new`` at which none of its phases meets a placed one of the same time."""
    offset = 0
    while True:
        end = max((_end(blocks[new], offset, blocks[i], offsets[i]) for i in placed), default=offset)
        if end <= offset:
            return offset
        offset = align_up(end, align)


def _end(new: ArrayBlock, offset: int, old: ArrayBlock, taken: int) -> int:
    """The end of a phase of ``old``, which is at ``taken``, that overlaps ``new`` at ``offset``; ``offset``: none."""
    end = offset
    for phase in new.phases:
        for other in old.phases:
            together = phase.first <= other.last and other.first <= phase.last
            if together and taken < offset + phase.bytes and offset < taken + other.bytes:
                end = max(end, taken + other.bytes)
    return end


def array_blocks(graph: Graph, in_place: Callable[[Graph, Operator], bool] | None) -> tuple[ArrayBlock, ...]:
    """The blocks of ``graph``'s array, in the order in which the network makes their first tensors.

    ``in_place`` says which operators may write over an input that dies at them, that is neither an output of the graph
    nor read by the operator twice; None: none.
    """
    lives = {life.tensor: life for life in lifetimes(graph)}
    follows: dict[int, int] = {}
    for op in graph.operators:
        dies = len(op.outputs) == 1 and op.outputs[0] in lives and _dies(graph, op, lives)
        if in_place and dies and in_place(graph, op):
            follows[op.inputs[0]] = op.outputs[0]
    later = set(follows.values())
    return tuple(_block(graph, t, follows, lives) for t in _as_made(graph, lives) if t not in later)


def _dies(graph: Graph, op: Operator, lives: Mapping[int, Lifetime]) -> bool:
    """Whether nothing needs the first input of ``op`` after it."""
    source = op.inputs[0] if op.inputs else -1
    if source not in lives or source in graph.outputs or op.inputs.count(source) > 1:
        return False
    return lives[source].last == op.index


def _as_made(graph: Graph, lives: Collection[int]) -> list[int]:
    """Tensors in the order in which the network makes them, its inputs first."""
    made = [*graph.inputs, *(t for op in graph.operators for t in op.outputs)]
    return [t for t in dict.fromkeys(made) if t in lives]


def _block(graph: Graph, first: int, follows: Mapping[int, int], lives: Mapping[int, Lifetime]) -> ArrayBlock:
    """The bytes of ``first`` count to the step that writes over it, then those of the next."""
    life = lives[first]
    phases, needed, tensor = [Phase(first, life.first, life.last, life.bytes)], life.bytes, first
    while tensor in follows:
        before, tensor = lives[tensor].bytes, follows[tensor]
        life = lives[tensor]
        if life.bytes < before:
            needed = max(life.bytes, -(-needed // 4))
        since = life.first + 1  # the step that writes over it counts as the one before
        phases.append(Phase(tensor, since, max(life.last, since), max(needed, life.bytes)))
    return ArrayBlock(tuple(phases), max(item_bytes(graph.tensors[phase.tensor].dtype) or 1 for phase in phases))

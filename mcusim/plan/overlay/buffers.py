"""What the ``tinyops`` policy copies, in how many tiles, and how large its SRAM buffers are.

Buffers, as in the TinyOps paper and firmware: two for ping-pong input tiles; two "second" buffers for the second input
of two-input operators and, for one-input operators, the filters; one array each for biases, multipliers and shifts;
and the kernels' scratch (im2col). With single buffering there is one of each pair, and by the same rules it is larger.
The firmware of 2023 divides the SRAM otherwise: :mod:`mcusim.plan.overlay.one_filter_buffer`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from mcusim.errors import DoesNotFit, UsageError
from mcusim.model.channel_tiles import model_operators
from mcusim.model.geometry import Geometry, Tile, whole
from mcusim.model.graph import Graph, Operator
from mcusim.plan.operand_roles import data_inputs, tensor_roles
from mcusim.plan.overlay.tiling import most_rows, partition, smallest_factor
from mcusim.plan.placement import MemoryNeeds
from mcusim.plan.pools import Pool


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """What of one operator may be overlaid, in bytes; 0 is nothing. ``row`` is one row of ``input0``, ``second_row``
    one row of ``input1``."""

    row: int = 0
    second_row: int = 0
    filter: int = 0
    bias: int = 0
    quant: int = 0


@dataclass(frozen=True, slots=True)
class TiledOperator:
    """One operator as it will run: ``copies`` that fit, and its tiles."""

    operator: Operator
    geometry: Geometry
    copies: CopyPlan
    tiles: tuple[Tile, ...]


@dataclass(frozen=True, slots=True)
class OverlaySizes:
    """Bytes of each SRAM buffer before padding, and the global partition factor (1: nothing is partitioned).

    ``buffers_per_kind`` is how many buffers there are for tiles, and as many for second inputs and filters. With
    ``one_filter_buffer`` ``second`` is the first of the second buffers, which alone has filters, and ``scratch`` the
    other, in which the kernels have their scratch too."""

    factor: int
    tile: int
    second: int
    bias: int
    quant: int
    scratch: int
    buffers_per_kind: int = 2
    one_filter_buffer: bool = False

    def buffers(self) -> dict[str, int]:
        """Size by buffer name, in the order of their addresses; buffers of size 0 are left out."""
        kinds = {"tile": self.tile, "second": self.second}
        pairs = {f"{kind}{turn}": size for kind, size in kinds.items() for turn in range(self.buffers_per_kind)}
        arrays = {"bias": self.bias, "multiplier": self.quant, "shift": self.quant, self.scratch_buffer: self.scratch}
        return {name: size for name, size in (pairs | arrays).items() if size}

    @property
    def scratch_buffer(self) -> str:
        """The name of the buffer in which the kernels have their scratch."""
        return "second1" if self.one_filter_buffer else "scratch"

    def total(self, padded: Callable[[int], int]) -> int:
        return sum(padded(size) for size in self.buffers().values())


def copies(graph: Graph, op: Operator, g: Geometry, overlay: frozenset[str]) -> CopyPlan:
    """What ``overlay`` lets the policy copy of ``op``.

    Only operators that can be partitioned, of batch 1, whose rows are contiguous. A second input of
    another size (broadcast) is read in place; if the first is the smaller one nothing is copied.
    """
    if not op.traits.partitionable or g.batch != 1 or not _by_rows(graph, op, g):
        return CopyPlan()
    constants = {role: graph.tensors[t].bytes for role, t in tensor_roles(graph, op)}
    second = 0
    if op.traits.broadcast:
        first_bytes, *others = [graph.tensors[t].bytes for t in data_inputs(graph, op)]
        second = first_bytes // g.in_h if others == [first_bytes] else 0
    row = graph.tensors[data_inputs(graph, op)[0]].bytes // g.in_h
    return CopyPlan(
        row=row if "input" in overlay else 0,
        second_row=second if "input" in overlay else 0,
        filter=constants.get("filter", 0) if "filter" in overlay else 0,
        bias=constants.get("bias", 0) if "bias" in overlay else 0,
        quant=g.out_c * 4 if "quant" in overlay and op.traits.per_channel and not g.is_float else 0,
    )


def choose_sizes(
    need: MemoryNeeds,
    plans: Sequence[CopyPlan],
    pool: Pool,
    padded: Callable[[int], int],
    buffers_per_kind: int = 2,
    largest_tile: int | None = None,
) -> OverlaySizes:
    """The smallest global factor, from 2 on, whose buffers fit ``pool``, and their sizes.

    A tile buffer holds the largest tile of any operator at that factor. A second buffer holds every second-input tile
    and every filter that is no larger than a tile buffer; what is left of the pool lets larger filters in. If no factor
    fits that way, the filters have to do with what is left. Filters that do not fit are read in place. ``padded`` gives
    the bytes a buffer takes with its alignment. ``largest_tile``: the most bytes that a tile buffer may have.

    Raises DoesNotFit with the smallest total of any factor, UsageError where every factor's tile is too large.
    """

    def demand(factor: int, with_filters: bool) -> OverlaySizes:
        return replace(sizes_at(need, plans, factor, with_filters), buffers_per_kind=buffers_per_kind)

    sizes = smallest_that_fits(need, plans, pool, padded, demand, largest_tile)
    return _with_rest(sizes, plans, pool.size - sizes.total(padded), padded)


def smallest_that_fits(
    need: MemoryNeeds,
    plans: Sequence[CopyPlan],
    pool: Pool,
    padded: Callable[[int], int],
    demand: Callable[[int, bool], OverlaySizes],
    largest_tile: int | None = None,
) -> OverlaySizes:
    """``demand(factor, generous)`` of the smallest factor that fits ``pool``, with tiles of at most ``largest_tile``
    bytes; not generous where none does that way.

    Raises DoesNotFit with the smallest total of any factor, UsageError where every factor's tile is too large.
    """
    highest = max([g.in_h for g, c in zip(need.geometries, plans, strict=True) if c.row], default=2)
    totals, tiles = [], []
    for generous in (True, False):
        for factor in range(2, max(highest, 2) + 1):
            sizes = demand(factor, generous)
            tiles.append(sizes.tile)
            if largest_tile is not None and sizes.tile > largest_tile:
                continue
            totals.append(sizes.total(padded))
            if totals[-1] <= pool.size:
                return sizes
    if not totals:
        raise UsageError(f"tile_buffer = {largest_tile} B: the smallest tiles of this network take {min(tiles):,} B")
    what = "the smallest set of overlay buffers (at any partition factor)"
    raise DoesNotFit(pool.name, min(totals), pool.size, what, {"overlay": min(totals)})


def sizes_at(need: MemoryNeeds, plans: Sequence[CopyPlan], factor: int, with_filters: bool) -> OverlaySizes:
    """Buffer sizes that global ``factor`` asks for; the second ones have filters no larger than a tile if asked."""
    pairs = list(zip(need.geometries, plans, strict=True))
    tile = max((most_rows(g, factor) * c.row for g, c in pairs if c.row), default=0)
    inputs = (most_rows(g, _factor(g, c, tile)) * c.second_row for g, c in pairs if c.second_row)
    filters = (c.filter for _, c in pairs if with_filters and c.filter <= tile)
    return OverlaySizes(
        factor=factor if tile else 1,
        tile=tile,
        second=max([*inputs, *filters], default=0),
        bias=max((c.bias for _, c in pairs), default=0),
        quant=max((c.quant for _, c in pairs), default=0),
        scratch=max(need.scratch, default=0),
    )


def tiled_operators(
    graph: Graph, need: MemoryNeeds, plans: Sequence[CopyPlan], sizes: OverlaySizes, rows: tuple[tuple[int, int], ...]
) -> list[TiledOperator]:
    """Every operator with its tiles: the smallest factor whose largest tile fits the tile buffer, not below the one in
    ``rows`` for the model's operator."""
    made, least = [], dict(rows)
    for op, stored, g, c in zip(graph.operators, model_operators(graph), need.geometries, plans, strict=True):
        tiles = partition(g, _factor(g, c, sizes.tile, least.get(stored, 2))) if c.row else (whole(g),)
        kept = c if c.filter <= sizes.second else CopyPlan(c.row, c.second_row, 0, c.bias, c.quant)
        made.append(TiledOperator(op, g, kept, tiles))
    return made


def transfers(operators: Sequence[TiledOperator], most: int) -> int:
    """DMA transfers that all copies of ``operators`` take when one moves at most ``most`` bytes."""
    sizes: list[int] = []
    for tiled in operators:
        c = tiled.copies
        sizes += [c.filter, c.bias, c.quant, c.quant]
        sizes += [tile.in_rows * row for tile in tiled.tiles for row in (c.row, c.second_row)]
    return sum(-(-size // most) for size in sizes)


def _by_rows(graph: Graph, op: Operator, g: Geometry) -> bool:
    """Are ``input0`` and the output whole rows of the geometry?"""
    inputs = data_inputs(graph, op)
    if not inputs or len(op.outputs) != 1 or (op.traits.broadcast and len(inputs) != 2):
        return False
    source, target = graph.tensors[inputs[0]], graph.tensors[op.outputs[0]]
    return source.elements == g.in_h * g.in_w * g.in_c and target.elements == g.out_h * g.out_w * g.out_c


def _factor(g: Geometry, c: CopyPlan, largest: int, least: int = 2) -> int:
    """That of one row a tile where none has tiles of at most ``largest`` bytes."""
    return smallest_factor(g, c.row, largest, least) or g.in_h


def _with_rest(s: OverlaySizes, plans: Sequence[CopyPlan], rest: int, padded: Callable[[int], int]) -> OverlaySizes:
    """``s`` with second buffers enlarged to the largest filter that each one's share of the ``rest`` makes room for."""
    room = (padded(s.second) if s.second else 0) + rest // s.buffers_per_kind
    second = max([s.second, *(c.filter for c in plans if padded(c.filter) <= room)])
    return replace(s, second=second)

"""``tinyops``: data in SDRAM, operators in tiles, what is read often copied into SRAM by DMA (Sadiq et al. 2022).

Variant ``2022`` is the paper's. ``2023``, which its public firmware became, has one buffer for filters instead of two,
with all the SRAM that is left (:mod:`mcusim.plan.overlay.one_filter_buffer`), copies the first tile of an operator
while the one before still runs (:mod:`mcusim.plan.overlay.early_tiles`), and lets tensors live one operator longer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypedDict

from mcusim.errors import UsageError
from mcusim.machine.description import Machine
from mcusim.model.channel_tiles import model_operators
from mcusim.model.graph import Graph
from mcusim.plan.allocators.greedy import align_up
from mcusim.plan.options import (
    CHANNEL_TILES,
    IN_PLACE,
    PERSISTENT,
    SRAM_BUDGET,
    TENSOR_REGIONS,
    WEIGHTS,
    Option,
    PlanOptions,
    choice,
    counts,
    names,
    size,
    some_by_operator,
)
from mcusim.plan.overlay.buffers import CopyPlan, OverlaySizes, choose_sizes, copies, tiled_operators, transfers
from mcusim.plan.overlay.early_tiles import EarlyTilePipeline
from mcusim.plan.overlay.emitter import Emitter, controller, line_bytes
from mcusim.plan.overlay.on_chip import ON_CHIP, Residents, residents
from mcusim.plan.overlay.one_filter_buffer import choose_one_filter_buffer
from mcusim.plan.overlay.pipeline import TaskPipeline
from mcusim.plan.placement import ALIGN, MemoryNeeds, Placement, memory_needs
from mcusim.plan.policies.external import sdram
from mcusim.plan.policies.untiled import make_header
from mcusim.plan.pools import Layout, Pool, region_pool, span_at, sram_pool
from mcusim.plan.registry import register
from mcusim.program.program import Buffer, Program, Span
from mcusim.runtime.planning_costs import Costs

OVERLAYS = ("input", "filter", "bias", "quant")
BUFFERS = {"double": 2, "single": 1}  # for the tiles of an input, and for filters
OVERLAY = names("overlay", OVERLAYS, help="What {takers} copies by DMA: some of input,filter,bias,quant. Default: all.")
BUFFERING = choice(
    "buffering", BUFFERS, "double", help="With {takers}: double (default), or single buffers, shared by DMA and core."
)
VARIANT = choice(
    "variant", ("2022", "2023"), "2022", metavar="YEAR",
    help="With {takers}: 2022 (default), as the TinyOps paper has it, or 2023, as its public firmware does: one filter"
    " buffer, an early first tile.",
    label="{}",
)  # fmt: skip
BUFFER_SIZES = choice(
    "buffer_sizes", ("best", "largest"), "best", metavar="RULE",
    help="With {takers}: best (default): of the fastest plan within the budget, by replay; largest: as large as the"
    " budget lets them be, as in the TinyOps paper.",
)  # fmt: skip
TILE_BUFFER = size("tile_buffer", help="With {takers}: the most that a buffer for input tiles may take.")
ROW_TILES = counts(
    "row_tiles", help="With {takers}: operators in at least so many tiles of rows: 4:8,11:6. Default: as few as fit."
)
UNCOPIED = some_by_operator(
    "uncopied", OVERLAYS, help="With {takers}: what some operators read in place, of what is copied: 8:input,75:filter."
)
_BY_OPERATOR: tuple[Option[Any], ...] = (ROW_TILES, UNCOPIED, ON_CHIP, TENSOR_REGIONS, PERSISTENT)
OPTIONS = (SRAM_BUDGET, BUFFER_SIZES, OVERLAY, BUFFERING, VARIANT, CHANNEL_TILES, TILE_BUFFER, ROW_TILES, UNCOPIED,
           ON_CHIP, TENSOR_REGIONS, PERSISTENT)  # fmt: skip


class TinyopsOptions(TypedDict, total=False):
    """``sram_budget``: the most on-chip RAM, in bytes or as a text (``"9 KiB"``). ``buffer_sizes``: ``best`` or
    ``largest`` within it. ``overlay``: what is copied, some of
    :data:`OVERLAYS`. ``buffering``: of :data:`BUFFERS`. ``variant``: ``2022`` or ``2023``. By number of the model's
    operators, as ``{75: 14}`` or ``"75:14,73:2"``: ``channel_tiles`` and ``row_tiles``, parts of the output's channels
    and rows; ``uncopied`` (``"8:input"``), what is read in place. ``tile_buffer``: the most of a buffer for tiles;
    ``on_chip``: RAM for call structures and small activations."""

    sram_budget: int | str | None
    buffer_sizes: str | None
    overlay: Iterable[str] | None
    buffering: str | None
    variant: int | str | None
    channel_tiles: str | Mapping[int, int] | None
    tile_buffer: int | str | None
    row_tiles: str | Mapping[int, int] | None
    uncopied: str | None
    on_chip: int | str | None


@register("tinyops", "data in SDRAM, tiles of it copied into SRAM by DMA", options=OPTIONS, order=3)
def plan(graph: Graph, machine: Machine, kernels: Costs, options: PlanOptions) -> Program:
    """Arena, interpreter's data and weights in SDRAM; overlay buffers and the kernels' scratch in the SRAM pool.

    :data:`OVERLAY` says what is copied: ``input`` (tiles of inputs; without it nothing is partitioned), ``filter``,
    ``bias``, ``quant`` (multipliers and shifts). The core reads the rest in place and writes outputs straight to SDRAM.
    ``SRAM_BUDGET`` bounds the SRAM buffers, which are as large as it lets them be (:data:`BUFFER_SIZES` ``best`` is for
    :mod:`mcusim.api.best_plan`, which plans for several budgets); ``options[WEIGHTS]`` may name another region for the
    weights. :data:`BUFFERING` ``single`` leaves out the second buffer of each pair: DMA and core then wait for each
    other, but the same SRAM holds larger tiles. With a data cache, buffers are padded to whole lines and by one line.

    Rules: the public TinyOps firmware (see :mod:`mcusim.plan.overlay.tiling` and :mod:`mcusim.plan.overlay.buffers`).
    Raises DoesNotFit when no partition factor makes the buffers fit, UsageError when the machine has no SDRAM or no
    DMA, or the program would have too many tasks. Not modelled: the software queues of the firmware, which lose a
    request when they are full.
    """
    options = _compiled(options) if options.runtime.array is not None else options
    if options[VARIANT] == "2023" and options[BUFFERING] == "single":
        raise UsageError("--variant 2023 has two buffers for tiles; --buffering single is for variant 2022")
    need, layout = memory_needs(graph, kernels, options, longer=int(options[VARIANT] == "2023")), Layout(machine)
    home, dma = sdram(machine, "tinyops"), controller(machine)
    weights, pool = options[WEIGHTS] or home, sram_pool(machine, options[SRAM_BUDGET], dma=True)
    _check_reach(machine, home, weights)
    kept, padded = residents(graph, machine, need, options, region_pool(machine, home), pool), _padding(machine)
    plans = _copies(graph, need, options, kept)
    chosen = _sizes(need, plans, kept.rest, padded, options)
    placed = kept.put(graph, need, layout, options, region_pool(machine, weights))
    buffers = _allocate(chosen, layout, pool, padded)
    _place_scratch(need, chosen, buffers, placed)
    work = tiled_operators(graph, need, plans, chosen, options[ROW_TILES])
    emitter = Emitter(machine, dma, chosen.scratch_buffer if chosen.one_filter_buffer else None)
    emitter.schedule.require_room(transfers(work, dma.max_units * dma.beat))  # before the work of emitting
    placed.buffers.extend(_described(buffers, len(graph.operators) - 1))
    overlay = chosen.total(padded) - _scratch_bytes(need, chosen, padded)
    recorded = _chosen(options, weights, chosen) | ({"in_place": False} if need.in_flash else {})
    header = make_header(graph, "tinyops", kernels, need, layout, placed, recorded, overlay)
    pipeline = EarlyTilePipeline if chosen.one_filter_buffer else TaskPipeline
    return Program(header, tuple(pipeline(graph, emitter, placed, buffers, work, chosen.buffers_per_kind).run().tasks))


def _compiled(options: PlanOptions) -> PlanOptions:
    """``options`` of compiled code: a tile's output may not lie over rows that the next tile reads.

    Raises UsageError for what its static array does not do.
    """
    name = options.runtime.name
    if options[IN_PLACE]:
        raise UsageError(f"--in-place has no effect with --policy tinyops and --runtime {name}: tiles overlap")
    if options[VARIANT] == "2023":
        raise UsageError(f"--variant 2023, whose tensors live longer, is for an interpreter, not for --runtime {name}")
    others: tuple[Option[Any], ...] = (ON_CHIP, PERSISTENT)
    for option in others:
        if options[option] is not None:
            raise UsageError(f"--{option.flag} divides an interpreter's arena; --runtime {name} has one array")
    return options.having(IN_PLACE, False)


def _copies(graph: Graph, need: MemoryNeeds, options: PlanOptions, residents: Residents) -> list[CopyPlan]:
    """What of each operator is copied; nothing of what is read where it is.

    Raises UsageError for options of operators that the model has not.
    """
    stored, rows, some = model_operators(graph), options[ROW_TILES], options[UNCOPIED]
    kept, none = dict(some), frozenset[str]()
    named = [(ROW_TILES.flag, n) for n, _ in rows] + [(UNCOPIED.flag, n) for n in kept]
    for flag, number in named:
        if number > max(stored):
            raise UsageError(f"--{flag}: there is no operator {number}; the last is {max(stored)}")
    return [
        copies(graph, op, g, options[OVERLAY] - kept.get(number, none) - residents.read_in_place(graph, op))
        for op, number, g in zip(graph.operators, stored, need.geometries, strict=True)
    ]


def _sizes(
    need: MemoryNeeds, plans: list[CopyPlan], pool: Pool, padded: Callable[[int], int], options: PlanOptions
) -> OverlaySizes:
    if options[VARIANT] == "2023":
        return choose_one_filter_buffer(need, plans, pool, padded, options[TILE_BUFFER])
    return choose_sizes(need, plans, pool, padded, BUFFERS[options[BUFFERING]], options[TILE_BUFFER])


def _scratch_bytes(need: MemoryNeeds, chosen: OverlaySizes, padded: Callable[[int], int]) -> int:
    """Bytes of the buffers that the parts of the memory count as scratch; a scratch buffer of size 0 is not there."""
    if chosen.one_filter_buffer:
        return max(need.scratch, default=0)
    return padded(chosen.scratch) if chosen.scratch else 0


def _check_reach(machine: Machine, *names: str) -> None:
    for name in names:
        region_pool(machine, name)
        if not machine.memory[name].dma:
            raise UsageError(f"the DMA of {machine.name} does not reach region '{name}': nothing can be copied from it")


def _padding(machine: Machine) -> Callable[[int], int]:
    """Bytes a buffer takes: aligned; with a data cache whole lines and one line more, as in the firmware."""
    line = line_bytes(machine)
    return lambda size: align_up(size, max(line, ALIGN)) + line


def _allocate(chosen: OverlaySizes, layout: Layout, pool: Pool, padded: Callable[[int], int]) -> dict[str, Span]:
    align = max(line_bytes(layout.machine), ALIGN)
    spans = {}
    for name, wanted in chosen.buffers().items():
        address = layout.allocate(pool, padded(wanted), align, f"overlay buffer {name}")
        spans[name] = span_at(layout.machine, address, wanted)
    return spans


def _place_scratch(need: MemoryNeeds, chosen: OverlaySizes, buffers: dict[str, Span], placed: Placement) -> None:
    """All kernels share one scratch buffer."""
    for step, wanted in enumerate(need.scratch):
        if wanted:
            placed.scratch[step] = span_at(placed.machine, buffers[chosen.scratch_buffer].address, wanted)


def _described(buffers: dict[str, Span], last: int) -> list[Buffer]:
    return [Buffer(n, "scratch" if n == "scratch" else "overlay", span, 0, last) for n, span in buffers.items()]


def _chosen(options: PlanOptions, weights: str, chosen: OverlaySizes) -> dict[str, object]:
    # a program that names no buffering has two buffers of each kind; one that names no variant has the paper's
    return {
        **{option.name: options[option] for option in (BUFFERING, VARIANT) if options[option] != option.default},
        **{
            option.name: option.to_json(options[option]) for option in _BY_OPERATOR if options[option] != option.default
        },
        "weights": weights,
        "sram_budget": options[SRAM_BUDGET],
        "overlay": [name for name in OVERLAYS if name in options[OVERLAY]],
        "factor": chosen.factor,
        "tile_buffer": chosen.tile,  # that it is: no larger than the one asked for
        "second_buffer": chosen.second,
    }

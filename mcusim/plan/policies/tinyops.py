"""``tinyops``: data in SDRAM, operators in tiles, what is read often copied into SRAM by DMA (Sadiq et al. 2022)."""

from __future__ import annotations

from collections.abc import Callable

from mcusim.errors import UsageError
from mcusim.kernels.planning_costs import Costs
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan.allocators.greedy import align_up
from mcusim.plan.options import BUFFERING, OVERLAYS, PlanOptions
from mcusim.plan.overlay.buffers import OverlaySizes, choose_sizes, copies, tiled_operators, transfers
from mcusim.plan.overlay.emitter import Emitter, controller, line_bytes
from mcusim.plan.overlay.pipeline import TaskPipeline
from mcusim.plan.placement import ALIGN, MemoryNeeds, Placement, memory_needs, place
from mcusim.plan.policies.external import sdram
from mcusim.plan.policies.untiled import make_header
from mcusim.plan.pools import Layout, Pool, region_pool, span_at, sram_pool
from mcusim.plan.registry import POLICY_OPTIONS, register
from mcusim.program.program import Buffer, Program, Span

__all__ = ["plan"]


@register("tinyops", "data in SDRAM, tiles of it copied into SRAM by DMA", options=POLICY_OPTIONS, order=3)
def plan(graph: Graph, machine: Machine, kernels: Costs, options: PlanOptions) -> Program:
    """Arena, interpreter's data and weights in SDRAM; overlay buffers and the kernels' scratch in the SRAM pool.

    ``options.overlay`` says what is copied: ``input`` (tiles of inputs; without it nothing is partitioned), ``filter``,
    ``bias``, ``quant`` (multipliers and shifts). The core reads the rest in place and writes outputs
    straight to SDRAM. ``options.sram_budget`` bounds the SRAM buffers, ``options.weights`` may name another region for
    the weights. ``options.buffering`` ``single`` leaves out the second buffer of each pair: DMA and core then wait for
    each other, but the same SRAM holds larger tiles. With a data cache, buffers are padded to whole lines and by one
    line.

    Rules: the public TinyOps firmware (see :mod:`mcusim.plan.overlay.tiling` and :mod:`mcusim.plan.overlay.buffers`).
    Raises DoesNotFit when no partition factor makes the buffers fit, UsageError when the machine has no SDRAM or no
    DMA, or the program would have too many tasks. Not modelled: that the firmware starts an operator's first tile
    before its producer has finished when enough rows are there, and that it copies a filter, always into the same
    buffer, only when the operator before has ended. Both together change the latencies of the paper's tables by -2 to
    +4 %.
    """
    need, layout = memory_needs(graph, kernels, options), Layout(machine)
    home = sdram(machine, "tinyops")
    weights = options.weights or home
    dma = controller(machine)
    pool = sram_pool(machine, options.sram_budget)
    _check_reach(machine, home, weights)
    found = [copies(graph, op, g, options.overlay) for op, g in zip(graph.operators, need.geometries, strict=True)]
    padded = _padding(machine)
    chosen = choose_sizes(need, found, pool, padded, BUFFERING[options.buffering])
    placed = place(graph, need, layout, region_pool(machine, home), region_pool(machine, weights), scratch=False)
    buffers = _allocate(chosen, layout, pool, padded)
    _place_scratch(need, buffers, placed)
    work = tiled_operators(graph, need, found, chosen)
    pipeline = TaskPipeline(graph, Emitter(machine, dma), placed, buffers, work, chosen.buffers_per_kind)
    pipeline.emitter.schedule.require_room(transfers(work, dma.max_units * dma.beat))  # before the work of emitting
    placed.buffers.extend(_described(buffers, len(graph.operators) - 1))
    overlay = sum(padded(size) for name, size in chosen.buffers().items() if name != "scratch")
    recorded = _chosen(options, weights, chosen)
    header = make_header(graph, "tinyops", kernels, need, layout, placed, recorded, overlay)
    return Program(header, tuple(pipeline.run().tasks))


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
    for name, size in chosen.buffers().items():
        address = layout.allocate(pool, padded(size), align, f"overlay buffer {name}")
        spans[name] = span_at(layout.machine, address, size)
    return spans


def _place_scratch(need: MemoryNeeds, buffers: dict[str, Span], placed: Placement) -> None:
    """All kernels share one scratch buffer."""
    for step, size in enumerate(need.scratch):
        if size:
            placed.scratch[step] = span_at(placed.machine, buffers["scratch"].address, size)


def _described(buffers: dict[str, Span], last: int) -> list[Buffer]:
    return [Buffer(n, "scratch" if n == "scratch" else "overlay", span, 0, last) for n, span in buffers.items()]


def _chosen(options: PlanOptions, weights: str, chosen: OverlaySizes) -> dict[str, object]:
    # a program that names no buffering has two buffers of each kind, as the firmware
    buffering = {} if options.buffering == "double" else {"buffering": options.buffering}
    return {
        **buffering,
        "weights": weights,
        "sram_budget": options.sram_budget,
        "overlay": [name for name in OVERLAYS if name in options.overlay],
        "factor": chosen.factor,
        "tile_buffer": chosen.tile,
        "second_buffer": chosen.second,
    }

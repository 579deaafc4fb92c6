"""Bytes in use in each region over time, and the map of their addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mcusim.machine.description import Machine
from mcusim.plan.pools import split_by_region
from mcusim.report.html.page import plain, shortened
from mcusim.report.html.style import KIND_COLOURS, MERGED, tooltip
from mcusim.report.memory.figures.hover import HATCHED, colour
from mcusim.report.memory.figures.working_set import MOST
from mcusim.results.over_time import lives, occupancy
from mcusim.text import size

if TYPE_CHECKING:
    from mcusim.engine.run import Run

_JOINED = 64  # bytes of padding between two blocks that are drawn as one


@dataclass(frozen=True, slots=True)
class OccupancyBlock:
    """``count`` buffers of a kind as one: ``bytes`` at ``address`` of a region, from cycle ``start`` to ``end``."""

    name: str
    kind: str
    region: str
    address: int
    bytes: int
    start: int
    end: int
    rank: int  # its number among the activations
    count: int = 1


def blocks(run: Run, machine: Machine) -> list[OccupancyBlock]:
    """The program's buffers as they lie in the regions; weights and the interpreter's data that are adjacent in
    other and live alike are one. A buffer lives while the core is at work on its operators
    (:func:`mcusim.results.over_time.occupancy`); those of which none ran are left out."""
    when, occupancy_blocks = lives(run), []
    for rank, buffer in enumerate(run.header.buffers):
        times = when.of(buffer.first, buffer.last)
        if times is None:
            continue
        name = plain(shortened(buffer.name, 48))
        for part in split_by_region(machine, buffer.span):
            occupancy_blocks.append(
                OccupancyBlock(name, buffer.kind, part.region, part.address, part.bytes, *times, rank)
            )
    joined: list[OccupancyBlock] = []
    for block in sorted(occupancy_blocks, key=lambda b: (b.region, b.start, b.end, b.address)):
        last = joined[-1] if joined else None
        if last is not None and _together(last, block):
            joined[-1] = replace(last, bytes=block.address + block.bytes - last.address, count=last.count + 1)
        else:
            joined.append(block)
    return joined


def mapped(occupancy_blocks: Sequence[OccupancyBlock]) -> list[str]:
    """Regions with more than weights in them, those with activations first, by falling bytes."""
    area: dict[str, tuple[bool, int]] = {}
    for block in occupancy_blocks:
        if block.kind != "weights":
            activations, total = area.get(block.region, (False, 0))
            area[block.region] = (activations or block.kind in ("activation", "overlay"), total + block.bytes)
    return sorted(area, key=lambda region: (not area[region][0], -area[region][1], region))


def curves(
    run: Run, machine: Machine, regions: Sequence[str], colours: Mapping[str, str], y: str
) -> list[dict[str, Any]]:
    """A line for each of ``regions``, KiB over ms."""
    traces, scale, known = [], 1e3 / run.clock, occupancy(run, machine)
    for region in regions:
        usage = [step for step in known[region] if step[0] < run.cycles] or [(0, 0)]  # at the end the run is over
        whole = machine.memory[region].size if region in machine.memory else 0
        share = [f", {n / whole:.0%} of {size(whole)}" if whole else "" for _, n in usage]
        texts = [
            tooltip(f"<b>{plain(region)}</b> {n:,} B in use{text}") for (_, n), text in zip(usage, share, strict=True)
        ]
        traces.append(
            {
                "type": "scatter",
                "mode": "lines",
                "yaxis": y,
                "x": [at * scale for at, _ in usage] + [run.cycles * scale],
                "y": [n / 1024 for _, n in usage] + [usage[-1][1] / 1024],
                "line": {"shape": "hv", "width": 2, "color": colours.get(region, MERGED)},
                "name": plain(region),
                "hovertemplate": [*texts, texts[-1]],
                "showlegend": False,
            }
        )
    return traces


def address_map(
    occupancy_blocks: Sequence[OccupancyBlock], region: str, base: int, scale: float, y: str
) -> tuple[list[dict[str, Any]], float, int]:
    """Rectangles of KiB from ``base`` over ms, of more than MOST those with the largest areas; the end of what is worth
    seeing, and the bytes of weights beyond it."""
    own = [block for block in occupancy_blocks if block.region == region and block.end > block.start]
    if len(own) > MOST:
        own = sorted(own, key=lambda b: b.bytes * (b.end - b.start), reverse=True)[:MOST]
    weights = [block for block in own if block.kind == "weights"]
    others = [block for block in own if block.kind != "weights"]
    end = max((b.address + b.bytes for b in others or own), default=base + 1024)
    above = sum(b.bytes for b in weights if b.address >= end)
    traces = [_rectangles(part, base, scale, y) for part in (others, weights) if part]
    if weights:
        traces[-1]["marker"] |= HATCHED
    return traces, (end - base) / 1024, above


def _rectangles(occupancy_blocks: Sequence[OccupancyBlock], base: int, scale: float, y: str) -> dict[str, Any]:
    return {
        "type": "bar",
        "yaxis": y,
        "x": [(b.start + b.end) / 2 * scale for b in occupancy_blocks],
        "width": [(b.end - b.start) * scale for b in occupancy_blocks],
        "base": [(b.address - base) / 1024 for b in occupancy_blocks],
        "y": [b.bytes / 1024 for b in occupancy_blocks],
        "marker": {
            "color": [colour(b.rank) if b.kind == "activation" else KIND_COLOURS[b.kind] for b in occupancy_blocks],
            "line": {"color": "#ffffff", "width": 0.5 if len(occupancy_blocks) <= 400 else 0},
        },
        "hovertemplate": [_told(b, base, scale) for b in occupancy_blocks],
        "showlegend": False,
    }


def _told(block: OccupancyBlock, base: int, scale: float) -> str:
    what = block.name if block.count == 1 else f"{block.count} buffers from {block.name}"
    offset = block.address - base
    return tooltip(
        f"<b>{what}</b> ({block.kind})",
        f"{block.bytes:,} B at {block.address:#010x}",
        f"offset {offset:,} to {offset + block.bytes:,}",
        f"{block.start * scale:,.4f} to {block.end * scale:,.4f} ms",
    )


def _together(low: OccupancyBlock, high: OccupancyBlock) -> bool:
    alike = (low.kind, low.region, low.start, low.end) == (high.kind, high.region, high.start, high.end)
    gap = high.address - low.address - low.bytes
    return alike and low.kind in ("weights", "runtime") and 0 <= gap <= _JOINED

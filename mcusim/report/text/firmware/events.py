"""Exceptions that a program took, its tasks' stacks and its DMA transfers, as text."""

from __future__ import annotations

from mcusim.results.emulation import EmulationResult, place
from mcusim.text import columns, size

__all__ = ["event_lines"]


MOST_RESETS = 10  # that are listed


def event_lines(result: EmulationResult) -> list[str]:
    """Tables of the exceptions, the stacks that PSP was in, the DMA streams and the resets; nothing without any."""
    return [*_exceptions(result), *_task_stacks(result), *_streams(result), *_resets(result)]


def _exceptions(result: EmulationResult) -> list[str]:
    rows = [["exception", "count", "cycles", "latency min", "median", "max", "jitter", "  handler"]]
    for one in result.profile.exceptions:
        latency = (f"{cycles:,.1f}".removesuffix(".0") for cycles in (*one.latency.values(), one.jitter))
        found = result.image.function_at(one.handler)
        name = f"  {found[0]}" if found else f"  {one.handler:#010x}"
        rows.append([one.name, f"{one.count:,}", f"{int(one.cycles):,}", *latency, name])
    if not rows[1:]:
        return []
    numbers = columns([row[:-1] for row in rows])
    shown = [f"{line}{row[-1]}" for line, row in zip(numbers, rows, strict=True)]
    depth = max(result.profile.depths, default=0)
    text = ["", "Exceptions; latency: cycles from pending to the handler", *shown]
    return [*text, f"  handlers active at once: {depth} at most"] if depth else text


def _task_stacks(result: EmulationResult) -> list[str]:
    rows = [["stack of a task", "from", "lowest", "used"]]
    for one in result.task_stacks:
        rows.append([one.name or "?", f"{one.top:#010x}", f"{one.low:#010x}", f"{one.used:,} B"])
    return ["", *columns(rows)] if rows[1:] else []


def _streams(result: EmulationResult) -> list[str]:
    rows = [["DMA stream", "transfers", "moved"]]
    rows += [[f"{use.controller}.s{use.stream}", f"{use.transfers:,}", size(use.bytes)] for use in result.dma]
    return ["", *columns(rows)] if rows[1:] else []


def _resets(result: EmulationResult) -> list[str]:
    rows = [["reset by", "at cycle", "  place"]]
    for one in result.resets[:MOST_RESETS]:
        rows.append([one.cause, f"{one.cycle:,}", f"  {place(result.image, one.pc)}"])
    if not rows[1:]:
        return []
    numbers = columns([row[:-1] for row in rows])
    shown = [f"{line}{row[-1]}" for line, row in zip(numbers, rows, strict=True)]
    more = len(result.resets) - MOST_RESETS
    return ["", *shown, *([f"  and {more:,} more"] if more > 0 else [])]

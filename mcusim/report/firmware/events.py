"""Exceptions that a program took, its tasks' stacks and its DMA transfers, as text."""

from __future__ import annotations

from mcusim.results.emulation import EmulationResult, place
from mcusim.text import columns, size

MOST_RESETS = 10  # that are listed


def event_lines(result: EmulationResult) -> list[str]:
    """Tables of the exceptions, the stacks that PSP was in, the DMA streams and the resets; nothing without any."""
    return [*_exceptions(result), *_task_stacks(result), *_streams(result), *_resets(result)]


def _exceptions(result: EmulationResult) -> list[str]:
    rows = [["exception", "count", "cycles", "latency min", "median", "max", "jitter", "  handler"]]
    for exception in result.profile.exceptions:
        latency = (f"{cycles:,.1f}".removesuffix(".0") for cycles in (*exception.latency.values(), exception.jitter))
        function = result.image.function_at(exception.handler)
        name = f"  {function[0]}" if function else f"  {exception.handler:#010x}"
        rows.append([exception.name, f"{exception.count:,}", f"{int(exception.cycles):,}", *latency, name])
    if not rows[1:]:
        return []
    numbers = columns([row[:-1] for row in rows])
    shown = [f"{line}{row[-1]}" for line, row in zip(numbers, rows, strict=True)]
    depth = max(result.profile.depths, default=0)
    text = ["", "Exceptions; latency: cycles from pending to the handler", *shown]
    return [*text, f"  handlers active at once: {depth} at most"] if depth else text


def _task_stacks(result: EmulationResult) -> list[str]:
    rows = [["stack of a task", "from", "lowest", "used"]]
    for task_stack in result.task_stacks:
        rows.append(
            [task_stack.name or "?", f"{task_stack.top:#010x}", f"{task_stack.low:#010x}", f"{task_stack.used:,} B"]
        )
    return ["", *columns(rows)] if rows[1:] else []


def _streams(result: EmulationResult) -> list[str]:
    rows = [["DMA stream", "transfers", "moved"]]
    rows += [[f"{use.controller}.s{use.stream}", f"{use.transfers:,}", size(use.bytes)] for use in result.dma]
    return ["", *columns(rows)] if rows[1:] else []


def _resets(result: EmulationResult) -> list[str]:
    rows = [["reset by", "at cycle", "  place"]]
    for reset in result.resets[:MOST_RESETS]:
        rows.append([reset.cause, f"{reset.cycle:,}", f"  {place(result.image, reset.pc)}"])
    if not rows[1:]:
        return []
    numbers = columns([row[:-1] for row in rows])
    shown = [f"{line}{row[-1]}" for line, row in zip(numbers, rows, strict=True)]
    more = len(result.resets) - MOST_RESETS
    return ["", *shown, *([f"  and {more:,} more"] if more > 0 else [])]

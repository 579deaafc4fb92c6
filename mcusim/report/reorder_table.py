"""What ``mcusim reorder`` says, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcusim.display import Displayed
from mcusim.files import write_whole
from mcusim.model.graph import Graph
from mcusim.plan.allocators.greedy import greedy_by_size
from mcusim.plan.liveness.timeline import timeline
from mcusim.plan.ordering import Ordering
from mcusim.text import columns


@dataclass(frozen=True)
class Reordered(Displayed):
    """``graph`` as stored, ``found`` its best order, ``data`` the bytes of the file in that order.

    ``before``, ``after``: bytes alive at each step of both orders.
    """

    graph: Graph
    found: Ordering
    data: bytes
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def peak_before(self) -> int:
        return max(self.before, default=0)

    def save(self, path: str | Path, force: bool = False) -> None:
        """Write the ``.tflite``; raises UsageError for a file that exists unless ``force``."""
        write_whole(Path(path), self.data, force)

    def _line(self) -> str:
        return f"{self.graph.name[:60]}: peak {self.peak_before:,} B as stored, {self.found.peak:,} B reordered"


def reorder_json(result: Reordered, file: str) -> dict[str, Any]:
    """``model file peak_before peak_after lower_bound optimal seconds order`` and the bytes alive at each step."""
    ordering = result.found
    return {
        "model": result.graph.name,
        "file": file,
        "file_bytes": len(result.data),
        "peak_before": result.peak_before,
        "peak_after": ordering.peak,
        "lower_bound": ordering.bound,
        "optimal": ordering.optimal,
        "seconds": round(ordering.seconds, 3),
        "order": list(ordering.order),
        "usage_before": list(result.before),
        "usage_after": list(result.after),
        "warnings": list(result.graph.warnings),
    }


def reorder_table(result: Reordered, file: str | None = None, operators: bool = False) -> str:
    """The text that ``mcusim reorder`` prints; ``operators``: with the bytes alive at every step of both orders."""
    ordering, graph = result.found, result.graph
    before, after = result.peak_before, ordering.peak
    less = f"{(after - before) / before:+.1%}" if before else "-"
    gap = f"no order needs less than {ordering.bound:,} B: a gap of {(after - ordering.bound) / max(after, 1):.1%}"
    proof = "no order needs less" if ordering.optimal else gap
    lines = [graph.name if file is None else f"{graph.name} -> {file}", ""]
    lines += columns(
        [
            ["peak as stored", _where(graph, range(len(result.before)), result.before), f"{before:,} B"],
            ["peak reordered", _where(graph, ordering.order, result.after), f"{after:,} B"],
        ],
        left=2,
    )
    lines += ["", f"  {less}; {proof} ({ordering.seconds:.2f} s)"]
    lines += _arena(result)
    if after == before:
        lines.append("  the order as stored is kept")
    if operators:
        rows = [["step", "as stored", "B", "reordered", "B"]]
        for step, (own, new) in enumerate(zip(result.before, result.after, strict=True)):
            old = ordering.order[step]
            mark = [" *" if own == before else "", " *" if new == after else ""]
            rows.append([f"{step}", _name(graph, step), f"{own:,}{mark[0]}", _name(graph, old), f"{new:,}{mark[1]}"])
        lines += ["", *columns(rows, left=2)]
    lines += [f"warning: {warning}" for warning in graph.warnings]
    return "\n".join(lines)


def _arena(result: Reordered) -> list[str]:
    """Whether TFLM's planner needs more for the new order, as it can for a smaller peak."""
    old, new = (greedy_by_size(timeline(result.graph, order).blocks).bytes for order in (None, result.found.order))
    if new <= old:
        return []
    text = f"warning: TFLM's planner needs {new:,} B for this order, {old:,} B for the one read;"
    return [f"  {text} mcusim memory --order optimal --allocator optimal -o writes offsets too"]


def _where(graph: Graph, order: Sequence[int], usage: Sequence[int]) -> str:
    step = max(range(len(usage)), key=lambda s: usage[s], default=None)
    return "" if step is None else f"at operator {_name(graph, order[step])}"


def _name(graph: Graph, index: int) -> str:
    return f"{index} {graph.operators[index].type}"

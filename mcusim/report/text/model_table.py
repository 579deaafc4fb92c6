"""A model as text and as JSON: operators, tensors, MACs, peak of live activations."""

from __future__ import annotations

from typing import Any

from mcusim.model.graph import Graph
from mcusim.model.inspection import inspect
from mcusim.plan.liveness.lifetimes import usage_bytes
from mcusim.text import columns, size

__all__ = ["model_json", "model_table"]


def model_json(graph: Graph) -> dict[str, Any]:
    """:func:`mcusim.model.inspection.inspect` with ``model``, ``peak_activation_bytes`` and, at each operator,
    ``live_bytes``: the activations alive while it runs, its inputs and outputs included.

    Leaves out fragmentation, kernel scratch and the interpreter's own data, which a plan adds.
    """
    live = usage_bytes(graph)
    data = {"model": graph.name, "peak_activation_bytes": max(live, default=0), **inspect(graph)}
    del data["name"]
    for operator, bytes in zip(data["operators"], live, strict=True):
        operator["live_bytes"] = bytes
    return data


def model_table(graph: Graph) -> str:
    """The text that ``mcusim inspect`` prints."""
    data = model_json(graph)
    counts: dict[str, int] = {}
    for operator in graph.operators:
        counts[operator.type] = counts.get(operator.type, 0) + 1
    lines = [graph.name, ""]
    lines += columns(
        [
            ["MACs", f"{data['macs']:,}"],
            ["peak of live activations", f"{data['peak_activation_bytes']:,} B"],
            ["weights", f"{data['weight_bytes']:,} B"],
            ["operators", str(len(graph.operators))],
        ]
    )
    lines += ["  " + ", ".join(f"{count} {name}" for name, count in sorted(counts.items(), key=lambda item: -item[1]))]
    rows = [["operator", "type", "input", "output", "MACs", "live"]]
    for operator, row in zip(graph.operators, data["operators"], strict=True):
        first = next((i for i in operator.inputs if i >= 0 and not graph.tensors[i].constant), None)
        source = _shape(graph, first)
        target = _shape(graph, operator.outputs[0] if operator.outputs else None)
        rows.append([str(row["index"]), row["type"], source, target, f"{row['macs']:,}", size(row["live_bytes"])])
    lines += ["", *columns(rows, left=2)]
    lines += [f"warning: {warning}" for warning in graph.warnings]
    if graph.random_weights:
        lines.append("random weights: the architecture is published, the weights are seeded random numbers")
    return "\n".join(lines)


def _shape(graph: Graph, index: int | None) -> str:
    return "-" if index is None else "x".join(map(str, graph.tensors[index].shape)) or "scalar"

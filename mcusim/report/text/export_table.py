"""What ``mcusim export`` says of the file it wrote, as text and as JSON."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

from mcusim.model import inspect
from mcusim.model.graph import Graph
from mcusim.text import columns

__all__ = ["export_json", "export_table"]


def export_json(graph: Graph, data: bytes, file: str) -> dict[str, Any]:
    """``model file file_bytes sha256`` (of the file), ``macs``, ``weight_bytes`` (constants), ``operators`` (how many
    of each type, the most frequent first), ``random_weights`` and ``warnings``.

    Leaves out what ``inspect`` shows of the file.
    """
    shown = inspect(graph)
    return {
        "model": graph.name,
        "file": file,
        "file_bytes": len(data),
        "sha256": hashlib.sha256(data).hexdigest(),
        "macs": shown["macs"],
        "weight_bytes": shown["weight_bytes"],
        "operators": dict(Counter(op.type for op in graph.operators).most_common()),
        "random_weights": graph.random_weights,
        "warnings": shown["warnings"],
    }


def export_table(graph: Graph, data: bytes, file: str) -> str:
    """The text that ``mcusim export`` prints."""
    row = export_json(graph, data, file)
    counts = row["operators"]
    lines = [f"{graph.name} -> {file}", ""]
    lines += columns(
        [
            ["file", f"{row['file_bytes']:,} B"],
            ["weights", f"{row['weight_bytes']:,} B"],
            ["MACs", f"{row['macs']:,}"],
            ["operators", str(sum(counts.values()))],
            *[[f"  {name}", str(count)] for name, count in counts.items()],
        ]
    )
    lines += [f"warning: {warning}" for warning in graph.warnings]
    if graph.random_weights:
        lines += ["", "random weights: a published architecture with seeded random numbers"]
    return "\n".join(lines)

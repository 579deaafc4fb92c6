"""The zoo as text and as JSON: what ``mcusim models`` prints."""

from __future__ import annotations

from typing import Any

from mcusim.text import columns

__all__ = ["zoo_json", "zoo_table"]


def zoo_json() -> dict[str, Any]:
    """``models``: for each name or pattern of names an example, with its operators, MACs and weights in bytes.

    A pattern's ``w*`` is the width multiplier, ``r*`` the input resolution. Leaves out what ``inspect`` shows.
    """
    from mcusim.model import inspect, load_model, zoo_names

    rows = []
    for pattern, example in zoo_names().items():
        data = inspect(load_model(example))
        counts = {"operators": len(data["operators"]), "macs": data["macs"], "weight_bytes": data["weight_bytes"]}
        rows.append({"name": pattern, "example": example, **counts})
    return {"models": rows}


def zoo_table() -> str:
    """The text that ``mcusim models`` prints."""
    rows = [["name", "example", "operators", "MACs", "weights"]]
    for row in zoo_json()["models"]:
        weights = f"{row['weight_bytes']:,} B"
        rows.append([row["name"], row["example"], str(row["operators"]), f"{row['macs']:,}", weights])
    notes = [
        "w* is the width multiplier, r* the input resolution, as in the example.",
        "NAME-pad is the same with an explicit PAD before each strided window that pads, as in a PyTorch export.",
        "Published architectures; the weights are seeded random numbers.",
    ]
    return "\n".join([*columns(rows, left=2), "", *notes])

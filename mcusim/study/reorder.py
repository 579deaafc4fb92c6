"""Find a model's order of least peak memory, and write it.

Left out: what :mod:`mcusim.plan.ordering` leaves out.
"""

from __future__ import annotations

from pathlib import Path

from mcusim.model import load_model
from mcusim.plan.lifetimes import usage_bytes
from mcusim.plan.ordering import optimal_order
from mcusim.report.reorder_table import Reordered

__all__ = ["reorder"]


def reorder(model: str, seconds: float = 60.0) -> Reordered:
    """The order of least peak of ``model`` (a path, or a name of `mcusim models`), searched for at most ``seconds``.

    A file keeps every byte but its operators' order; a zoo network is written as ``export`` does. An unchanged order
    gives the file's own bytes. Raises what :func:`mcusim.model.load_model` raises, and ModelError for a file whose
    metadata speaks of the old order.
    """
    from mcusim.model.reordered import reordered, with_order
    from mcusim.model.tflite_write import write_tflite

    graph = load_model(model, allow_unknown=True)
    found = optimal_order(graph, seconds)
    path = Path(model)
    data = with_order(path, found.order) if path.is_file() else write_tflite(reordered(graph, found.order))
    return Reordered(graph, found, data, usage_bytes(graph), usage_bytes(graph, found.order))

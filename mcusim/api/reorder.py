"""Find a model's order of least peak memory, and write it.

Left out: what :mod:`mcusim.plan.ordering` leaves out.
"""

from __future__ import annotations

from mcusim.api.planned_file import ordered_file
from mcusim.model import load_model
from mcusim.plan.liveness.accounting import Accounting
from mcusim.plan.liveness.timeline import timeline
from mcusim.plan.ordering import optimal_order
from mcusim.report.text.reorder import Reordered

__all__ = ["reorder"]


def reorder(model: str, seconds: float = 60.0, accounting: Accounting | None = None) -> Reordered:
    """The order of least peak of ``model`` (a path, or a name of `mcusim models`), searched for at most ``seconds``.

    ``accounting`` says what counts; the default is activations, each in bytes of its own.
    A file keeps every byte but its operators' order; a zoo network is written as ``export`` does. An unchanged order
    gives the file's own bytes. Raises what :func:`mcusim.model.load_model` raises, and ModelError for a file whose
    metadata speaks of the old order.
    """
    graph = load_model(model, allow_unknown=True)
    found = optimal_order(graph, seconds, accounting)
    data = ordered_file(model, graph, found.order)
    before, after = (timeline(graph, order, accounting).usage for order in (None, found.order))
    return Reordered(graph, found, data, before, after)

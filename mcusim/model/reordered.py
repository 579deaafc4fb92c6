"""The same network with its operators in another order: as a graph, and as the bytes of its file.

Not modelled: whatever a runtime knows of the old order by itself.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mcusim.errors import ModelError, UsageError
from mcusim.model.graph import Graph

if TYPE_CHECKING:
    from mcusim.model.tflite.flatbuffer import File

# metadata that speaks of the order of operators
_OF_THE_ORDER = {
    "OfflineMemoryAllocation": "an offline memory plan (its offsets hold for the old order)",
    "model_control_dependencies": "control dependencies (they name operators by number)",
}


def reordered(graph: Graph, order: Sequence[int]) -> Graph:
    """``graph`` with its operators in ``order``, renumbered; itself where that is its own order.

    An offline memory plan is left behind: its offsets hold for the other order. Raises UsageError unless ``order``
    names each operator once.
    """
    if sorted(order) != list(range(len(graph.operators))):
        raise UsageError(f"the order must name each of the {len(graph.operators)} operators once")
    if list(order) == list(range(len(order))):
        return graph
    operators = (replace(graph.operators[old], index=new) for new, old in enumerate(order))
    stored = tuple(order if graph.order is None else (graph.order[old] for old in order))
    refused = {new: graph.refused[old] for new, old in enumerate(order) if old in graph.refused}
    return replace(graph, operators=tuple(operators), order=stored, offline_plan=None, refused=refused)


def file_order(graph: Graph, order: Sequence[int]) -> tuple[int, ...]:
    """``order`` of the graph's operators as that of its file's: those that the reader evaluated come first."""
    count = len(graph.operators) + len(graph.evaluated)
    stored = [i for i in range(count) if i not in set(graph.evaluated)]
    return (*graph.evaluated, *(stored[i] for i in order))


def with_order(data: bytes, source: str | Path, order: Sequence[int]) -> bytes:
    """The ``.tflite`` file ``data`` with its operators in ``order``: the vector of their offsets is permuted, and every
    other byte stays as it is. ``source`` names the file in messages.

    Raises ModelError for a file that cannot be read, or whose metadata speaks of the old order; without its offline
    memory plan (:func:`mcusim.model.tflite.offline_plan.without_offline_plan`) a file can be reordered.
    """
    import tflite

    from mcusim.model.tflite.flatbuffer import File

    file = File(data, source)
    with file.reading("the operators' offsets"):
        model = file.table(tflite.Model.GetRootAs(data, 0))
        _refuse_metadata(file, model)
        graph = file.table(model.Subgraphs(0))
        field = graph._tab.Offset(10)  # subgraph.operators in the schema
        count = graph.OperatorsLength()
        if count != len(order):
            raise file.error(f"it has {count} operators, the order {len(order)}")
        first = graph._tab.Vector(field) if count else 0
        places = range(first, first + 4 * count, 4)
        targets = [position + struct.unpack_from("<I", data, position)[0] for position in places]
        patched = bytearray(data)
        for index, old in zip(places, order, strict=True):
            if targets[old] <= index:  # no writer does so: offsets count upwards
                raise file.error("an operator comes before the vector that points to it")
            struct.pack_into("<I", patched, index, targets[old] - index)
    return bytes(patched)


def _refuse_metadata(file: File, model: Any) -> None:
    from mcusim.model.tflite.offline_plan import metadata

    for name, _ in metadata(file, model):
        if name in _OF_THE_ORDER:
            raise ModelError(
                f"{file.source}: its metadata has {_OF_THE_ORDER[name]}; `mcusim export` writes it without, `mcusim"
                " memory --order optimal -o FILE` with a new plan"
            )

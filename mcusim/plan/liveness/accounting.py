"""What counts as memory while a network runs: which tensors share bytes, and whether weights need RAM.

The extensions that Liberis and Lane 2019 name in their conclusion. Not modelled: kernels' scratch buffers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from mcusim.errors import UsageError
from mcusim.model.graph import Graph, Operator

Weights = Literal["flash", "streamed", "resident"]
WEIGHTS: tuple[Weights, ...] = get_args(Weights)


@dataclass(frozen=True, slots=True)
class Accounting:
    """``in_place``: an element-wise operator writes over an input that dies at it, a RESHAPE is a view of its input.

    ``weights``: constants need no RAM (``flash``), are in RAM while an operator that reads them runs (``streamed``), or
    all the time (``resident``). Raises UsageError for another word.
    """

    in_place: bool = False
    weights: Weights | str = "flash"

    def __post_init__(self) -> None:
        if self.weights not in WEIGHTS:
            raise UsageError(f"weights {self.weights!r}: must be one of {', '.join(WEIGHTS)}")


@dataclass(frozen=True, slots=True)
class Sharing:
    """``storage_of[t]``: the tensor whose bytes tensor ``t`` is a view of, itself for most.

    ``in_place_candidates[i]``: the tensors whose bytes the output of operator ``i`` may take, each if it dies there.
    """

    storage_of: tuple[int, ...]
    in_place_candidates: tuple[tuple[int, ...], ...]


def sharing(graph: Graph, in_place: bool) -> Sharing:
    """Which tensors of ``graph`` can share bytes; none unless ``in_place``.

    A view has its input's type and bytes; neither is a constant. A candidate is an input of an element-wise operator
    with the output's shape and size of an element, no graph output (nor a view of one), and no other input reads its
    bytes in another shape. Not modelled: outputs that are smaller than the bytes they could take.
    """
    storage_of = list(range(len(graph.tensors)))
    none: tuple[int, ...] = ()
    if not in_place:
        return Sharing(tuple(storage_of), (none,) * len(graph.operators))
    for op in graph.operators:
        if op.traits.view and op.inputs and op.inputs[0] >= 0 and _is_view(graph, op):
            storage_of[op.outputs[0]] = storage_of[op.inputs[0]]
    kept = {storage_of[t] for t in graph.outputs}
    candidates = tuple(_in_place_candidates(graph, op, storage_of, kept) for op in graph.operators)
    return Sharing(tuple(storage_of), candidates)


def weights_bytes(graph: Graph, op: Operator | None = None) -> int:
    """Bytes of the constants that ``op`` reads, or any operator, each once."""
    operators = graph.operators if op is None else (op,)
    read = {t for operator in operators for t in operator.inputs if t >= 0 and graph.tensors[t].constant}
    return sum(graph.tensors[t].bytes for t in read)


def _is_view(graph: Graph, op: Operator) -> bool:
    source, target = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    same = source.dtype == target.dtype and source.bytes == target.bytes and not target.variable
    return len(op.outputs) == 1 and not source.constant and same


def _in_place_candidates(graph: Graph, op: Operator, storage_of: list[int], kept: set[int]) -> tuple[int, ...]:
    if not op.traits.elementwise or len(op.outputs) != 1:
        return ()
    target = graph.tensors[op.outputs[0]]
    read = [graph.tensors[t] for t in op.inputs if t >= 0]
    entries: dict[int, None] = {}
    for tensor in read:
        own = storage_of[tensor.index]
        fits = tensor.shape == target.shape and tensor.bytes == target.bytes and not tensor.constant
        if fits and own not in kept and all(t.shape == target.shape for t in read if storage_of[t.index] == own):
            entries[own] = None
    return tuple(entries)

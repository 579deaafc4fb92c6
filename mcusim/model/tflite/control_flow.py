"""WHILE and IF: the subgraphs that they run as operators behind them, so that a network is one list of operators.

The lives of tensors are then those of TensorFlow Lite Micro (micro_allocation_info.cc): what goes into such an operator
and comes out of it is there as long as its subgraphs run, and each of them has places of its own.

Not modelled: how often a subgraph runs, and a subgraph that several operators run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import tflite

from mcusim.errors import UnsupportedError
from mcusim.model.graph import Operator, Tensor
from mcusim.model.operators import CONTROL_FLOW, opaque, shown_type
from mcusim.model.tflite.flatbuffer import File

_SUBGRAPHS = {
    "WHILE": ("WhileOptions", "CondSubgraphIndex", "BodySubgraphIndex", "body"),
    "IF": ("IfOptions", "ThenSubgraphIndex", "ElseSubgraphIndex", "else"),
}
assert tuple(_SUBGRAPHS) == CONTROL_FLOW


@dataclass(frozen=True)
class Subgraph:
    """As it is stored: operators with their tables; all numbers are its own."""

    tensors: Sequence[Tensor]
    operators: Sequence[tuple[Operator, Any]]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Flat:
    """Tensors of all subgraphs, by subgraph, then those that only say what goes before what; the operators in the order
    in which they are planned. ``refused``: those of control flow, each with why nothing here runs it. ``left_out``:
    subgraphs that nothing runs."""

    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    refused: dict[int, str]
    left_out: tuple[int, ...]


def subgraphs_of(file: File, operator: Operator, table: Any, count: int) -> tuple[int, int] | None:
    """The two that an operator runs; None for one that runs none. Raises ModelError where they are not there."""
    kind = shown_type(operator.type)
    if kind not in _SUBGRAPHS:
        return None
    name, *fields = _SUBGRAPHS[kind][:3]
    with file.reading(f"operator {operator.index} {kind}"):
        union, options = table.BuiltinOptions(), getattr(tflite, name)()
        if union is None or table.BuiltinOptionsType() != getattr(tflite.BuiltinOptions, name):
            raise file.error(f"its options are not {name}")
        options.Init(union.Bytes, union.Pos)
        first, second = (int(getattr(file.table(options), field)()) for field in fields)
        for index in (first, second):
            if not 0 < index < count:
                raise file.error(f"it runs subgraph {index}; the file has 1 to {count - 1} besides its own")
    return first, second


def why_refused(runs: tuple[int, int]) -> str:
    """Why nothing here runs such an operator."""
    return f"runs subgraphs {runs[0]} and {runs[1]}; a network of one subgraph is run: unroll loops when converting"


def flattened(file: File, count: int, once: Sequence[int], read: Callable[[int], Subgraph]) -> Flat:
    """The network of a file of ``count`` subgraphs, as ``read`` gives them, of which ``once`` run before it.

    Raises UnsupportedError for one that several operators run.
    """
    return _Flattening(file, {i: read(i) for i in range(count) if i not in once}, count).flat()


class _Flattening:
    def __init__(self, file: File, subgraphs: dict[int, Subgraph], count: int) -> None:
        self.file, self.subgraphs, self.count = file, subgraphs, count
        self.tensors: list[Tensor] = []
        self.first: dict[int, int] = {}
        for index, subgraph in subgraphs.items():
            self.first[index] = len(self.tensors)
            self.tensors += [replace(t, index=len(self.tensors) + t.index) for t in subgraph.tensors]
        self.operators: list[Operator] = []
        self.refused: dict[int, str] = {}
        self.run = {0}

    def flat(self) -> Flat:
        self._emit(0)
        left_out = tuple(index for index in self.subgraphs if index not in self.run)
        return Flat(tuple(self.tensors), tuple(self.operators), self.refused, left_out)

    def _emit(self, index: int) -> None:
        first, last = self.first[index], self.first[index] + len(self.subgraphs[index].tensors)
        for op, table in self.subgraphs[index].operators:
            inputs, outputs = (self._shifted(numbers, first, last) for numbers in (op.inputs, op.outputs))
            runs = subgraphs_of(self.file, op, table, self.count)
            if runs is None:
                self._add(op.type, inputs, outputs, op.options)
            else:
                self._control(shown_type(op.type), inputs, outputs, runs)

    def _shifted(self, numbers: Sequence[int], first: int, last: int) -> tuple[int, ...]:
        """Numbers in all tensors; what is no tensor of its subgraph is none of all, for the check to name."""
        return tuple(i if i < 0 else first + i if first + i < last else len(self.tensors) + i for i in numbers)

    def _control(self, kind: str, inputs: tuple[int, ...], outputs: tuple[int, ...], runs: tuple[int, int]) -> None:
        again = next((index for index in runs if index in self.run or index not in self.subgraphs), None)
        if again is not None or runs[0] == runs[1]:
            raise UnsupportedError(
                f"{self.file.source}: subgraph {runs[0] if again is None else again} is run by several operators; each"
                " of one is planned"
            )
        self.run |= {*runs}
        (first_in, first_out), (second_in, second_out) = map(self._ends, runs)
        self.refused[len(self.operators)] = why_refused(runs)
        token = self._token()
        self._add(opaque(kind), inputs, (*dict.fromkeys((*outputs, *first_in)), token))
        self._emit(runs[0])
        after = self._token()
        self._add(opaque(f"{kind} (between)"), (*first_out, token), (after,))
        token = self._token()
        self._add(opaque(f"{kind} ({_SUBGRAPHS[kind][3]})"), (after,), (*dict.fromkeys(second_in), token))
        self._emit(runs[1])
        self._add(opaque(f"{kind} (end)"), (*inputs, *outputs, *second_out, token), (self._token(),))

    def _ends(self, index: int) -> Iterator[tuple[int, ...]]:
        subgraph, first = self.subgraphs[index], self.first[index]
        last = first + len(subgraph.tensors)
        for numbers in (subgraph.inputs, subgraph.outputs):
            yield tuple(i for i in self._shifted(numbers, first, last) if i >= len(self.tensors) or self._is_data(i))

    def _is_data(self, index: int) -> bool:
        return index >= 0 and not self.tensors[index].constant

    def _token(self) -> int:
        """A tensor without bytes, which says what goes before what."""
        self.tensors.append(Tensor(len(self.tensors), "order of subgraphs", (1,), "string"))
        return len(self.tensors) - 1

    def _add(self, kind: str, inputs: tuple[int, ...], outputs: tuple[int, ...], options: Any = None) -> None:
        self.operators.append(Operator(len(self.operators), kind, inputs, outputs, options or {}))

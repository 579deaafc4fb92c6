"""Writes resource variables: handles, and the subgraph that fills them once, as :mod:`mcusim.model.tflite.variables`
reads them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tflite

from mcusim.model.graph import Graph, Operator, Tensor, initial_values

if TYPE_CHECKING:
    from mcusim.model.tflite.writer import Writer

__all__ = ["VariablesWriter"]


def _resources(graph: Graph) -> tuple[Tensor, ...]:
    """The variables that operators copy from and to; state that a kernel updates itself is not among them."""
    used = {t for op in graph.operators if op.traits.copies_state for t in (*op.inputs, *op.outputs)}
    return tuple(t for t in graph.tensors if t.variable and t.index in used)


class VariablesWriter:
    """The tables of the resource variables of ``writer``'s graph; nothing where it has none."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.tensors = writer, _resources(writer.graph)
        self.indices = {t.index for t in self.tensors}

    def values(self) -> list[Tensor]:
        """The constants of the second subgraph."""
        return [Tensor(t.index, t.name, t.shape, t.dtype, t.quantization, initial_values(t)) for t in self.tensors]

    def first_operators(self) -> list[int]:
        """CALL_ONCE and the handles, which come before everything else."""
        if not self.tensors:
            return []
        return [self.call(1), *(self._handle(t, t.index) for t in self.tensors)]

    def call(self, target: int) -> int:
        """CALL_ONCE of subgraph ``target``."""
        b = self.writer.builder
        tflite.CallOnceOptionsStart(b)
        tflite.CallOnceOptionsAddInitSubgraphIndex(b, target)
        return self.writer.operator(("CALL_ONCE", 1), (), (), "CallOnceOptions", int(tflite.CallOnceOptionsEnd(b)))

    def ends(self, op: Operator) -> tuple[Sequence[int], Sequence[int]]:
        """Inputs and outputs as the file has them."""
        if op.traits.copies_state and op.outputs[0] in self.indices:
            return (op.outputs[0], *op.inputs), ()
        return op.inputs, op.outputs

    def second_subgraph(self, first_buffer: int) -> list[int]:
        """The subgraph that assigns the initial values, its constants in buffers from ``first_buffer`` on."""
        if not self.tensors:
            return []
        writer, operators, tensors = self.writer, [], []
        for place, value in enumerate(self.values()):
            tensors += [self.handle(value), writer.table(value, first_buffer + place)]
            operators += self.second_operators(value, place)
        return [writer.subgraph_table("initial values", tensors, operators, (), ())]

    def second_operators(self, value: Tensor, place: int) -> list[int]:
        """What assigns one initial value; handle and constant are tensors ``2 * place`` and the next."""
        handle = self._handle(value, 2 * place)
        return [handle, self.writer.operator(("ASSIGN_VARIABLE", 1), (2 * place, 2 * place + 1), ())]

    def handle(self, tensor: Tensor) -> int:
        """A tensor that stands for a variable."""
        b = self.writer.builder
        shape, name = self.writer.numbers(()), b.CreateString(tensor.name)
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, tflite.TensorType.RESOURCE)
        tflite.TensorAddName(b, name)
        return int(tflite.TensorEnd(b))

    def _name(self, tensor: Tensor) -> str:
        alone = [t.name for t in self.tensors].count(tensor.name) == 1 and tensor.name
        return tensor.name if alone else f"{tensor.name or 'variable'}_{tensor.index}"

    def _handle(self, tensor: Tensor, place: int) -> int:
        b = self.writer.builder
        container, name = b.CreateString(""), b.CreateString(self._name(tensor))
        tflite.VarHandleOptionsStart(b)
        tflite.VarHandleOptionsAddContainer(b, container)
        tflite.VarHandleOptionsAddSharedName(b, name)
        options = int(tflite.VarHandleOptionsEnd(b))
        return self.writer.operator(("VAR_HANDLE", 1), (), (place,), "VarHandleOptions", options)

"""Writes a graph as a ``.tflite`` without the checks of the package, to have files that break the reader's rules."""

from __future__ import annotations

import numpy as np
import tflite

from mcusim.model import Graph, Operator, Tensor
from mcusim.model.tflite.tflite_writer import Writer


class Unchecked(Writer):
    """An operator type that TFLite does not know becomes a custom operator of that name."""

    def __init__(self, graph: Graph, subgraphs: int, version: int, aliases: int) -> None:
        super().__init__(graph)
        self.schema, self.count, self.aliases = version, subgraphs, aliases

    def subgraphs(self) -> list[int]:
        return super().subgraphs() * self.count

    def tensors(self) -> list[int]:
        found = super().tensors()
        return found + found[-1:] * self.aliases

    def version(self, op: Operator) -> int:
        return 2 if op.type == "BROADCAST_TO" else 1  # the rules look at operands, which need not exist here

    def _filled(self, tensor: Tensor) -> int:
        if tensor.stored_bytes is None:
            return super()._filled(tensor)
        data = self.builder.CreateByteVector(np.asarray(tensor.data).tobytes())
        tflite.BufferStart(self.builder)
        tflite.BufferAddData(self.builder, data)
        return int(tflite.BufferEnd(self.builder))

    def code(self, kind: str, version: int) -> int:
        if hasattr(tflite.BuiltinOperator, kind):
            return super().code(kind, version)
        b, custom = self.builder, tflite.BuiltinOperator.CUSTOM
        name = b.CreateString(kind)
        tflite.OperatorCodeStart(b)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(b, custom)
        tflite.OperatorCodeAddCustomCode(b, name)
        tflite.OperatorCodeAddBuiltinCode(b, custom)
        return int(tflite.OperatorCodeEnd(b))


def write_tflite(graph: Graph, *, subgraphs: int = 1, version: int = 3, aliases: int = 0) -> bytes:
    """The bytes of ``graph``; ``aliases`` appends that many tensors, all at the bytes of the last one."""
    return Unchecked(graph, subgraphs, version, aliases).write()

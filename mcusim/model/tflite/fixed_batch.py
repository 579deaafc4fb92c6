"""A ``.tflite`` whose batch is left open, with one: the shapes in the file's bytes are replaced, all else stays.

What a file leaves open its tensors say in their signatures, ``[-1, 64, 64, 1]``. The shapes of what operators compute
follow from the inputs' by the rules that the reader checks them with; a RESHAPE's by its signature, or its target.

Not modelled: sizes but the first that are left open, subgraphs besides the first, operators that the reader does not
know but those whose outputs have the shape of their input.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from math import prod
from pathlib import Path
from typing import Any

from mcusim.errors import ModelError, UnsupportedError, UsageError
from mcusim.model.graph import Operator, Tensor
from mcusim.model.operators import OPERATORS, shown_type, traits_of
from mcusim.model.shape_checks import Shape
from mcusim.model.shapes import RULES
from mcusim.model.tflite.flatbuffer import File, shown
from mcusim.model.tflite.tflite_reader import Stored, graph_of, read_stored

MOST = 4096  # images
SHAPE_SLOT, SIGNATURE_SLOT = 4, 18
_OF_SHAPES = ("SHAPE",)  # of the sizes themselves, whose number does not change


def with_batch(data: bytes, source: str | Path, batch: int) -> bytes:
    """The ``.tflite`` file ``data`` with the first size of its inputs ``batch`` where it is left open.

    Raises UsageError for a batch that is none, or a file that leaves none open; ModelError for a file that cannot be
    read, or whose operators do not take that batch; UnsupportedError for what is not modelled.
    """
    if not 1 <= batch <= MOST:
        raise UsageError(f"--batch {batch}: must be 1 to {MOST:,}")
    graph_of(data, Path(source), strict=False)  # raises for what is damaged
    stored = read_stored(File(data, source))
    if stored.model.SubgraphsLength() > 1 + len(stored.variables.once):
        raise UnsupportedError(f"{source}: has several subgraphs; --batch fixes the sizes of one")
    signatures = _signatures(stored)
    shapes = {t: _fixed(stored, signatures[t], t, batch) for t in stored.main.inputs if -1 in signatures[t]}
    if not shapes:
        raise UsageError(f"--batch {batch}: {source} leaves the batch of no input open")
    for op, _ in stored.main.operators:
        try:
            _follow(stored.main.tensors, op, shapes, signatures)
        except ModelError as error:
            raise type(error)(f"{source}: operator {op.index} {shown_type(op.type)}: {error}") from None
    return _patched(stored, shapes)


def _signatures(stored: Stored) -> list[Shape]:
    """By tensor; its shape where it has none."""
    signatures = []
    for index, tensor in enumerate(stored.main.tensors):
        table = _table(stored, index)
        with stored.file.reading(f"the signature of tensor {index}"):
            signature = tuple(stored.file.numbers(table, "ShapeSignature", 4, 64))
        signatures.append(signature if len(signature) == len(tensor.shape) else tensor.shape)
    return signatures


def _fixed(stored: Stored, signature: Shape, index: int, batch: int) -> Shape:
    if -1 in signature[1:]:
        name = shown(stored.main.tensors[index].name)
        raise UnsupportedError(
            f"{stored.file.source}: input '{name}' leaves more than the batch open, {list(signature)}: convert it with"
            " fixed sizes"
        )
    return (batch, *signature[1:])


def _follow(tensors: Sequence[Tensor], op: Operator, shapes: dict[int, Shape], signatures: list[Shape]) -> None:
    """Add the shapes of what ``op`` computes to ``shapes``."""
    changed = [t for t in op.inputs if t in shapes and shapes[t] != tensors[t].shape]
    if not changed and not any(-1 in signatures[t] for t in op.outputs):
        return
    inputs = [_shaped(tensors[t], shapes) for t in op.inputs if t >= 0]
    for t, shape in zip(op.outputs, _outputs(op, inputs, [signatures[t] for t in op.outputs]), strict=True):
        shapes[t] = shape


def _shaped(tensor: Tensor, shapes: dict[int, Shape]) -> Tensor:
    shape = shapes.get(tensor.index, tensor.shape)
    return Tensor(tensor.index, tensor.name, shape, tensor.dtype, tensor.quantization, tensor.data)


def _outputs(op: Operator, inputs: list[Tensor], signatures: list[Shape]) -> list[Shape]:
    spec, kind = OPERATORS.get(op.type), shown_type(op.type)
    if kind in _OF_SHAPES or (spec is None and traits_of(kind).elementwise and len(inputs) == 1):
        return signatures if kind in _OF_SHAPES else [inputs[0].shape]
    if spec is None:
        raise UnsupportedError("mcusim does not know how the size of its output follows; convert with fixed sizes")
    if spec.rule == "elements":
        return [_reshaped(inputs, signatures[0])]
    return RULES[spec.rule](inputs, op.options)


def _reshaped(inputs: list[Tensor], signature: Shape) -> Shape:
    """A size of -1, of the signature or else of the target, is what is left of the elements."""
    target = inputs[1].data if len(inputs) > 1 and inputs[1].dtype == "int32" else None
    wanted = signature if -1 in signature or target is None else tuple(int(n) for n in target.reshape(-1))
    known = prod(n for n in wanted if n != -1)
    if wanted.count(-1) > 1 or known < 1 or inputs[0].elements % known:
        raise ModelError(f"cannot give {list(wanted)} from the shape {list(inputs[0].shape)}")
    shape = tuple(inputs[0].elements // known if n == -1 else n for n in wanted)
    if prod(shape) != inputs[0].elements:
        raise ModelError(f"cannot give {list(wanted)} from the shape {list(inputs[0].shape)}")
    return shape


def _table(stored: Stored, index: int) -> Any:
    with stored.file.reading(f"tensor {index}"):
        return stored.file.table(stored.reader.subgraph.Tensors(index))


def _patched(stored: Stored, shapes: dict[int, Shape]) -> bytes:
    """The file with other numbers in its vectors of shapes, and in those of signatures."""
    data, written = bytearray(stored.file.data), dict[int, Shape]()
    for index, tensor in enumerate(stored.main.tensors):
        shape = shapes.get(index, tensor.shape)
        fields = _table(stored, index)._tab
        for slot in (SHAPE_SLOT, SIGNATURE_SLOT):
            offset = fields.Offset(slot)
            if not offset or fields.VectorLen(offset) != len(shape):
                continue
            start = fields.Vector(offset)
            if written.setdefault(start, shape) != shape:
                raise UnsupportedError(
                    f"{stored.file.source}: tensor {index} '{shown(tensor.name)}' shares its shape with another one"
                    f" that is not {list(shape)}; convert it with fixed sizes"
                )
            struct.pack_into(f"<{len(shape)}i", data, start, *shape)
    return bytes(data)

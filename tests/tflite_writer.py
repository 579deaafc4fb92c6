"""Writes a graph as a ``.tflite``, so that the reader's tests need no file from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import flatbuffers
import tflite

from mcusim.model import Graph, Operator, Tensor
from mcusim.model.operators import ACTIVATIONS, OPERATORS, PADDINGS


def write_tflite(graph: Graph, *, subgraphs: int = 1, version: int = 3, aliases: int = 0) -> bytes:
    """The bytes of ``graph``; an operator type that TFLite does not know becomes a custom operator of that name.

    ``aliases`` appends that many tensors, all at the bytes of the last one.
    """
    b = flatbuffers.Builder(1 << 16)
    types = sorted({op.type for op in graph.operators})
    codes = _tables(b, [_operator_code(b, kind) for kind in types])
    buffers = _tables(b, [_buffer(b, None), *[_buffer(b, t) for t in graph.tensors]])
    subgraph = _subgraph(b, graph, types, aliases)
    graphs = _tables(b, [subgraph] * subgraphs)
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, version)
    tflite.ModelAddOperatorCodes(b, codes)
    tflite.ModelAddSubgraphs(b, graphs)
    tflite.ModelAddBuffers(b, buffers)
    b.Finish(tflite.ModelEnd(b), file_identifier=b"TFL3")
    return bytes(b.Output())


def _tables(b: flatbuffers.Builder, offsets: Sequence[int]) -> int:
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()


def _numbers(b: flatbuffers.Builder, values: Sequence[float], item: str = "Int32", size: int = 4) -> int:
    b.StartVector(size, len(values), size)
    for value in reversed(values):
        getattr(b, f"Prepend{item}")(value)
    return b.EndVector()


def _operator_code(b: flatbuffers.Builder, kind: str) -> int:
    builtin = getattr(tflite.BuiltinOperator, kind, tflite.BuiltinOperator.CUSTOM)
    name = b.CreateString(kind)
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(builtin, 127))
    tflite.OperatorCodeAddBuiltinCode(b, builtin)
    if builtin == tflite.BuiltinOperator.CUSTOM:
        tflite.OperatorCodeAddCustomCode(b, name)
    return tflite.OperatorCodeEnd(b)


def _buffer(b: flatbuffers.Builder, tensor: Tensor | None) -> int:
    data = b.CreateByteVector(tensor.data.tobytes()) if tensor is not None and tensor.data is not None else None
    tflite.BufferStart(b)
    if data is not None:
        tflite.BufferAddData(b, data)
    return tflite.BufferEnd(b)


def _tensor(b: flatbuffers.Builder, tensor: Tensor) -> int:
    shape, name, found = _numbers(b, tensor.shape), b.CreateString(tensor.name), tensor.quantization
    quantization = None
    if found is not None:
        scales, zeros = _numbers(b, found.scales, "Float32"), _numbers(b, found.zero_points, "Int64", 8)
        tflite.QuantizationParametersStart(b)
        tflite.QuantizationParametersAddScale(b, scales)
        tflite.QuantizationParametersAddZeroPoint(b, zeros)
        tflite.QuantizationParametersAddQuantizedDimension(b, found.axis)
        quantization = tflite.QuantizationParametersEnd(b)
    tflite.TensorStart(b)
    tflite.TensorAddShape(b, shape)
    tflite.TensorAddType(b, getattr(tflite.TensorType, tensor.dtype.upper()))
    tflite.TensorAddBuffer(b, tensor.index + 1)
    tflite.TensorAddName(b, name)
    if quantization is not None:
        tflite.TensorAddQuantization(b, quantization)
    return tflite.TensorEnd(b)


def _options(b: flatbuffers.Builder, op: Operator, table: str) -> int:
    getattr(tflite, f"{table}Start")(b)
    for ours, method in OPERATORS[op.type].fields:
        value = op.options.get(ours, 0)
        if isinstance(value, str):
            value = (PADDINGS if ours == "padding" else ACTIVATIONS).index(value)
        getattr(tflite, f"{table}Add{method}")(b, value)
    return getattr(tflite, f"{table}End")(b)


def _operator(b: flatbuffers.Builder, op: Operator, types: list[str]) -> int:
    table = OPERATORS[op.type].table if op.type in OPERATORS else ""
    options = _options(b, op, table) if table else None
    inputs, outputs = _numbers(b, op.inputs), _numbers(b, op.outputs)
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, types.index(op.type))
    tflite.OperatorAddInputs(b, inputs)
    tflite.OperatorAddOutputs(b, outputs)
    if options is not None:
        tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, table))
        tflite.OperatorAddBuiltinOptions(b, options)
    return tflite.OperatorEnd(b)


def _subgraph(b: flatbuffers.Builder, graph: Graph, types: list[str], aliases: int) -> int:
    offsets = [_tensor(b, t) for t in graph.tensors]
    tensors = _tables(b, offsets + offsets[-1:] * aliases)
    operators = _tables(b, [_operator(b, op, types) for op in graph.operators])
    inputs, outputs = _numbers(b, graph.inputs), _numbers(b, graph.outputs)
    tflite.SubGraphStart(b)
    tflite.SubGraphAddTensors(b, tensors)
    tflite.SubGraphAddInputs(b, inputs)
    tflite.SubGraphAddOutputs(b, outputs)
    tflite.SubGraphAddOperators(b, operators)
    return tflite.SubGraphEnd(b)

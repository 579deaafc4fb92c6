"""Writes a :class:`Graph` as a ``.tflite`` file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from typing import Any

import flatbuffers
import numpy as np
import tflite

from mcusim.errors import ModelError
from mcusim.model.graph import Graph, Operator, Quantization, Tensor, initial_values
from mcusim.model.operators import ACTIVATIONS, DEFAULTS, OPERATORS, PADDINGS
from mcusim.model.tflite.flatbuffer import RANDOM_WEIGHTS
from mcusim.model.tflite.writable import constant_bytes, memory_of, operator_version, squeezed_axes, writable

ALIGNMENT = 16
SCHEMA = 3
SIGNATURE = "serving_default"

Code = tuple[str, int]


def write_tflite(graph: Graph) -> bytes:
    """The bytes of a ``.tflite`` file (schema version 3) that contains ``graph``; the same graph gives the same bytes.

    ``load_model`` reads from them a graph with equal tensors, constants, operators, options and ends; its name,
    ``sha256`` and ``file_bytes`` are those of the new file. Options that the graph leaves out get TFLite's default.
    Constants begin at multiples of 16 B and are stored once when tensors share their memory. Each operator gets the
    version its types need (:mod:`mcusim.model.tflite.writable`). One signature, ``serving_default``, calls inputs and
    outputs by their tensors' names; the description names mcusim and says when weights are random.

    Raises UnsupportedError for operators or types that cannot be written, all unknown operators at once, and
    ModelError for a graph that breaks a rule of the reader.

    Not modelled: metadata, min/max of the quantisation, and whatever a file that the graph was read from contained
    besides it.
    """
    return Writer(writable(graph)).write()


class Writer:
    """Builds the flatbuffer of one graph, whose contents it trusts; tables go in before what refers to them."""

    schema = SCHEMA

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        # large enough from the start: a builder that grows holds its bytes twice
        self.builder: Any = flatbuffers.Builder(constant_bytes(graph) + 512 * len(graph.tensors) + (1 << 16))
        self.codes: list[Code] = []
        self.variables = VariablesWriter(self)
        self._names = Counter(t.name for t in graph.tensors)
        self._stored: dict[Hashable, int] = {}

    def write(self) -> bytes:
        b = self.builder
        subgraphs = self.offsets(self.subgraphs())
        stored = [None, *self.graph.tensors, *self.variables.values()]
        buffers = self.offsets([self._buffer(t) for t in stored])
        codes = self.offsets([self.code(*code) for code in self.codes])
        signatures = self.offsets([self._signature()])
        description = b.CreateString(self._description())
        tflite.ModelStart(b)
        tflite.ModelAddVersion(b, self.schema)
        tflite.ModelAddOperatorCodes(b, codes)
        tflite.ModelAddSubgraphs(b, subgraphs)
        tflite.ModelAddDescription(b, description)
        tflite.ModelAddBuffers(b, buffers)
        tflite.ModelAddSignatureDefs(b, signatures)
        b.Finish(tflite.ModelEnd(b), file_identifier=b"TFL3")
        return bytes(memoryview(b.Bytes)[b.Head() :])

    def offsets(self, offsets: Sequence[int]) -> int:
        """A vector of tables."""
        self.builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            self.builder.PrependUOffsetTRelative(offset)
        return int(self.builder.EndVector())

    def numbers(self, values: Sequence[float], item: str = "<i4") -> int:
        return int(self.builder.CreateNumpyVector(np.array(values, item)))

    def _description(self) -> str:
        name = self.graph.name.encode("utf-8", "replace").decode("utf-8")
        return f"{name}, written by mcusim" + f"; {RANDOM_WEIGHTS}" * self.graph.random_weights

    def code(self, kind: str, version: int) -> int:
        """The table that an operator's ``opcode_index`` points at; codes above 126 have no old, one-byte form."""
        b, builtin = self.builder, getattr(tflite.BuiltinOperator, kind)
        tflite.OperatorCodeStart(b)
        tflite.OperatorCodeAddDeprecatedBuiltinCode(b, min(builtin, 127))
        tflite.OperatorCodeAddVersion(b, version)
        tflite.OperatorCodeAddBuiltinCode(b, builtin)
        return int(tflite.OperatorCodeEnd(b))

    def version(self, op: Operator) -> int:
        return operator_version(self.graph, op)

    def _buffer(self, tensor: Tensor | None) -> int:
        """The bytes of a constant, once for all tensors that share them; an activation, and by convention the first
        buffer, has none."""
        if tensor is None or tensor.data is None:
            tflite.BufferStart(self.builder)
            return int(tflite.BufferEnd(self.builder))
        key = memory_of(tensor.data)
        if key not in self._stored:
            self._stored[key] = self._filled(tensor)
        return self._stored[key]

    def _filled(self, tensor: Tensor) -> int:
        b = self.builder
        raw = np.asarray(tensor.data, np.dtype(tensor.dtype).newbyteorder("<")).tobytes()
        b.Prep(ALIGNMENT, len(raw))
        data = b.CreateByteVector(raw)
        tflite.BufferStart(b)
        tflite.BufferAddData(b, data)
        return int(tflite.BufferEnd(b))

    def subgraphs(self) -> list[int]:
        return [self.subgraph(self.tensors()), *self.variables.second_subgraph(len(self.graph.tensors) + 1)]

    def subgraph(self, tensors: list[int]) -> int:
        graph = self.graph
        operators = [*self.variables.first_operators(), *map(self._operator, graph.operators)]
        return self.subgraph_table("main", tensors, operators, graph.inputs, graph.outputs)

    def subgraph_table(
        self, name: str, tensors: list[int], operators: list[int], inputs: Sequence[int], outputs: Sequence[int]
    ) -> int:
        b = self.builder
        parts = self.offsets(operators), self.offsets(tensors), b.CreateString(name)
        ends = self.numbers(inputs), self.numbers(outputs)
        tflite.SubGraphStart(b)
        tflite.SubGraphAddTensors(b, parts[1])
        tflite.SubGraphAddInputs(b, ends[0])
        tflite.SubGraphAddOutputs(b, ends[1])
        tflite.SubGraphAddOperators(b, parts[0])
        tflite.SubGraphAddName(b, parts[2])
        return int(tflite.SubGraphEnd(b))

    def tensors(self) -> list[int]:
        handles = self.variables.indices
        return [
            self.variables.handle(t) if i in handles else self.table(t, i + 1) for i, t in enumerate(self.graph.tensors)
        ]

    def table(self, tensor: Tensor, buffer: int) -> int:
        b = self.builder
        shape, name = self.numbers(tensor.shape), b.CreateString(tensor.name)
        quantization = None if tensor.quantization is None else self._quantization(tensor.quantization)
        tflite.TensorStart(b)
        tflite.TensorAddShape(b, shape)
        tflite.TensorAddType(b, getattr(tflite.TensorType, tensor.dtype.upper()))
        tflite.TensorAddBuffer(b, buffer)
        tflite.TensorAddIsVariable(b, tensor.variable)
        tflite.TensorAddName(b, name)
        if quantization is not None:
            tflite.TensorAddQuantization(b, quantization)
        return int(tflite.TensorEnd(b))

    def _quantization(self, quantization: Quantization) -> int:
        b = self.builder
        scales, zeros = self.numbers(quantization.scales, "<f4"), self.numbers(quantization.zero_points, "<i8")
        tflite.QuantizationParametersStart(b)
        tflite.QuantizationParametersAddScale(b, scales)
        tflite.QuantizationParametersAddZeroPoint(b, zeros)
        tflite.QuantizationParametersAddQuantizedDimension(b, quantization.axis)
        return int(tflite.QuantizationParametersEnd(b))

    def _operator(self, op: Operator) -> int:
        return self.operator((op.type, self.version(op)), *self.variables.ends(op), *self._options(op))

    def operator(
        self, code: Code, inputs: Sequence[int], outputs: Sequence[int], table: str = "", options: int = 0
    ) -> int:
        b = self.builder
        if code not in self.codes:
            self.codes.append(code)
        ends = self.numbers(inputs), self.numbers(outputs)
        tflite.OperatorStart(b)
        tflite.OperatorAddOpcodeIndex(b, self.codes.index(code))
        tflite.OperatorAddInputs(b, ends[0])
        tflite.OperatorAddOutputs(b, ends[1])
        if table:
            tflite.OperatorAddBuiltinOptionsType(b, getattr(tflite.BuiltinOptions, table))
            tflite.OperatorAddBuiltinOptions(b, options)
        return int(tflite.OperatorEnd(b))

    def _options(self, op: Operator) -> tuple[str, int]:
        """The option table's name and place. The two that follow from the shapes are no options of a graph."""
        spec = OPERATORS.get(op.type)
        if op.type in _SHAPE_OPTIONS:
            table, field = _SHAPE_OPTIONS[op.type]
            values = [(field, self.numbers(self._shape_option(op)))]
        else:
            table = spec.table if spec else ""
            fields = spec.fields if spec else {}
            values = [(field, _number(op.options.get(ours, DEFAULTS.get(ours, 0)))) for ours, field in fields.items()]
        if not table:
            return "", 0
        getattr(tflite, f"{table}Start")(self.builder)
        for field, value in values:
            getattr(tflite, f"{table}Add{field}")(self.builder, value)
        return table, int(getattr(tflite, f"{table}End")(self.builder))

    def _shape_option(self, op: Operator) -> tuple[int, ...]:
        source, target = (self.graph.tensors[i].shape for i in (op.inputs[0], op.outputs[0]))
        if op.type == "RESHAPE":
            return target
        axes = squeezed_axes(source, target)
        if axes is None:
            raise ModelError(f"operator {op.index} SQUEEZE: {list(source)} does not become {list(target)}")
        return axes

    def _signature(self) -> int:
        b = self.builder
        ends = [self.offsets([self._named(i) for i in end]) for end in (self.graph.inputs, self.graph.outputs)]
        key = b.CreateString(SIGNATURE)
        tflite.SignatureDefStart(b)
        tflite.SignatureDefAddInputs(b, ends[0])
        tflite.SignatureDefAddOutputs(b, ends[1])
        tflite.SignatureDefAddSignatureKey(b, key)
        tflite.SignatureDefAddSubgraphIndex(b, 0)
        return int(tflite.SignatureDefEnd(b))

    def _named(self, index: int) -> int:
        """One end of the signature under its tensor's name; a name that is not its alone gets the tensor's index."""
        b, tensors = self.builder, self.graph.tensors
        text = tensors[index].name if 0 <= index < len(tensors) else ""
        alone = self._names[text] == 1 and text
        name = b.CreateString(text if alone else f"{text or 'tensor'}_{index}")
        tflite.TensorMapStart(b)
        tflite.TensorMapAddName(b, name)
        tflite.TensorMapAddTensorIndex(b, max(index, 0))
        return int(tflite.TensorMapEnd(b))


_SHAPE_OPTIONS = {"RESHAPE": ("ReshapeOptions", "NewShape"), "SQUEEZE": ("SqueezeOptions", "SqueezeDims")}
_WORDS = {name: number for names in (PADDINGS, ACTIVATIONS) for number, name in enumerate(names)}


def _number(value: Any) -> Any:
    return _WORDS[value] if isinstance(value, str) else value


def _resources(graph: Graph) -> tuple[Tensor, ...]:
    """The variables that operators copy from and to; state that a kernel updates itself is not among them."""
    used = {t for op in graph.operators if op.traits.copies_state for t in (*op.inputs, *op.outputs)}
    return tuple(t for t in graph.tensors if t.variable and t.index in used)


class VariablesWriter:
    """The tables of the resource variables of ``writer``'s graph, as :mod:`mcusim.model.tflite.variables` reads them:
    handles, and the subgraph that fills them once; nothing where it has none."""

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
        for index, value in enumerate(self.values()):
            tensors += [self.handle(value), writer.table(value, first_buffer + index)]
            operators += self.second_operators(value, index)
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

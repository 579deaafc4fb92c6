"""Reads a ``.tflite`` file into a :class:`Graph`."""

from __future__ import annotations

import hashlib
import shlex
from collections import defaultdict
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import tflite
from flatbuffers.number_types import Int32Flags

from mcusim.errors import UnsupportedError
from mcusim.model.graph import Graph, Operator
from mcusim.model.graph_check import check_graph
from mcusim.model.operators import (
    ACTIVATIONS,
    DEFAULTS,
    LARGEST_WINDOW,
    OPERATORS,
    PADDINGS,
    OperatorSpec,
    is_opaque,
    opaque,
    shown_type,
)
from mcusim.model.tflite.flatbuffer import RANDOM_WEIGHTS, File, read_bytes
from mcusim.model.tflite.folding import Folding, fold
from mcusim.model.tflite.offline_plan import read_offline_plan
from mcusim.model.tflite.tensors import TensorReader
from mcusim.model.tflite.variables import read_variables

MOST_TENSORS = MOST_OPERATORS = 20_000
MOST_OPERANDS = 1024
SHOWN_INDICES = 50
CUSTOM_CODE_SLOT, BUILTIN_CODE_SLOT = 6, 10
QUIET = ("pot_scale_int16",)  # options that are left out at their default
BUILTIN_NAMES = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}


def read_tflite(path: Path, allow_unknown: bool = False) -> Graph:
    """The graph of the ``.tflite`` file at ``path``, int8 or uint8.

    Constants are read-only views of the file's bytes. With ``allow_unknown`` an operator the reader does not know is
    kept as an opaque one and the graph carries a warning. ``random_weights`` is set when the file's description
    says so, as :func:`mcusim.model.tflite.tflite_writer.write_tflite` has it for zoo networks.

    Operators that compute with constants alone are computed here (:mod:`mcusim.model.tflite.folding`): the graph's
    ``folded``.

    Raises ModelError for a file that cannot be read, is damaged, is not quantised or contradicts itself, and
    UnsupportedError for what the reader does not know: all unknown operators at once, several subgraphs but those that
    fill variables once, dynamic shapes, sparse or string tensors.

    Not modelled: metadata but an offline memory plan, signatures, and the min/max fields of the quantisation.
    """
    file = File(read_bytes(path), path)
    with file.reading("the root table"):
        model = file.table(tflite.Model.GetRootAs(file.data, 0))
        subgraph = _subgraph(file, model)
        tensor_count = file.count(subgraph.TensorsLength(), 4, MOST_TENSORS, "tensors")
        codes = _operator_codes(file, model)
        reader = TensorReader(file, model, subgraph)
        random = RANDOM_WEIGHTS.encode() in (model.Description() or b"")
    tables, variables = _operators(file, subgraph, codes), read_variables(file, model, codes)
    read = [variables.tensors.get(i) or reader.tensor(i) for i in range(tensor_count)]
    inputs, outputs = _ends(file, subgraph)
    remainder = fold(path, [op for op, _ in tables], read, inputs, partial(_read_options, file, tables))
    operators = variables.applied(remainder.operators)
    warnings = (*_unknown(path, operators, allow_unknown), *reader.warnings())
    sha256 = hashlib.sha256(file.data).hexdigest()
    known = {i for op in remainder.folded for i in op.outputs}
    left, constant = (tuple(i for i in outputs if (i in known) is which) for which in (False, True))
    graph = Graph(path.stem, remainder.tensors, operators, inputs, left, sha256, len(file.data), random, warnings)
    dropped = tuple(sorted(variables.dropped))
    graph = replace(graph, folded=remainder.folded, evaluated=dropped, constant_outputs=constant)
    graph = replace(graph, offline_plan=read_offline_plan(file, model))
    check_graph(graph, str(path))
    return graph


def _ends(file: File, subgraph: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    with file.reading("the graph's inputs and outputs"):
        inputs, outputs = (tuple(file.numbers(subgraph, end, 4, MOST_OPERANDS)) for end in ("Inputs", "Outputs"))
    return inputs, outputs


def _subgraph(file: File, model: Any) -> Any:
    if model.Version() != 3:
        raise file.error(f"schema version {model.Version()}; version 3 is read")
    count = file.count(model.SubgraphsLength(), 4, 10_000, "subgraphs")
    if count == 0:
        raise file.error("it has no subgraph")
    return file.table(model.Subgraphs(0))


def _operator_codes(file: File, model: Any) -> list[str]:
    names = []
    for index in range(file.count(model.OperatorCodesLength(), 4, MOST_OPERATORS, "operator codes")):
        table = file.table(model.OperatorCodes(index))
        code = max(_builtin_code(table), table.DeprecatedBuiltinCode())
        name = BUILTIN_NAMES.get(code, f"BUILTIN_{code}")
        names.append(f"CUSTOM({file.text(table, CUSTOM_CODE_SLOT)})" if name == "CUSTOM" else name)
    return names


def _builtin_code(table: Any) -> int:
    """The field itself: ``BuiltinCode()`` gives the old, one-byte field where this one is below 127."""
    field = table._tab.Offset(BUILTIN_CODE_SLOT)
    return int(table._tab.Get(Int32Flags, field + table._tab.Pos)) if field else 0


def _operators(file: File, subgraph: Any, codes: list[str]) -> list[tuple[Operator, Any]]:
    """The operators as stored, each with its table; those of an unknown type without options."""
    operators: list[tuple[Operator, Any]] = []
    with file.reading("the operators"):
        count = file.count(subgraph.OperatorsLength(), 4, MOST_OPERATORS, "operators")
    for index in range(count):
        with file.reading(f"operator {index}"):
            table = file.table(subgraph.Operators(index))
            if table.OpcodeIndex() >= len(codes):
                raise file.error(f"operator code {table.OpcodeIndex()} does not exist, the file has {len(codes)}")
            name = codes[table.OpcodeIndex()]
            file.what = f"operator {index} {name}"
            ends = [tuple(file.numbers(table, end, 4, MOST_OPERANDS)) for end in ("Inputs", "Outputs")]
            spec = OPERATORS.get(name)
            options = _options(file, table, spec) if spec else {}
        operators.append((Operator(index, name if spec else opaque(name), ends[0], ends[1], options), table))
    return operators


def _read_options(file: File, tables: list[tuple[Operator, Any]], index: int, folding: Folding) -> dict[str, Any]:
    """The options of an operator that is computed here; its entry, if it has one, need not list them all."""
    operator, table = tables[index]
    with file.reading(f"operator {index} {shown_type(operator.type)}"):
        return _options(file, table, folding)


def _unknown(path: Path, operators: tuple[Operator, ...], allowed: bool) -> list[str]:
    """The warning for operators that are not known; UnsupportedError where they are not allowed."""
    unknown: dict[str, list[int]] = defaultdict(list)
    for op in operators:
        if is_opaque(op.type):
            unknown[shown_type(op.type)].append(op.index)
    if not unknown:
        return []
    listed = "; ".join(f"{name} (operator{'s' * (len(at) > 1)} {_indices(at)})" for name, at in unknown.items())
    if not allowed:
        raise UnsupportedError(
            f"{path}: operators mcusim does not know: {listed}; --allow-unknown runs the others and leaves these out of"
            f" every total, --cost {shlex.quote(next(iter(unknown)) + '=12 cycles/B')} with it says what one costs"
        )
    return [f"operators mcusim does not know count as opaque, inputs and outputs live, nothing else known: {listed}"]


def _indices(at: list[int]) -> str:
    return ", ".join(map(str, at[:SHOWN_INDICES])) + f" and {len(at) - SHOWN_INDICES} more" * (len(at) > SHOWN_INDICES)


def _options(file: File, operator: Any, spec: OperatorSpec | Folding) -> dict[str, Any]:
    """The options of ``spec`` by our names, with TFLite's defaults where the file has no option table."""
    if not spec.table:
        return {}
    kind = getattr(tflite.BuiltinOptions, spec.table)
    options = getattr(tflite, spec.table)()
    union = operator.BuiltinOptions()
    if union is None or operator.BuiltinOptionsType() != kind:
        if spec.needs_table or operator.BuiltinOptionsType() not in (0, kind):
            raise file.error(f"its options are not {spec.table}")
        return {ours: DEFAULTS[ours] for ours in spec.fields if ours not in QUIET}
    options.Init(union.Bytes, union.Pos)
    file.table(options)
    fields = {ours: _option(file, ours, getattr(options, method)()) for ours, method in spec.fields.items()}
    return {ours: value for ours, value in fields.items() if ours not in QUIET or value != DEFAULTS[ours]}


def _option(file: File, name: str, value: Any) -> Any:
    if name in ("padding", "activation"):
        names = PADDINGS if name == "padding" else ACTIVATIONS
        if not 0 <= value < len(names):
            raise file.error(f"{name} {value} is not one of {', '.join(names)}")
        return names[value]
    if name.startswith(("stride_", "dilation_", "filter_")) and not 1 <= value <= LARGEST_WINDOW:
        raise file.error(f"{name} is {value}, must be within 1 to {LARGEST_WINDOW:,}")
    return value

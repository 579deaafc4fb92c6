"""Reads a ``.tflite`` file into a :class:`Graph`."""

from __future__ import annotations

import hashlib
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import tflite
from flatbuffers.number_types import Int32Flags

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model.custom_costs import is_priced
from mcusim.model.graph import Graph, Operator
from mcusim.model.graph_check import check_structure, fits_its_operands, refusals
from mcusim.model.matrix_shapes import copied_constants
from mcusim.model.operators import (
    ACTIVATIONS,
    DEFAULTS,
    LARGEST_WINDOW,
    OPERATORS,
    PADDINGS,
    OperatorSpec,
    is_control_flow,
    is_opaque,
    opaque,
    shown_type,
)
from mcusim.model.tflite.control_flow import Flat, Subgraph, flattened, subgraphs_of, why_refused
from mcusim.model.tflite.custom_options import custom_options
from mcusim.model.tflite.flatbuffer import LARGEST_FILE, RANDOM_WEIGHTS, File, read_bytes
from mcusim.model.tflite.folding import Folding, Remainder, fold
from mcusim.model.tflite.offline_plan import read_offline_plan
from mcusim.model.tflite.tensors import TensorReader
from mcusim.model.tflite.variables import Variables, read_variables

MOST_TENSORS = MOST_OPERATORS = 20_000
MOST_OPERANDS = 1024
_PLANS = "`mcusim memory` plans its memory all the same"
SHOWN_INDICES = 50
CUSTOM_CODE_SLOT, BUILTIN_CODE_SLOT = 6, 10
QUIET = ("pot_scale_int16",)  # options that are left out at their default
BUILTIN_NAMES = {value: name for name, value in vars(tflite.BuiltinOperator).items() if isinstance(value, int)}


def read_tflite(path: Path, allow_unknown: bool = False, strict: bool = True) -> Graph:
    """The graph of the ``.tflite`` file at ``path``, int8 or uint8.

    Constants are read-only views of the file's bytes. With ``allow_unknown`` an operator the reader does not know is
    kept as an opaque one and the graph carries a warning. Without ``strict`` so is one that nothing here runs, as of
    floats, groups or packed int4: the graph says so (``refused``), and is good for its memory alone.
    ``random_weights`` is set when the file's description says so, as
    :func:`mcusim.model.tflite.tflite_writer.write_tflite` has it for zoo networks.

    Operators that compute with constants alone are computed here (:mod:`mcusim.model.tflite.folding`): the graph's
    ``folded``.

    Raises ModelError for a file that cannot be read, is damaged, is not quantised or contradicts itself, and
    UnsupportedError for what the reader does not know: all unknown operators at once, several subgraphs but those that
    fill variables once (without ``strict`` what control flow runs is put behind it), dynamic shapes; what no option
    helps with goes before operators that are unknown.

    Not modelled: metadata but an offline memory plan, signatures, and the min/max fields of the quantisation.
    """
    return graph_of(read_bytes(path), path, allow_unknown, strict)


def graph_of(data: bytes, path: Path, allow_unknown: bool = False, strict: bool = True) -> Graph:
    """:func:`read_tflite` of a file's bytes; ``path`` says where they come from."""
    stored = read_stored(File(data, path))
    flat = _flattened(stored, strict)
    remainder = _folded(stored, strict) if flat is None else Remainder(flat.operators, flat.tensors, ())
    graph = _graph(stored, remainder)
    check_structure(graph, str(path))
    if strict:
        _require_runnable(graph, stored.reader.open_sizes, path)
    else:
        graph = _for_memory(graph, {} if flat is None else flat.refused)
    warnings = (*_refused(graph), *_unknown(graph, path, allow_unknown or not strict), *stored.reader.warnings())
    copied = copied_constants(graph)
    warnings += (() if flat is None else _of_control_flow(flat)) + ((copied,) if copied else ())
    return replace(graph, warnings=warnings)


@dataclass(frozen=True)
class Stored:
    """What a file has: its operators' codes, the reader of the first subgraph's tensors, that subgraph with its
    variables in the places of handles."""

    file: File
    model: Any
    codes: list[str]
    reader: TensorReader
    variables: Variables
    main: Subgraph
    random_weights: bool


def read_stored(file: File) -> Stored:
    """Raises ModelError for a file that is damaged."""
    with file.reading("the root table"):
        model = file.table(tflite.Model.GetRootAs(file.data, 0))
        subgraph = _subgraph(file, model)
        tensor_count = file.count(subgraph.TensorsLength(), 4, MOST_TENSORS, "tensors")
        codes = _operator_codes(file, model)
        reader = TensorReader(file, model, subgraph)
        random = RANDOM_WEIGHTS.encode() in (model.Description() or b"")
    tables, variables = _operators(file, subgraph, codes), read_variables(file, model, codes)
    tensors = [variables.tensors.get(i) or reader.tensor(i) for i in range(tensor_count)]
    return Stored(file, model, codes, reader, variables, Subgraph(tensors, tables, *_ends(file, subgraph)), random)


def _graph(stored: Stored, remainder: Remainder) -> Graph:
    """Of what is left of a file when constants are computed."""
    file, main, variables = stored.file, stored.main, stored.variables
    folded = {i for op in remainder.folded for i in op.outputs}
    left, constant = (tuple(i for i in main.outputs if (i in folded) is which) for which in (False, True))
    return Graph(
        Path(file.source).stem,
        remainder.tensors,
        variables.applied(remainder.operators),
        main.inputs,
        left,
        hashlib.sha256(file.data).hexdigest(),
        len(file.data),
        stored.random_weights,
        offline_plan=read_offline_plan(file, stored.model),
        evaluated=tuple(sorted(variables.dropped)),
        folded=remainder.folded,
        constant_outputs=constant,
    )


def _require_runnable(graph: Graph, open_sizes: list[str], path: Path) -> None:
    size = ""
    if open_sizes:
        size = f"; the file leaves sizes open, {open_sizes[0]}: `mcusim export {path} --batch 1 -o FIXED` fixes them"
    for op, error in refusals(graph):
        raise type(error)(f"{path}: operator {op.index} {op.type}: {error}{size}; {_PLANS}")


def _flattened(stored: Stored, strict: bool) -> Flat | None:
    """The network with what its operators of control flow run; None for one of one subgraph. Raises UnsupportedError
    where it has to run."""
    file, model, main = stored.file, stored.model, stored.main
    count = model.SubgraphsLength()
    others = set(range(1, count)) - {*stored.variables.once}
    if not others:
        return None
    if strict:
        runs = [(op, runs) for op, table in main.operators if (runs := subgraphs_of(file, op, table, count))]
        text = f"operator {runs[0][0].index} {shown_type(runs[0][0].type)}: {why_refused(runs[0][1])}" if runs else ""
        text = text or f"has {count} subgraphs, {len(others)} of them other entry points; one is run"
        raise UnsupportedError(f"{file.source}: {text}; {_PLANS}")

    def read(index: int) -> Subgraph:
        if index == 0:
            return main
        with file.reading(f"subgraph {index}"):
            table = file.table(model.Subgraphs(index))
            tensors = file.count(table.TensorsLength(), 4, MOST_TENSORS, "tensors")
        reader = TensorReader(file, model, table)
        operators = _operators(file, table, stored.codes)
        return Subgraph([reader.tensor(i) for i in range(tensors)], operators, *_ends(file, table))

    return flattened(file, count, stored.variables.once, read)


def _of_control_flow(flat: Flat) -> tuple[str, ...]:
    """What the figures of a network of several subgraphs mean."""
    texts = ["what a WHILE repeats, and both sides of an IF, count once in MACs"] if flat.refused else []
    if flat.left_out:
        texts.append(f"subgraphs that nothing runs are left out: {_indices(list(flat.left_out))}")
    return tuple(texts)


def _folded(stored: Stored, strict: bool) -> Remainder:
    """What is left when the operators of constants are computed; all, where that fails and the graph need not run."""
    main = stored.main
    operators = tuple(op for op, _ in main.operators)
    options = partial(_read_options, stored.file, main.operators)
    try:
        return fold(stored.file.source, operators, main.tensors, main.inputs, options)
    except ModelError:
        if strict:
            raise
    return Remainder(operators, tuple(main.tensors), ())


def _for_memory(graph: Graph, control_flow: Mapping[int, str]) -> Graph:
    """``graph`` with operators that nothing here runs named; of those whose operands are not as their type has them
    nothing is known but these."""
    refused = {**control_flow, **{op.index: str(error) for op, error in refusals(graph)}}
    operators = tuple(
        replace(op, type=opaque(shown_type(op.type)))
        if op.index in refused and not fits_its_operands(graph, op)
        else op
        for op in graph.operators
    )
    return replace(graph, operators=operators, refused=refused)


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
            options = _options(file, table, spec) if spec else _custom(file, table) if name[:7] == "CUSTOM(" else {}
        operators.append((Operator(index, name if spec else opaque(name), ends[0], ends[1], options), table))
    return operators


def _custom(file: File, table: Any) -> dict[str, Any]:
    count = file.count(table.CustomOptionsLength(), 1, LARGEST_FILE, "bytes of options")
    return custom_options(table.CustomOptionsAsNumpy().tobytes()) if count else {}


def _read_options(file: File, tables: Sequence[tuple[Operator, Any]], index: int, folding: Folding) -> dict[str, Any]:
    """The options of an operator that is computed here; its entry, if it has one, need not list them all."""
    operator, table = tables[index]
    with file.reading(f"operator {index} {shown_type(operator.type)}"):
        return _options(file, table, folding)


def _refused(graph: Graph) -> list[str]:
    """The warning for operators that nothing here runs."""
    if not graph.refused:
        return []
    index, reason = next(iter(graph.refused.items()))
    more = len(graph.refused) - 1
    others = f", and {more:,} other operators" if more > 1 else ", and one other operator" if more else ""
    kind = shown_type(graph.operators[index].type)
    return [f"mcusim run refuses this model: operator {index} {kind}: {reason}{others}"]


def _unknown(graph: Graph, path: Path, allowed: bool) -> list[str]:
    """The warning for operators that are not known; UnsupportedError where they are not allowed."""
    unknown: dict[str, list[int]] = defaultdict(list)
    for op in graph.operators:
        skipped = is_control_flow(op.type) or is_priced(op.type)
        if is_opaque(op.type) and op.index not in graph.refused and not skipped:
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

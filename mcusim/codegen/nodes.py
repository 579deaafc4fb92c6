"""An operator in C: its call structure with every member by name, the constants that it points to, and the call.

Not modelled: what :mod:`mcusim.kernels.calls.call_bytes` does not model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from mcusim.codegen.memory import ARRAY, C_TYPES, CALL, Memory
from mcusim.errors import UnsupportedError
from mcusim.kernels.calls.call_bytes import call_bytes, calls, types
from mcusim.kernels.calls.filter_bytes import filter_bytes
from mcusim.kernels.calls.prepare import Places, data_inputs
from mcusim.kernels.calls.rescaling import Parameters, parameters
from mcusim.kernels.calls.structs import LAYOUTS, size_of
from mcusim.kernels.compiler import SETS
from mcusim.kernels.kernel_set import Kernel, KernelSet
from mcusim.model import geometry
from mcusim.model.graph import Graph, Operator
from mcusim.model.matrix_shapes import copies_bytes
from mcusim.model.operators import OPERATORS, shown_type


@dataclass(frozen=True)
class Node:
    """``text`` defines the structures ``names``; ``symbol`` is called with the address of each.

    ``table_bytes``: of the structures and the tables that belong to them.
    """

    symbol: str
    layout: str
    names: tuple[str, ...]
    text: str
    table_bytes: int


def kernel_of(graph: Graph, op: Operator, kernels: KernelSet) -> Kernel:
    """The kernel of ``op``. Raises UnsupportedError with operator and shapes where there is none."""
    try:
        if op.type not in OPERATORS:
            raise UnsupportedError("no kernel set has it")
        return kernels.kernel(op.type, types(graph, op))
    except UnsupportedError as error:
        raise _cannot(graph, op, error) from None


def _cannot(graph: Graph, op: Operator, error: UnsupportedError) -> UnsupportedError:
    def shown(numbers: Sequence[int]) -> str:
        tensors = [graph.tensors[t] for t in numbers if t >= 0]
        return ", ".join(f"{'x'.join(map(str, t.shape)) or 'scalar'} {t.dtype}" for t in tensors[:4])

    where = f"operator {op.index} {shown_type(op.type)[:80]} ({shown(op.inputs)} to {shown(op.outputs)})"
    return UnsupportedError(f"cannot generate {where}: {error}")


def node_of(graph: Graph, op: Operator, kernel: Kernel, memory: Memory) -> Node:
    """``op`` as C. Adds its constants to ``memory``. Raises UnsupportedError with operator and shapes, ModelError."""
    try:
        if op.traits.multiplies and copies_bytes(graph, op):
            raise UnsupportedError("it has a side that is transposed, for which generated code has no memory")
        places = _places(graph, op, kernel, memory)
        parts = [call_bytes(graph, op, places, part=part) for part in range(calls(op))]
    except UnsupportedError as error:
        raise _cannot(graph, op, error) from None
    names = [f"node{op.index}" if len(parts) == 1 else f"node{op.index}_{part}" for part in range(len(parts))]
    text = "".join(_structure(graph, op, kernel.layout, n, d, memory) for n, d in zip(names, parts, strict=True))
    called = kernel.called_for(geometry(graph, op)).symbol
    return Node(called, kernel.layout, tuple(names), text, sum(map(len, parts)))


def _places(graph: Graph, op: Operator, kernel: Kernel, memory: Memory) -> Places:
    def at(t: int) -> int:
        if t < 0:
            return 0
        tensor = graph.tensors[t]
        if tensor.data is None:
            return memory.at(t)
        return memory.constant(t, f"tensor{t}", tensor.data)

    single = {"scratch": ARRAY + memory.scratch[op.index]} if op.index in memory.scratch else {}
    own = parameters(graph, op, kernel)
    if own is not None:
        single |= _parameters(graph, op, kernel, own, memory)
        bias = op.inputs[op.traits.bias_input] if len(op.inputs) > op.traits.bias_input else -1
        single["bias"] = _bias(graph, op.index, bias, own, memory)
    inputs = op.inputs if op.traits.keeps_state else data_inputs(op)
    return Places(CALL, [at(t) for t in inputs], [at(t) for t in op.outputs], **single)


def _bias(graph: Graph, operator: int, bias: int, own: Parameters, memory: Memory) -> int:
    data = graph.tensors[bias].data if bias >= 0 else None
    if data is None or own.bias is None:
        return memory.at(bias) if bias >= 0 else 0
    return memory.constant(("bias", bias), f"bias{operator}", np.frombuffer(own.bias, data.dtype))


def _parameters(graph: Graph, op: Operator, kernel: Kernel, own: Parameters, memory: Memory) -> dict[str, int]:
    """A filter in the kernel's order, multipliers and shifts."""
    weights = op.inputs[1]
    if graph.tensors[weights].data is None:
        places = {"filter": memory.at(weights)}
    else:
        data = filter_bytes(graph, op, kernel)
        values = np.frombuffer(data, graph.tensors[weights].data.dtype)  # type: ignore[union-attr]
        key = (weights, kernel.filter_order)
        places = {"filter": memory.constant(key, f"weights{op.index}", values)}
    for name, array in (("multiplier", own.multiplier), ("shift", own.shift)):
        if not array:  # of floats
            continue
        values = np.frombuffer(array, "<i4")
        places[name] = memory.constant((name, array), f"{name}{op.index}", values)  # patches share them
    return places


def _structure(graph: Graph, op: Operator, layout: str, name: str, data: bytes, memory: Memory) -> str:
    """The structure, behind the tables that it points to."""
    words = np.frombuffer(data[: size_of(layout)], "<u4").tolist()
    tail = data[size_of(layout) :]
    tables = _join_tables(op, name, tail, memory) if layout == "join_call" else _table(graph, op, name, tail)
    members, at = [], 0
    for member, count in LAYOUTS[layout].items():
        values, at = words[at : at + count], at + count
        kind = _pointers(layout).get(member)
        if member in tables.names and values[0]:
            shown = [tables.names[member]]
        elif kind is None:
            shown = [_signed(value) for value in values]
        else:
            shown = [_pointer(value, kind, memory) for value in values]
        members.append(f".{member} = " + (shown[0] if count == 1 else f"{{{', '.join(shown)}}}"))
    return f"{tables.text}static const struct {layout} {name} = {{\n{_wrapped(members)}\n}};\n"


@dataclass(frozen=True)
class _TablesBehind:
    """What follows a structure: ``names`` of the arrays by the member that points to them."""

    names: Mapping[str, str]
    text: str


def _table(graph: Graph, op: Operator, name: str, tail: bytes) -> _TablesBehind:
    if not tail:
        return _TablesBehind({}, "")
    dtype = graph.tensors[data_inputs(op)[0]].dtype
    kind, size = C_TYPES[dtype], np.dtype(dtype).itemsize
    lines = _numbers(np.frombuffer(tail, dtype).tolist())
    text = f"static const {kind} {name}_table[{len(tail) // size}] = {{\n{lines}\n}};\n"
    return _TablesBehind({"table": f"{name}_table", "tables": f"{name}_table"}, text)


def _join_tables(op: Operator, name: str, tail: bytes, memory: Memory) -> _TablesBehind:
    """Inputs, their bytes and, where there are any, tables of 256 values."""
    count = len(op.inputs)
    inputs, sizes, tables = np.frombuffer(tail[: 12 * count], "<u4").reshape(3, count).tolist()
    first, text = CALL + size_of("join_call"), ""
    shown = []
    for i, address in enumerate(tables):
        shown.append(f"{name}_table{i}" if address else "0")
        if address:
            values = np.frombuffer(tail[address - first :][:256], np.uint8).tolist()
            text += f"static const uint8_t {name}_table{i}[256] = {{\n{_numbers(values)}\n}};\n"
    pointers = ", ".join(_pointer(value, "void", memory) for value in inputs)
    text += f"static const void *const {name}_inputs[{count}] = {{{pointers}}};\n"
    text += f"static const int32_t {name}_bytes[{count}] = {{{', '.join(map(_signed, sizes))}}};\n"
    names = {"inputs": f"{name}_inputs", "bytes": f"{name}_bytes"}
    if any(tables):
        names["tables"] = f"{name}_tables"
        text += f"static const void *const {name}_tables[{count}] = {{{', '.join(shown)}}};\n"
    return _TablesBehind(names, text)


def _numbers(values: Sequence[int]) -> str:
    return "\n".join(f"    {', '.join(map(str, values[i : i + 18]))}," for i in range(0, len(values), 18))


def _wrapped(members: Sequence[str]) -> str:
    """Members in lines of at most 112 characters."""
    lines, line = [], ""
    for member in members:
        if line and len(line) + len(member) > 106:
            lines.append(line)
            line = ""
        line += f" {member}," if line else f"    {member},"
    return "\n".join([*lines, line])


def _signed(word: int) -> str:
    value = word - (1 << 32) if word >> 31 else word
    return "-2147483647 - 1" if value == -(1 << 31) else str(value)


def _pointer(address: int, kind: str, memory: Memory) -> str:
    if not address:
        return "0"
    if address < 1 << 31:
        text, own = f"array + {address - ARRAY}", "uint8_t"
    else:
        constant = memory.named(address)
        text, own = constant.name, constant.c_type
    return text if kind in ("void", own) else f"(const void *){text}" if own != "uint8_t" else f"(void *)({text})"


@cache
def _pointers(layout: str) -> Mapping[str, str]:
    """The members of a structure that are pointers, and what they point to, as ``kernels.h`` declares them."""
    header = (SETS / "include" / "kernels.h").read_text(encoding="utf-8")
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    body = re.search(rf"struct {layout} \{{(.*?)\}};", text, re.DOTALL)
    assert body is not None  # a test compares header and LAYOUTS
    pointers = {}
    for line in body[1].split(";"):
        kind = next((word for word in line.replace("*", " ").split() if word != "const"), "")
        for part in line.split(","):
            if "*" in part:
                pointers[re.sub(r"\[.*", "", part).replace("*", " ").split()[-1]] = kind
    return pointers

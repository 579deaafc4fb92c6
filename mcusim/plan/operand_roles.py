"""Which tensor of an operator plays which role in its kernel call."""

from __future__ import annotations

from mcusim.model.graph import Graph, Operator, Tensor
from mcusim.plan.placement import Placement
from mcusim.program.program import Operand, Role, Span

INPUTS: tuple[Role, ...] = ("input0", "input1")


def tensor_roles(graph: Graph, op: Operator) -> list[tuple[Role, int]]:
    """Role and tensor index of every tensor the operator reads, in its own order.

    Parametric operators read ``input0``, ``filter``, ``bias`` (TRANSPOSE_CONV also a ``table``, its shape). Elsewhere
    activations (and constants that are data: :attr:`~mcusim.model.operators.Traits.constants_are_data`) are ``input0``,
    ``input1``, ``inputN`` ..., other constants (shapes, paddings, axes) ``table``. An operator with state reads
    ``input0``, all its matrices as ``filter``, its vectors as ``bias``, and ``state``. Omitted and empty tensors are
    left out.
    """
    if op.traits.parametric:
        roles: tuple[Role, ...] = ("input0", "filter", "bias")
        if op.traits.transposed:
            roles = ("table", "filter", "input0", "bias")
        named = list(zip(roles, op.inputs, strict=False))
    elif op.traits.keeps_state:
        named = [(_part(graph.tensors[t]), t) for t in op.inputs if t >= 0]
    else:
        named = _data_and_tables(graph, op)
    return [(role, t) for role, t in named if t >= 0 and graph.tensors[t].bytes]


def _part(tensor: Tensor) -> Role:
    if tensor.variable:
        return "state"
    if not tensor.constant:
        return "input0"
    return "filter" if len(tensor.shape) > 1 else "bias"


def _data_and_tables(graph: Graph, op: Operator) -> list[tuple[Role, int]]:
    named: list[tuple[Role, int]] = []
    data = 0
    for t in op.inputs:
        if t >= 0 and graph.tensors[t].constant and not op.traits.constants_are_data:
            named.append(("table", t))
            continue
        named.append((INPUTS[data] if data < len(INPUTS) else "inputN", t))
        data += 1
    return named


def data_inputs(graph: Graph, op: Operator) -> list[int]:
    """Tensors the operator reads as data (roles ``input0``, ``input1``, ``inputN``)."""
    return [t for role, t in tensor_roles(graph, op) if role.startswith("input")]


def operand(role: Role, span: Span) -> Operand:
    """What a kernel call reads there, and updates where it is state."""
    return Operand(role, span, "rw" if role == "state" else "r")


def whole_operands(graph: Graph, op: Operator, placed: Placement) -> tuple[Operand, ...]:
    """Operands of one kernel call that computes the whole operator from where ``placed`` put everything."""
    operands = [operand(role, placed.tensors[t]) for role, t in tensor_roles(graph, op)]
    if op.index in placed.multipliers:
        operands.append(Operand("multiplier", placed.multipliers[op.index], "r"))
        operands.append(Operand("shift", placed.shifts[op.index], "r"))
    if op.index in placed.scratch:
        operands.append(Operand("scratch", placed.scratch[op.index], "rw"))
    operands += [Operand("output", placed.tensors[t], "w") for t in op.outputs if graph.tensors[t].bytes]
    return tuple(operands)

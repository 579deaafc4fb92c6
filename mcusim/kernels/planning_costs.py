"""What planning needs to know of kernels (scratch, the interpreter's data), and the interpreter's cycles per operator.

A cost profile that names a kernel set, and the set itself, give the same figures, so that both fidelities have the same
plan. The cycles are a number per operator, stated and overridable: TensorFlow Lite Micro finds the node, its
registration and tensors, and fills the kernel's parameter structures.

Not modelled: the interpreter's own objects and its temporary allocations while it starts; what its code does to the
caches, and that operators with more tensors take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from mcusim.cpu.cores import core_named
from mcusim.kernels.calls.call_bytes import call_size, calls, types
from mcusim.kernels.cost.profile import Profile
from mcusim.kernels.kernel_set import KernelSet
from mcusim.model.geometry import Geometry
from mcusim.model.graph import Graph, Operator
from mcusim.model.operators import OPERATORS

__all__ = ["NODE_BYTES", "PER_CHANNEL_BYTES", "Costs", "costs_of", "operator_cycles", "stated"]

NODE_BYTES = 160  # TfLiteEvalTensor, node, registration and parameters of TensorFlow Lite Micro
PER_CHANNEL_BYTES = 8  # one int32 multiplier, one int32 shift
_ALIGN = 8


@dataclass(frozen=True)
class Costs:
    """``arrays`` are the operator types with a multiplier and a shift for each output channel.

    ``uint8``: uint8 operators have kernels of their own.
    """

    name: str
    arrays: tuple[str, ...]
    per_channel_bytes: int
    node: int
    uint8: bool
    scratch: Callable[[Graph, Operator, Geometry], int] = field(repr=False)
    node_bytes: Callable[[Graph, Operator], int] = field(repr=False)


def costs_of(kernels: Profile | KernelSet) -> Costs:
    """The planning figures of a profile or a set. Raises UsageError for a profile that names an unknown set."""
    if isinstance(kernels, KernelSet):
        return _of_set(kernels, kernels.name)
    if kernels.compiled is not None:
        return _of_set(kernels.compiled, kernels.name)
    profile = kernels
    return Costs(
        profile.name,
        tuple(kind for kind, spec in OPERATORS.items() if spec.traits.per_channel),
        profile.per_channel_bytes,
        profile.node_bytes,
        profile.rest is not None,
        lambda graph, op, g: profile.scratch_bytes(g),
        lambda graph, op: profile.node_bytes,
    )


def _of_set(kernels: KernelSet, name: str) -> Costs:
    def scratch(graph: Graph, op: Operator, g: Geometry) -> int:
        if op.type not in OPERATORS:  # opaque; to run it is refused
            return 0
        return kernels.kernel(op.type, types(graph, op)).scratch_bytes(g)

    def node_bytes(graph: Graph, op: Operator) -> int:
        if op.type not in OPERATORS:
            return NODE_BYTES
        layout = kernels.kernel(op.type, types(graph, op)).layout
        need = -(-call_size(graph, op, layout) // _ALIGN) * _ALIGN * calls(op)
        return max(NODE_BYTES, need)

    parametric = tuple(kind for kind, spec in OPERATORS.items() if spec.traits.parametric)
    return Costs(name, parametric, PER_CHANNEL_BYTES, NODE_BYTES, True, scratch, node_bytes)


def operator_cycles(isa: str, given: int | None = None) -> int:
    """Cycles for one operator on a core; ``given`` overrides. Raises MachineError for an unknown core."""
    return core_named(isa).interpreter_cycles if given is None else given


def stated(isa: str, given: int | None) -> str:
    """The line that a result lists among its assumptions."""
    basis = "given" if given is not None else "assumed: a few thousand cycles to invoke a node, not measured"
    return f"interpreter: {operator_cycles(isa, given):,} cycles an operator ({basis})"

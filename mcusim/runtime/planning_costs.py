"""What planning needs to know of kernels (scratch) and a runtime (its data), and the runtime's cycles per operator.

A cost profile that names a kernel set, and the set itself, give the same figures, so that both fidelities have the same
plan. The cycles are a number per operator, stated and overridable.

Not modelled: an interpreter's own objects and its temporary allocations while it starts; what its code does to the
caches, and that operators with more tensors take longer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial

from mcusim.errors import UnsupportedError
from mcusim.kernels.calls.call_bytes import call_size, calls, types
from mcusim.kernels.calls.rescaling import geometry_for
from mcusim.kernels.calls.structs import layout_of
from mcusim.kernels.cost.fitted.families import family
from mcusim.kernels.cost.profile import Profile
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.cores import core_named
from mcusim.model.geometry import Geometry, geometry
from mcusim.model.graph import Graph, Operator
from mcusim.model.operators import OPERATORS
from mcusim.runtime.runtime import Runtime, find_runtime

_ALIGN = 8


@dataclass(frozen=True)
class Costs:
    """``arrays`` are the operator types with a multiplier and a shift for each output channel.

    ``uint8``: uint8 operators have kernels of their own. ``in_place``: whether a kernel may write over its input.
    ``geometry``: an operator's, with the channels that its kernel takes longer for.
    """

    name: str
    arrays: tuple[str, ...]
    per_channel_bytes: int
    node: int
    uint8: bool
    scratch: Callable[[Graph, Operator, Geometry], int] = field(repr=False)
    node_bytes: Callable[[Graph, Operator], int] = field(repr=False)
    in_place: Callable[[Graph, Operator, Geometry], bool] = field(repr=False, default=lambda graph, op, g: False)
    geometry: Callable[[Graph, Operator], Geometry] = field(repr=False, default=geometry)

    def channels(self, g: Geometry) -> int:
        """How many multipliers and shifts an operator has: those of floats have none."""
        return g.out_c if g.type in self.arrays and not g.is_float else 0


def costs_of(kernels: Profile | KernelSet, runtime: Runtime | None = None) -> Costs:
    """The planning figures of a profile or a set, called by ``runtime``, by default the default one. Raises UsageError
    for a profile that names an unknown set."""
    caller = runtime or find_runtime()
    if isinstance(kernels, KernelSet):
        return _of_set(kernels, kernels.name, caller)
    if kernels.compiled is not None:
        costs = _of_set(kernels.compiled, kernels.name, caller)
        return replace(costs, geometry=partial(_of_family, costs)) if kernels.accesses else costs
    profile = kernels
    return Costs(
        profile.name,
        tuple(kind for kind, spec in OPERATORS.items() if spec.traits.per_channel),
        profile.per_channel_bytes,
        profile.node_bytes,
        profile.rest is not None,
        lambda graph, op, g: profile.scratch_bytes(g),
        lambda graph, op: max(profile.node_bytes, _copied(graph, op)),
    )


def _copied(graph: Graph, op: Operator) -> int:
    """Bytes of a call structure with the transposed copies that an interpreter keeps; 0 for operators without."""
    return -(-call_size(graph, op, layout_of(op.type)) // _ALIGN) * _ALIGN if op.traits.multiplies else 0


def _of_set(kernels: KernelSet, name: str, runtime: Runtime) -> Costs:
    def scratch(graph: Graph, op: Operator, g: Geometry) -> int:
        if op.type not in OPERATORS:  # opaque; to run it is refused
            return 0
        return kernels.kernel(op.type, types(graph, op)).scratch_bytes(g)

    def node_bytes(graph: Graph, op: Operator) -> int:
        if op.type not in OPERATORS:
            return runtime.node_bytes
        layout = kernels.kernel(op.type, types(graph, op)).layout
        need = -(-call_size(graph, op, layout) // _ALIGN) * _ALIGN * calls(op)
        return max(runtime.node_bytes, need)

    def in_place(graph: Graph, op: Operator, g: Geometry) -> bool:
        return op.type in OPERATORS and kernels.kernel(op.type, types(graph, op)).runs_in_place(g)

    def shape(graph: Graph, op: Operator) -> Geometry:
        if op.type not in OPERATORS:
            return geometry(graph, op)
        return geometry_for(graph, op, kernels.kernel(op.type, types(graph, op)))

    parametric = tuple(kind for kind, spec in OPERATORS.items() if spec.traits.parametric)
    kept = runtime.per_channel_bytes, runtime.node_bytes
    return Costs(name, parametric, *kept, True, scratch, node_bytes, in_place, shape)


def _of_family(costs: Costs, graph: Graph, op: Operator) -> Geometry:
    """The shape of an operator that has a cost by family. Raises UnsupportedError naming the operator."""
    g = costs.geometry(graph, op)
    try:
        family(g)
    except UnsupportedError as reason:
        raise UnsupportedError(f"kernels {costs.name} have no cost of operator {op.index}: {reason}") from None
    return g


def operator_cycles(isa: str, given: int | None = None, runtime: Runtime | None = None) -> int:
    """Cycles of a runtime for one operator on a core; ``given`` overrides. Raises MachineError for an unknown core."""
    return (runtime or find_runtime()).cycles(core_named(isa)) if given is None else given


def stated(isa: str, given: int | None, runtime: Runtime | None = None) -> str:
    """The line that a result lists among its assumptions."""
    what, basis = (runtime or find_runtime()).cycles_of
    return (
        f"{what}: {operator_cycles(isa, given, runtime):,} cycles an operator ({basis if given is None else 'given'})"
    )

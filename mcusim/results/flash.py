"""What a model needs of the memory that keeps its bytes without power: weights, the rest of the file, code, runtime.

Not modelled: the firmware around the network (C library, drivers, the application), the interpreter's preparation of
each operator (TensorFlow Lite Micro's ``Prepare`` and option parsing), padding between the parts, a loader that copies
weights to a RAM.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Literal

from mcusim.display import Displayed
from mcusim.errors import DoesNotFit, UnsupportedError
from mcusim.kernels import Profile
from mcusim.kernels.calls.call_bytes import types
from mcusim.kernels.kernel_set import KernelSet, load_set
from mcusim.machine.description import Machine, Region
from mcusim.model import geometry
from mcusim.model.graph import Graph, Operator
from mcusim.model.operators import OPERATORS, is_control_flow, shown_type
from mcusim.plan.pools import largest_region
from mcusim.runtime.planning_costs import costs_of
from mcusim.runtime.runtime import Runtime, find_runtime

_PER_CHANNEL = 8  # bytes of a multiplier and a shift
_LEFT = "reference"  # the set that has what another lacks, as TensorFlow Lite Micro falls back to its reference kernels


@dataclass(frozen=True)
class FlashPart:
    """``bytes`` that are kept in ``region`` (None: the machine has no memory for them).

    ``basis``: ``stored`` in the model file, ``counted`` in compiled code, or ``assumed``; ``source`` says more.
    """

    name: str
    bytes: int
    region: str | None
    basis: Literal["stored", "counted", "assumed"]
    source: str


@dataclass(frozen=True)
class FlashUse(Displayed):
    """The ``parts``; ``sizes`` are the bytes of their regions; ``uncounted`` says whose code is not known."""

    parts: tuple[FlashPart, ...]
    sizes: Mapping[str, int]
    uncounted: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """Bytes of all parts, wherever they are kept."""
        return sum(part.bytes for part in self.parts)

    @property
    def used(self) -> dict[str, int]:
        """Bytes by region, in the order of the parts."""
        result: dict[str, int] = {}
        for part in self.parts:
            if part.region is not None:
                result[part.region] = result.get(part.region, 0) + part.bytes
        return result

    @property
    def over(self) -> DoesNotFit | None:
        """The verdict on the first region that is too small; None when every part fits."""
        for region, needed in self.used.items():
            if needed > self.sizes[region]:
                parts = {part.name: part.bytes for part in self.parts if part.region == region}
                listed = ", ".join(f"{name} {size:,} B" for name, size in parts.items())
                return DoesNotFit(region, needed, self.sizes[region], f"what flash keeps ({listed})", parts)
        return None

    def to_json(self) -> dict[str, Any]:
        """``parts`` (``name bytes region basis source``), ``regions`` (``region used size fits``), ``total_bytes``,
        ``fits`` and ``uncounted``.
        """
        rows = [
            {"region": r, "used": n, "size": self.sizes[r], "fits": n <= self.sizes[r]} for r, n in self.used.items()
        ]
        return {
            "parts": [asdict(part) for part in self.parts],
            "regions": rows,
            "total_bytes": self.total,
            "fits": self.over is None,
            "uncounted": list(self.uncounted),
        }


def flash_use(
    graph: Graph,
    machine: Machine,
    kernels: Profile | KernelSet,
    weights: str | None = None,
    code: str | None = None,
    runtime: Runtime | None = None,
    homes: Mapping[int, str] | None = None,
) -> FlashUse:
    """What ``graph`` with the functions that it needs of ``kernels``, called by ``runtime`` (None: the default one),
    keeps in the flash of ``machine``.

    ``weights`` is the region they are read from. Those in a flash or a QSPI flash are kept there; those in a RAM are
    copied to it at the start from the largest flash or, where that is too small and there is one, the QSPI flash.
    ``homes``: regions of single tensors that are read from others. ``code`` is the region that code runs from; from a
    RAM it is copied likewise. The code of a profile that no set was fitted to is that of the set of its technique;
    operators that a set lacks are taken from the set ``reference``. Raises InputError for a set that cannot be read.
    """
    keeps = _kept_in(machine, code) or next((r for r in machine.memory.values() if r.kind == "flash"), None)
    region = None if keeps is None else keeps.name
    caller = runtime or find_runtime()
    graph, kernels = caller.executed(graph), kernels.without(caller.left_out)
    core = FlashPart("runtime", caller.code_bytes, region, "assumed", caller.code_source)
    function, uncounted = _code(graph, kernels, machine.core.isa, region, caller.array is not None)
    stored, more = _stored(graph, unread=caller.keeps_file), function.bytes + core.bytes
    other = _tables(graph, kernels, caller) if caller.array is not None else max(0, graph.file_bytes - stored)
    apart = _apart(graph, machine, homes or {})
    stored = max(0, stored - sum(apart.values()))
    home = _keeper(machine, weights, stored + other, apart + Counter({region: more}))
    tables = FlashPart("tables", other, home, "counted", "multipliers, shifts and call structures of the kernels")
    file = FlashPart("model file", other, home, "stored", _file_source(graph))
    parts = (
        FlashPart("weights", stored + apart.pop(home, 0), home, "stored", "constants of the model, each buffer once"),
        *(FlashPart("weights", n, name, "stored", "constants that are read there") for name, n in apart.items()),
        file if caller.keeps_file else tables,
        function,
        core,
    )
    sizes = {name: machine.memory[name].size for name in (home, *apart, region) if name is not None}
    return FlashUse(parts, sizes, uncounted)


def _apart(graph: Graph, machine: Machine, homes: Mapping[int, str]) -> Counter[str | None]:
    """Bytes of constants that ``homes`` have in a memory that keeps them without power, by region."""
    kept: Counter[str | None] = Counter()
    for tensor, name in homes.items():
        if graph.tensors[tensor].constant and _kept_in(machine, name) is not None:
            kept[name] += graph.tensors[tensor].bytes
    return kept


def _tables(graph: Graph, kernels: Profile | KernelSet, runtime: Runtime) -> int:
    """Bytes of what compiled code has for its kernels besides weights."""
    costs = costs_of(kernels, runtime)
    channels = sum(costs.channels(costs.geometry(graph, op)) for op in graph.operators)
    return _PER_CHANNEL * channels + sum(costs.node_bytes(graph, op) for op in graph.operators)


def _kept_in(machine: Machine, name: str | None) -> Region | None:
    """The region of that name if it keeps its bytes without power."""
    region = machine.memory.get(name or "")
    return region if region is not None and region.kind in ("flash", "qspi") else None


def _keeper(machine: Machine, weights: str | None, size: int, taken: Mapping[str | None, int]) -> str | None:
    """The region that keeps the ``size`` bytes of the model, where code has ``taken`` some: that of the weights, or the
    one that they are copied from."""
    named = _kept_in(machine, weights)
    if named is not None:
        return named.name
    flash, qspi = largest_region(machine, "flash"), largest_region(machine, "qspi")
    full = flash is None or size + taken.get(flash.name, 0) > flash.size
    if weights is not None and qspi is not None and full:
        return qspi.name
    return None if flash is None else flash.name


def _file_source(graph: Graph) -> str:
    if not graph.file_bytes:
        return "not known: the graph was not read from a file"
    estimated = ", estimated for a zoo network" if graph.random_weights else ""
    return f"the rest of the .tflite, {graph.file_bytes:,} B{estimated}"


def _stored(graph: Graph, unread: bool) -> int:
    """Bytes of the constants, with those that no operator reads or without; tensors that share a buffer count once."""
    counts, read = {}, {t for op in graph.operators for t in op.inputs}
    for tensor in graph.tensors:
        if tensor.data is not None and (unread or tensor.index in read):
            counts[tensor.data.__array_interface__["data"][0], tensor.bytes] = tensor.bytes
    return sum(counts.values())


def _code(
    graph: Graph, kernels: Profile | KernelSet, isa: str, region: str | None, direct: bool
) -> tuple[FlashPart, tuple[str, ...]]:
    """The functions that ``graph`` needs, and whose code is not known; ``direct``: those for its shapes alone."""
    compiled = kernels if isinstance(kernels, KernelSet) else kernels.compiled
    chosen = compiled or _shipped(kernels.technique)  # type: ignore[union-attr]
    size, missing = _trimmed(graph.operators, graph, chosen, isa, direct)
    source = f"kernel set {chosen.name}, what the model needs of it"
    if missing and chosen.name != _LEFT:
        more, missing = _trimmed(missing, graph, _shipped(_LEFT), isa)
        size += more
        source += f", and of {_LEFT} what it lacks" if more else ""
    if compiled is None:
        source = source.replace("what the model needs of it", f"as the code of {kernels.name} is not known")
    kinds = sorted({shown_type(op.type) for op in missing if not is_control_flow(op.type)})
    part = FlashPart("kernel code", size, region, "counted" if compiled else "assumed", source)
    return part, (f"code of {', '.join(kinds)}: no kernel set has it",) if kinds else ()


def _trimmed(
    operators: Iterable[Operator], graph: Graph, chosen: KernelSet, isa: str, direct: bool = False
) -> tuple[int, list[Operator]]:
    """Bytes of the functions for ``operators``, and the operators that the set has none for."""
    refused = graph.refused
    pairs = [(op, None if op.index in refused else _symbol(graph, op, chosen, direct)) for op in operators]
    symbols = {symbol for _, symbol in pairs if symbol is not None}
    size = chosen.loaded_bytes(isa, symbols) if symbols else 0
    return size, [op for op, symbol in pairs if symbol is None]


def _symbol(graph: Graph, op: Operator, chosen: KernelSet, direct: bool) -> str | None:
    if op.type not in OPERATORS or not op.inputs or not op.outputs:
        return None
    try:
        kernel = chosen.kernel(op.type, types(graph, op))
        return (kernel.called_for(geometry(graph, op)) if direct else kernel).symbol
    except UnsupportedError:
        return None


@cache
def _shipped(name: str) -> KernelSet:
    return load_set(name)

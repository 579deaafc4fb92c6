"""All files that a model becomes, and their sizes. The same model and kernels give the same bytes.

Not modelled: what :mod:`mcusim.codegen.nodes` and the call structures do not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mcusim.codegen import project_text as P
from mcusim.codegen.memory import Memory, memory_of
from mcusim.codegen.model_text import ends_type, header_text, source_text
from mcusim.codegen.nodes import kernel_of, node_of
from mcusim.codegen.sources import kernel_sources
from mcusim.display import Displayed
from mcusim.errors import UnsupportedError
from mcusim.kernels.kernel_set import KernelSet
from mcusim.machine.description import Machine
from mcusim.model.graph import Graph
from mcusim.plan import plan_options
from mcusim.plan.placement import memory_needs
from mcusim.plan.pools import largest_region, room_for
from mcusim.runtime.planning_costs import costs_of
from mcusim.runtime.runtime import Runtime
from mcusim.text import size_of_room


@dataclass(frozen=True)
class Generated(Displayed):
    """``files`` by their place in the folder. Bytes of ``array``, ``weights`` (filters, biases, other constants),
    ``tables`` (multipliers, shifts, call structures and what belongs to them) and of the kernels' ``code`` for
    ``machine``'s core as the set was built. ``functions`` are those that are called; ``operators`` how many."""

    model: str
    kernels: str
    machine: Machine
    operators: int
    functions: tuple[str, ...]
    array: int
    weights: int
    tables: int
    code: int
    files: dict[str, bytes] = field(repr=False)

    @property
    def flash(self) -> int:
        """Bytes of constants and kernels."""
        return self.weights + self.tables + self.code

    @property
    def over(self) -> tuple[str, ...]:
        """What of it does not fit the machine, in words; the code is that of the kernels alone, the stack not in it."""
        flash, ram = largest_region(self.machine, "flash"), room_for(self.machine, self.array)
        parts = [("RAM", ram.name, self.array, ram.size)]
        parts += [] if flash is None else [("flash", flash.name, self.flash, flash.size)]
        return tuple(
            f"{size_of_room(needed, room)} {kind} ({region})" for kind, region, needed, room in parts if needed > room
        )

    def _line(self) -> str:
        return f"{self.model[:60]} as C: array {self.array:,} B, flash {self.flash:,} B, {len(self.files)} files"


def generated(
    graph: Graph,
    runtime: Runtime,
    kernels: KernelSet,
    machine: Machine,
    inputs: Callable[[Graph], Sequence[np.ndarray[Any, Any]]],
    in_place: bool | None = None,
) -> Generated:
    """``graph``, as ``runtime`` executes it, as C with the functions of ``kernels``; ``inputs`` makes ``main``'s.

    Raises UnsupportedError naming the operator and its shapes for what cannot be generated, ModelError for scales that
    cannot be computed with.
    """
    ends_type(graph, graph.inputs), ends_type(graph, graph.outputs)
    options = plan_options(runtime=runtime.name, in_place=in_place)
    chosen = [kernel_of(graph, op, kernels) for op in graph.operators]
    memory = memory_of(graph, memory_needs(graph, costs_of(kernels, runtime), options))
    nodes = [node_of(graph, op, kernel, memory) for op, kernel in zip(graph.operators, chosen, strict=True)]
    _require_one_order(graph, memory)
    functions = tuple(sorted({node.symbol for node in nodes}))
    sources = kernel_sources(kernels, functions, machine.core.isa)
    project = P.Project(graph, kernels, sources, machine)
    files = {
        "model.h": header_text(graph), "model.c": source_text(graph, memory, nodes),
        "main.c": P.main_text(project, inputs(graph)), "Makefile": P.makefile_text(project),
        "board.ld": P.script_text(machine, memory.size), "README.md": P.page_text(project, memory.size),
        "NOTICE": P.notice_text(project),
    }  # fmt: skip
    tables = sum(node.table_bytes for node in nodes)
    arrays = [c.values.nbytes for c in memory.constants if c.name.startswith(("multiplier", "shift"))]
    weights = sum(c.values.nbytes for c in memory.constants) - sum(arrays)
    sizes = memory.size, weights, tables + sum(arrays), sources.code
    whole = {location: text.encode("ascii") for location, text in files.items()} | sources.files
    return Generated(graph.name, kernels.name, machine, len(nodes), functions, *sizes, whole)


def _require_one_order(graph: Graph, memory: Memory) -> None:
    names = [constant.name for constant in memory.constants]
    if len(names) != len(set(names)):
        raise UnsupportedError(f"cannot generate {graph.name}: two constants would have one name in C")

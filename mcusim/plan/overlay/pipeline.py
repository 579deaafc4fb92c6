"""Order of the tasks of an overlaid program: tiles ahead of the kernel calls, filters and arrays ahead of an operator.

While tile ``t`` is computed, tile ``t+1`` is transferred; while operator ``k`` runs, the filter of ``k+1`` goes into
the other second buffer; biases, multipliers and shifts follow as soon as their arrays are free, ahead of the operator's
second tile, which would otherwise pre-empt what its first needs. The first tile of an operator waits for the last
kernel call of the operator that produced it. With one buffer of each kind nothing is transferred ahead: a tile when
the call before is done, a filter when the operator before is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mcusim.model.graph import Graph
from mcusim.plan.operand_roles import tensor_roles, whole_operands
from mcusim.plan.overlay.buffers import TiledOperator
from mcusim.plan.overlay.emitter import Emitter, HeldOperand, Kind
from mcusim.plan.overlay.hazards import TaskSchedule
from mcusim.plan.placement import Placement
from mcusim.plan.pools import span_at
from mcusim.program.program import Compute, Operand, Role, Span

TILES: tuple[tuple[Role, Kind, str], ...] = (("input0", "input", "tile"), ("input1", "input1", "second"))


@dataclass
class TaskPipeline:
    """Writes the tasks of ``operators``; ``buffers`` are the overlay buffers by name (see OverlaySizes.buffers).

    On a machine with a data cache, an input tile that the core wrote (graph inputs count: the application wrote them)
    is cleaned before its transfer and every copied operand invalidated before the core reads it. Constants count as
    clean in memory: they were put there before the program starts.
    """

    graph: Graph
    emitter: Emitter
    placed: Placement
    buffers: Mapping[str, Span]
    operators: Sequence[TiledOperator]
    buffers_per_kind: int = 2
    _turn: dict[str, int] = field(default_factory=lambda: {"tile": 0, "second": 0})  # buffer to fill next
    _ready: dict[tuple[int, Role], HeldOperand] = field(default_factory=dict)  # constants copied for an operator
    _producer: dict[int, int] = field(default_factory=dict)  # tensor -> last kernel call that wrote it

    def run(self) -> TaskSchedule:
        """All tasks, operator by operator."""
        if self.buffers_per_kind == 1:
            return self._in_turn()
        self._fetch_filter(0)
        self._fetch_arrays(0)
        for index, tiled in enumerate(self.operators):
            uses_second = bool(tiled.copies.second_row)
            if not uses_second:
                self._fetch_filter(index + 1)
            self._operator(tiled)
            if uses_second:
                self._fetch_filter(index + 1)
            self._fetch_arrays(index + 1)
        return self.emitter.schedule

    def _in_turn(self) -> TaskSchedule:
        """All tasks with one buffer of each kind."""
        for index, tiled in enumerate(self.operators):
            self._fetch_filter(index)
            self._fetch_arrays(index)
            for number in range(len(tiled.tiles)):
                self._compute(tiled, number, self._fetch_tile(tiled, number))
        return self.emitter.schedule

    def _operator(self, tiled: TiledOperator) -> None:
        held = self._fetch_tile(tiled, 0)
        for number in range(len(tiled.tiles)):
            # the second tile is not needed yet, the operator's constants are: tiles pre-empt them, so let them go first
            first = self._constants(tiled) if number == 0 else ()
            ahead = self._fetch_tile(tiled, number + 1, first) if number + 1 < len(tiled.tiles) else {}
            self._compute(tiled, number, held)
            held = ahead

    def _fetch_filter(self, index: int) -> None:
        if index < len(self.operators) and self.operators[index].copies.filter:
            self._constant(index, "filter", "filter", self._next("second"))

    def _fetch_arrays(self, index: int) -> None:
        if index >= len(self.operators):
            return
        copies = self.operators[index].copies
        if copies.bias:
            self._constant(index, "bias", "bias", "bias")
        if copies.quant:
            self._constant(index, "multiplier", "multiplier", "multiplier")
            self._constant(index, "shift", "shift", "shift")

    def _constant(self, index: int, role: Role, kind: Kind, buffer: str) -> None:
        source = self._places(self.operators[index])[role]
        target = HeldOperand(buffer, self._at(self.buffers[buffer], 0, source.bytes), ())
        self._ready[index, role] = self.emitter.request(index, 0, kind, source, target)

    def _constants(self, tiled: TiledOperator) -> list[int]:
        """Transfers of what the operator's kernel reads besides its tiles."""
        return [task for (op, _), held in self._ready.items() if op == tiled.operator.index for task in held.filled]

    def _fetch_tile(self, tiled: TiledOperator, number: int, first: Iterable[int] = ()) -> dict[Role, HeldOperand]:
        """Copy the input rows of tile ``number``, after the tasks ``first``."""
        held: dict[Role, HeldOperand] = {}
        rows, tensors = tiled.tiles[number], dict(tensor_roles(self.graph, tiled.operator))
        for role, kind, buffer in TILES:
            row = tiled.copies.row if kind == "input" else tiled.copies.second_row
            if not row:
                continue
            tensor, name = tensors[role], self._next(buffer)
            source = self._at(self.placed.tensors[tensor], rows.in_row * row, rows.in_rows * row)
            target = HeldOperand(name, self._at(self.buffers[name], 0, source.bytes), ())
            after = [*first, *([self._producer[tensor]] if tensor in self._producer else [])]
            if not self.graph.tensors[tensor].constant:
                after += self.emitter.clean(tiled.operator.index, number, source)
            after += self.emitter.discard(tiled.operator.index, number, target)
            held[role] = self.emitter.request(tiled.operator.index, number, kind, source, target, after)
        return held

    def _compute(self, tiled: TiledOperator, number: int, tile: Mapping[Role, HeldOperand]) -> None:
        index = tiled.operator.index
        constants = {role: held for (op, role), held in self._ready.items() if op == index}
        for held in [*tile.values(), *(constants.values() if number == 0 else ())]:
            self.emitter.invalidate(index, number, held)
        copied = {**tile, **constants}
        operands = self._operands(tiled, number, {role: held.span for role, held in copied.items()})
        call = Compute(0, index, number, len(tiled.tiles), tiled.geometry, tiled.tiles[number], operands)
        task = self.emitter.compute(call, copied.values())
        for tensor in tiled.operator.outputs:
            self._producer[tensor] = task
        if number + 1 == len(tiled.tiles):
            self._ready = {key: held for key, held in self._ready.items() if key[0] != index}

    def _operands(self, tiled: TiledOperator, number: int, copied: Mapping[Role, Span]) -> tuple[Operand, ...]:
        """Copied operands from their buffers, the rest in place; output rows straight to the arena."""
        if tiled.operator.traits.keeps_state:  # several operands of a role, none of them copied
            return whole_operands(self.graph, tiled.operator, self.placed)
        operands = [Operand(r, copied.get(r, s), "r") for r, s in self._places(tiled).items() if r != "inputN"]
        rest = [t for role, t in tensor_roles(self.graph, tiled.operator) if role == "inputN"]
        operands += [Operand("inputN", self.placed.tensors[t], "r") for t in rest]
        scratch = self.placed.scratch.get(tiled.operator.index)
        if scratch is not None:
            operands.append(Operand("scratch", scratch, "rw"))
        rows = tiled.tiles[number]
        for t in tiled.operator.outputs:
            whole = self.placed.tensors[t]
            row = whole.bytes // tiled.geometry.out_h if len(tiled.tiles) > 1 else 0
            part = self._at(whole, rows.out_row * row, rows.out_rows * row) if row else whole
            operands.append(Operand("output", part, "w"))
        return tuple(operands)

    def _places(self, tiled: TiledOperator) -> dict[Role, Span]:
        """Where each operand is at home, by role."""
        index = tiled.operator.index
        homes = {role: self.placed.tensors[t] for role, t in tensor_roles(self.graph, tiled.operator)}
        if index in self.placed.multipliers:
            homes |= {"multiplier": self.placed.multipliers[index], "shift": self.placed.shifts[index]}
        return homes

    def _next(self, pair: str) -> str:
        """Name of the next buffer of a kind; they take turns."""
        turn = self._turn[pair]
        self._turn[pair] = (turn + 1) % self.buffers_per_kind
        return f"{pair}{turn}"

    def _at(self, span: Span, offset: int, size: int) -> Span:
        return span_at(self.emitter.machine, span.address + offset, size)

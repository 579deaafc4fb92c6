"""Order of the tasks as in the TinyOps firmware of 2023: an early first tile, and a filter when its buffer is free.

While the last tile of an operator is computed, the first tile of the next one is transferred, if the rows that it needs
have been written by then; else it is requested when the operator has ended. Then the next operator's filter follows,
into the one buffer for filters, and its biases, multipliers and shifts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mcusim.plan.operand_roles import tensor_roles
from mcusim.plan.overlay.buffers import TiledOperator
from mcusim.plan.overlay.emitter import HeldOperand
from mcusim.plan.overlay.hazards import TaskSchedule
from mcusim.plan.overlay.pipeline import TILES, TaskPipeline
from mcusim.program.program import Role

Tile = Mapping[Role, HeldOperand]


@dataclass
class EarlyTilePipeline(TaskPipeline):
    """:class:`TaskPipeline` with the order of 2023, for buffers of
    :func:`~mcusim.plan.overlay.one_filter_buffer.choose_one_filter_buffer`.

    Not modelled: that PAD and pooling operators ask for the next filter when they begin, that multipliers and shifts go
    on the stream of the tiles, and that the firmware compares bytes written with bytes needed, whatever tensor they
    belong to (here it is the rows that count).
    """

    def run(self) -> TaskSchedule:
        """All tasks, operator by operator."""
        held = self._first_tile(0)
        self._fetch_constants(0)
        for index, tiled in enumerate(self.operators):
            held = self._run_operator(tiled, held)
            self._fetch_constants(index + 1)
        return self.emitter.schedule

    def _run_operator(self, tiled: TiledOperator, held: Tile) -> Tile:
        """Compute all tiles, of which ``held`` is the first; returns the first tile of the next operator."""
        following, last = tiled.operator.index + 1, len(tiled.tiles) - 1
        early = self._rows_are_there(tiled)
        for number in range(last + 1):
            first = self._constants(tiled) if number == 0 else []
            ahead: Tile = {}
            if number < last:
                ahead = self._fetch_tile(tiled, number + 1, first)
            elif early:
                ahead = self._first_tile(following, first)
            self._compute(tiled, number, held)
            held = ahead
        return held if early else self._first_tile(following)

    def _rows_are_there(self, tiled: TiledOperator) -> bool:
        """Before the last tile of ``tiled``: are all rows that the next operator's first tile reads written, and is
        there a place for them?"""
        index = tiled.operator.index + 1
        if index == len(self.operators):
            return False
        following = self.operators[index]
        occupied = bool(tiled.copies.filter) or tiled.operator.index in self.placed.scratch
        if following.copies.second_row and occupied:
            return False  # the second buffers have the filter and the scratch of the call that runs
        rows, tensors = following.tiles[0], dict(tensor_roles(self.graph, following.operator))
        for (role, _, _), row in zip(TILES, (following.copies.row, following.copies.second_row), strict=True):
            if row and tensors[role] in tiled.operator.outputs:
                out_row = self.placed.tensors[tensors[role]].bytes // tiled.geometry.out_h
                if (rows.in_row + rows.in_rows) * row > tiled.tiles[-1].out_row * out_row:
                    return False
        return True

    def _first_tile(self, index: int, first: list[int] | None = None) -> Tile:
        return self._fetch_tile(self.operators[index], 0, first or ()) if index < len(self.operators) else {}

    def _fetch_constants(self, index: int) -> None:
        if index < len(self.operators) and self.operators[index].copies.filter:
            self._constant(index, "filter", "filter", "second0")
        self._fetch_arrays(index)

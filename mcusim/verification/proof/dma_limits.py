"""Checks that every task is within what the machine can do: the rules alignment, units, reach and bounds.

What makes a program no program of the machine at all (an unknown stream, an id twice, an edge from a later task) is a
ProgramError, as for a replay.
"""

from __future__ import annotations

from mcusim.errors import ProgramError
from mcusim.machine.description import Machine
from mcusim.program.check import check_ids, check_lane, regions
from mcusim.program.program import Compute, Maintain, Program, Span, Task, Transfer
from mcusim.verification.findings import Findings
from mcusim.verification.proof.task_accesses import called


class Limits:
    """Checks ``program`` against ``machine``. Raises ProgramError for a program that is malformed there."""

    def __init__(self, program: Program, machine: Machine, findings: Findings) -> None:
        self._machine, self._findings = machine, findings
        check_ids(program)
        for index, task in enumerate(program.tasks):
            check_lane(task, machine)
            if isinstance(task, Transfer):
                self._transfer(index, task)
            elif isinstance(task, Compute):
                for operand in task.operands:
                    self._inside(index, task, operand.span, f"operand {operand.role}", operand.access != "r")
            elif isinstance(task, Maintain):
                self._inside(index, task, task.span, "its span", False)

    def _transfer(self, place: int, task: Transfer) -> None:
        dma = check_lane(task, self._machine)
        assert dma is not None
        if task.source.bytes != task.destination.bytes:
            raise ProgramError(f"task {task.id}: moves {task.source.bytes} B into {task.destination.bytes} B")
        self._inside(place, task, task.source, "its source", False)
        self._inside(place, task, task.destination, "its destination", True)
        low, size, most = task.destination.address, task.destination.bytes, dma.max_units
        units = -(-size // dma.beat)
        if units > most:
            text = f"{called(task)} moves {units:,} units of {dma.beat} B; a stream counts {most:,} at most"
            fix = f"split it into {-(-units // most)} transfers of at most {most * dma.beat:,} B, one after the other"
            self._findings.add("units", (place,), low, low + size, text, fix)
        for what, value in (
            ("source address", task.source.address),
            ("destination address", low),
            ("size", size),
        ):
            if value % dma.beat:
                number = f"{value:,} B" if what == "size" else f"{value:#010x}"
                text = f"{called(task)}: its {what}, {number}, is not a multiple of its beat of {dma.beat} B"
                fix = f"align it to {dma.beat} B, or use beats of 1 B on {dma.name}"
                self._findings.add("alignment", (place,), low, low + size, text, fix)

    def _inside(self, place: int, task: Task, span: Span, name: str, write: bool) -> None:
        """``span`` lies in regions of the machine that the task reaches and may write."""
        low, high = span.address, span.end
        try:
            items = list(regions(span, self._machine, f"{called(task)}, {name}"))
        except ProgramError as error:
            fix = f"put it into one of {', '.join(self._machine.memory)}, where there is room for it"
            self._findings.add("bounds", (place,), low, high, str(error), fix)
            return
        for region in items:
            if write and not region.writable:
                text = f"{called(task)}, {name}: region '{region.name}' cannot be written"
                self._findings.add("bounds", (place,), low, high, text, "put it into memory that can be written")
            if isinstance(task, Transfer) and not region.dma:
                text = f"{called(task)}, {name}: the DMA of {self._machine.name} does not reach region '{region.name}'"
                usable = ", ".join(r.name for r in self._machine.memory.values() if r.dma and (r.writable or not write))
                self._findings.add("reach", (place,), low, high, text, f"put it into one of {usable or 'no region'}")

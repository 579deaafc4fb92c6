"""Checks that the tiles of an operator add up and that their rows have what their windows need."""

from __future__ import annotations

from mcusim.model.geometry import whole
from mcusim.program.extent import shortages
from mcusim.program.program import Compute, Program
from mcusim.verification.findings import Findings
from mcusim.verification.proof.task_accesses import called


def needed_rows(task: Compute) -> tuple[int, int]:
    """First input row and the one after the last that the windows of the task's output rows reach in the tensor."""
    g, rows = task.geometry, task.rows
    window = (g.kernel_h - 1) * g.dilation_h + 1
    first = rows.out_row * g.stride_h - g.pad_top
    last = (rows.out_row + rows.out_rows - 1) * g.stride_h - g.pad_top + window
    return max(first, 0), min(last, g.in_h)


def check_rows(program: Program, findings: Findings) -> None:
    """Rule wrong-data: rows computed twice or not at all, halo rows that are missing, operands too short for their
    rows. Not modelled: the rows of operators that are not in tiles, which are all of them."""
    done: dict[int, tuple[int, int]] = {}  # operator -> next row, last call
    for index, task in enumerate(program.tasks):
        if not isinstance(task, Compute):
            continue
        _sizes(index, task, findings)
        if task.rows != whole(task.geometry):
            _halo(index, task, findings)
        row, last = done.get(task.operator, (0, -1))
        if task.rows.out_row != row:
            text = f"{called(task)} computes rows from {task.rows.out_row} on, where row {row} is the next one"
            _found(findings, (last, index), task, "output", text, f"let its rows begin at {row}")
        done[task.operator] = task.rows.out_row + task.rows.out_rows, index
    for row, index in done.values():
        task = program.tasks[index]
        assert isinstance(task, Compute)
        if row != task.geometry.out_h:
            text = f"{called(task)} is its operator's last and ends at row {row} of {task.geometry.out_h}"
            _found(findings, (index,), task, "output", text, f"let it compute rows up to {task.geometry.out_h}")


def _sizes(place: int, task: Compute, findings: Findings) -> None:
    for role, need, short in shortages(task):
        text = f"{called(task)}: {short}, its geometry and rows need {need:,} B"
        _found(findings, (place,), task, role, text, f"give it {need:,} B")


def _halo(place: int, task: Compute, findings: Findings) -> None:
    first, end = needed_rows(task)
    low, high = task.rows.in_row, task.rows.in_row + task.rows.in_rows
    if end > first and (low > first or high < end):
        text = f"{called(task)}: its windows reach input rows {first} to {end - 1}, it has {low} to {high - 1}"
        fix = f"copy rows {min(first, low)} to {max(end, high) - 1} and say so in its rows"
        _found(findings, (place,), task, "input0", text, fix)


def _found(findings: Findings, places: tuple[int, ...], task: Compute, role: str, text: str, fix: str) -> None:
    span = next((o.span for o in task.operands if o.role == role), None)
    low, high = (span.address, span.end) if span is not None else (0, 0)
    findings.add("wrong-data", places, low, high, text, fix)

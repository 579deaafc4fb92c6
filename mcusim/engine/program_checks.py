"""Checks that a program is one whole inference of its model and never overwrites what the host put into memory.

A replay does not ask: it computes nothing. Not modelled: races between lanes.
"""

from __future__ import annotations

from itertools import pairwise, zip_longest

from mcusim.errors import ProgramError
from mcusim.model.geometry import geometry
from mcusim.model.graph import Graph
from mcusim.program.program import Compute, Program
from mcusim.runtime.runtime import recorded_runtime


def check_model(program: Program, graph: Graph) -> None:
    """Raise ProgramError unless the program was written for that model, as its runtime executes it."""
    header = program.header
    if header.model_sha256 != graph.sha256:
        ours, its = graph.sha256[:8] or "-", header.model_sha256[:8] or "-"
        raise ProgramError(
            f"the program was written for another model ({header.model[:80]}, sha256 {its}...) than {graph.name}"
            f" (sha256 {ours}...)"
        )
    for have, need in zip_longest(header.operators, graph.operators):
        if have is None or need is None or (have.index, have.type) != (need.index, need.type):
            its, ours = (item.type[:80] if item else "none" for item in (have, need))
            index, runtime = (need or have).index, recorded_runtime(header.options).name
            raise ProgramError(
                f"the program was not written for {graph.name} as runtime {runtime} executes it: operator {index} is"
                f' {its} in its header, {ours} there; "runtime" among the header\'s options names another one'
            )


def check_whole(program: Program, graph: Graph) -> None:
    """Raise ProgramError unless the kernel calls compute every operator's rows, each once, after its producers."""
    rows = [geometry(graph, op).out_h for op in graph.operators]
    done = [0] * len(rows)
    producer = {t: op.index for op in graph.operators for t in op.outputs if not graph.tensors[t].variable}
    for task in program.tasks:
        if not isinstance(task, Compute):
            continue
        op, where = graph.operators[task.operator], f"task {task.id} (operator {task.operator} {task.geometry.type})"
        for source in (producer[t] for t in op.inputs if t in producer):
            if done[source] < rows[source]:
                raise ProgramError(
                    f"{where}: reads what operator {source} {graph.operators[source].type} computes, of which rows"
                    f" {done[source]} to {rows[source] - 1} are not computed before"
                )
        if task.rows.out_row != done[op.index]:
            raise ProgramError(
                f"{where}: computes rows from {task.rows.out_row} on, where {done[op.index]} is the next one"
            )
        done[op.index] += task.rows.out_rows
    for op, have, need in zip(graph.operators, done, rows, strict=True):
        if have < need:
            raise ProgramError(f"no task computes rows {have} to {need - 1} of operator {op.index} {op.type}")


def check_apart(program: Program) -> None:
    """Raise ProgramError when a buffer shares bytes with weights, state or an interpreter's parameters."""
    spans = sorted((b.span.address, b.span.end, b.name, b.kind) for b in program.header.buffers)
    reach = spans[:1]
    for entry, other in pairwise(spans):
        if entry[1] > reach[0][1]:
            reach = [entry]
        if other[0] < reach[0][1] and {"weights", "runtime", "state"} & {other[3], reach[0][3]}:
            raise ProgramError(f"buffers '{reach[0][2]}' and '{other[2]}' share bytes at {other[0]:#010x}")

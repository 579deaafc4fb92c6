"""Operands hold what their geometry says: true of every plan, and a program that lies is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mcusim.errors import ProgramError
from mcusim.kernels import load_profile
from mcusim.machine import load_machine
from mcusim.model.geometry import Geometry, whole
from mcusim.model.graph import Graph
from mcusim.plan import plan
from mcusim.program import check_program, read_program, write_program
from mcusim.program.extent import check_extent
from mcusim.program.field_readers import FieldError
from mcusim.program.program import Compute, Operand, Program, Span
from mcusim.verification.proof import prove
from tests.support.graphs.good_operators import GOOD
from tests.support.graphs.small_graphs import activation, convolution, one_operator, zeros

MACHINE = load_machine("stm32f746g-disco")


def calls(graph: Graph, policy: str) -> list[Compute]:
    program = plan(graph, MACHINE, policy, kernels=load_profile("cmsis-2021-gcc9"))
    return [task for task in program.tasks if isinstance(task, Compute)]


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
@pytest.mark.parametrize("kind", GOOD)
def test_every_planned_operator_passes(kind: str, policy: str) -> None:
    tasks = calls(GOOD[kind], policy)
    assert tasks
    for task in tasks:
        check_extent(task)


CONV = convolution((1, 6, 6, 8), (16, 3, 3, 8), (1, 6, 6, 16))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"in_c": 9_999_994}, "operand input0 has"),
        ({"out_c": 17}, "operand output has 576 B, its geometry and rows need 612 B"),
        ({"out_h": 9_999_995}, "more than 65,536 rows or columns"),
        ({"out_h": 7}, "7 output rows of a window over 3 do not come from 6 input rows and padding"),
        ({"stride_w": 2}, "6 output columns"),
        ({"pad_left": 3, "pad_right": 3}, "6 input columns and padding"),
        ({"dilation_h": 3}, "window over 7"),
    ],
)
def test_a_geometry_that_does_not_add_up_is_refused(change: dict[str, int], text: str) -> None:
    (task,) = calls(CONV, "internal")
    with pytest.raises(FieldError, match=text):
        check_extent(replace(task, geometry=replace(task.geometry, **change)))


def test_an_operand_one_byte_short_is_refused() -> None:
    (task,) = calls(CONV, "internal")
    for operand in task.operands:
        if operand.role in ("input0", "filter", "output"):
            short = replace(operand, span=replace(operand.span, bytes=operand.span.bytes - 1))
            others = tuple(o for o in task.operands if o is not operand)
            with pytest.raises(FieldError, match=f"operand {operand.role} has"):
                check_extent(replace(task, operands=(*others, short)))


def test_a_task_without_rows_is_refused() -> None:
    (task,) = calls(CONV, "internal")
    with pytest.raises(FieldError, match="no output row"):
        check_extent(replace(task, rows=replace(task.rows, out_rows=0)))


def test_loops_that_no_microcontroller_would_run_are_refused() -> None:
    """A consistent geometry of two kilobytes can ask for hours: 2**20 outputs of 2**20 window positions each."""
    (task,) = calls(CONV, "external")
    edge = 1 << 10
    sdram = MACHINE.memory["sdram"].base
    g = Geometry("AVERAGE_POOL_2D", 1, 2 * edge - 1, 2 * edge - 1, 1, edge, edge, 1, kernel_h=edge, kernel_w=edge)
    operands = (
        Operand("input0", Span("sdram", sdram, g.in_bytes), "r"),
        Operand("output", Span("sdram", sdram + g.in_bytes, g.out_bytes), "w"),
    )
    huge = replace(task, geometry=g, rows=whole(g), operands=operands)
    check_extent(huge)
    header = plan(CONV, MACHINE, "external", kernels=load_profile()).header
    with pytest.raises(ProgramError, match=r"the kernel calls have 1.1e\+12 loop steps, more than the 1e\+10 allowed"):
        check_program(Program(header, (huge,)), MACHINE)


def test_a_window_of_too_many_positions_is_refused() -> None:
    (task,) = calls(CONV, "external")
    edge = 1 << 11
    g = Geometry("AVERAGE_POOL_2D", 1, 2 * edge, 1, 1, edge + 1, 1, 1, kernel_h=edge, kernel_w=1)
    with pytest.raises(FieldError, match="2049 output rows of 2048 kernel rows each are more than 4,194,304 positi"):
        check_extent(replace(task, geometry=g, rows=whole(g)))


def joined(seed: int) -> Graph:
    """Inputs of any sizes, along any axis, some of them constants; then one operator that reads the result."""
    rng = np.random.default_rng(seed)
    shape, count = [int(n) for n in rng.integers(1, 7, rng.integers(1, 5))], int(rng.integers(1, 7))
    axis, inputs = int(rng.integers(len(shape))), []
    for i in range(count):
        size = [*shape]
        size[axis] = int(rng.integers(1, 9))
        inputs.append(zeros(tuple(size)) if i and rng.integers(4) == 0 else activation(tuple(size)))
    if rng.integers(4) == 0:
        inputs = [*inputs[1:], inputs[0]]
    out = [*shape]
    out[axis] = sum(t.shape[axis] for t in inputs)
    return one_operator("CONCATENATION", inputs, [activation(tuple(out))], axis=axis, activation="NONE")


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
def test_joined_inputs_of_any_sizes_can_be_saved_and_proved(policy: str, tmp_path: Path) -> None:
    path = tmp_path / "joined.jsonl"
    for seed in range(60):
        written = plan(joined(seed), MACHINE, policy, kernels=load_profile("cmsis-2021-gcc9"))
        write_program(written, path)
        program = read_program(path)
        check_program(program, MACHINE)
        assert program.tasks == written.tasks and not prove(program, MACHINE), f"seed {seed}"


def test_joined_inputs_that_are_too_short_together_are_refused() -> None:
    (task,) = calls(GOOD["CONCATENATION"], "internal")
    *others, last = (o for o in task.operands if o.role != "output")
    short = replace(last, span=replace(last.span, bytes=last.span.bytes - 1))
    output = [o for o in task.operands if o.role == "output"]
    with pytest.raises(FieldError, match=r"its inputs have [\d,]+ B, its geometry and rows need"):
        check_extent(replace(task, operands=(*others, short, *output)))

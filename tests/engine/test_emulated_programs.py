"""Programs for fidelity ``emulate`` that are not what a planner writes: each is refused with what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from mcusim.api.simulate import replay, simulate
from mcusim.commands.app import main
from mcusim.engine.free_memory import stack_place
from mcusim.errors import DoesNotFit, ProgramError
from mcusim.kernels.kernel_set import load_set
from mcusim.machine import load_machine
from mcusim.model import Graph, Quantization, Tensor, load_model
from mcusim.model.tflite.tflite_writer import write_tflite
from mcusim.plan import plan
from mcusim.program.program import Compute, Program, Span, Transfer
from mcusim.run_config.input_tensors import random_inputs
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.small_graphs import activation, constant, one_operator

F469, F746 = "stm32f469i-disco", "stm32f746g-disco"
SHAPE = (1, 6, 5, 4)


@cache
def adding() -> tuple[Graph, Program]:
    graph = one_operator("ADD", [activation(SHAPE), activation(SHAPE)], [activation(SHAPE)], activation="NONE")
    return graph, plan(graph, load_machine(F469), "tinyops", load_set("cmsis"))


def computes(program: Program) -> list[Compute]:
    return [task for task in program.tasks if isinstance(task, Compute)]


def without(program: Program, task: Compute) -> Program:
    rest = [t for t in program.tasks if t.id != task.id]
    return replace(program, tasks=tuple(replace(t, after=tuple(a for a in t.after if a != task.id)) for t in rest))


def changed(program: Program, task: Compute, **fields: object) -> Program:
    other = replace(task, **fields)  # type: ignore[arg-type]
    return replace(program, tasks=tuple(other if t.id == task.id else t for t in program.tasks))


def moved(program: Program, name: str, to: str) -> Program:
    spans = {b.name: b.span for b in program.header.buffers}
    buffers = tuple(
        replace(b, span=replace(spans[to], bytes=b.span.bytes)) if b.name == name else b for b in program.header.buffers
    )
    return replace(program, header=replace(program.header, buffers=buffers))


BROKEN: list[tuple[Callable[[Program], Program], str]] = [
    (lambda p: replace(p, tasks=()), r"no task computes rows 0 to 5 of operator 0 ADD"),
    (lambda p: without(p, computes(p)[-1]), r"no task computes rows 3 to 5 of operator 0 ADD"),
    (lambda p: without(p, computes(p)[0]), r"computes rows from 3 on, where 0 is the next one"),
    (lambda p: changed(p, computes(p)[0], operands=computes(p)[0].operands[1:]), r"its inputs are not those of"),
    (
        lambda p: changed(
            p,
            computes(p)[0],
            operands=tuple(replace(o, role="input0") if o.role == "input1" else o for o in computes(p)[0].operands),
        ),
        r"its inputs are not those of the model's operator, input0, input1",
    ),
    (lambda p: moved(p, "node0", "tensor0"), r"buffers '(tensor0|node0)' and '(tensor0|node0)' share bytes"),
]


@pytest.mark.parametrize(("breaks", "text"), BROKEN)
def test_a_program_that_does_not_compute_its_model(breaks: Callable[[Program], Program], text: str) -> None:
    graph, program = adding()
    with pytest.raises(ProgramError, match=text):
        replay(breaks(program), load_machine(F469), "emulate", model=graph)


def test_operators_after_their_producers() -> None:
    graph = load_model("ds-cnn")
    program = plan(graph, load_machine(F469), "internal", load_set("cmsis"))
    first, second, *rest = program.tasks
    with pytest.raises(ProgramError, match="reads what operator 0 CONV_2D computes, of which rows 0 to"):
        replay(replace(program, tasks=(second, first, *rest)), load_machine(F469), "emulate", model=graph)


def test_another_model_of_the_same_name_is_recognised_by_its_contents() -> None:
    graph, program = adding()
    other = replace(graph, sha256="0" * 64)
    with pytest.raises(ProgramError, match=r"another model \(small, sha256 -\.\.\.\) than small \(sha256 00000000"):
        replay(program, load_machine(F469), "emulate", model=other)


def test_the_stack_keeps_away_from_what_transfers_write() -> None:
    _, program = adding()
    machine = load_machine(F469)
    code = Span("flash", 0x0800_0000, 64)
    stack = stack_place(program, machine, code)
    transfer = next(t for t in program.tasks if isinstance(t, Transfer))
    there = replace(transfer, destination=replace(stack, bytes=transfer.source.bytes))
    busy = replace(program, tasks=tuple(there if t.id == transfer.id else t for t in program.tasks))
    assert stack_place(busy, machine, code).end <= stack.address


def test_what_is_free_is_counted_inside_the_region() -> None:
    graph, _ = adding()
    machine = load_machine(F746, {"memory.itcm.size": "256 B"})

    result = simulate(graph, machine, "external", fidelity="emulate", code="itcm")
    assert isinstance(result.does_not_fit, DoesNotFit)
    assert result.does_not_fit.available == 256


@pytest.mark.parametrize("policy", ["internal", "external", "tinyops"])
def test_a_broadcast_first_input(policy: str) -> None:
    small = Tensor(0, "c", (1, 1, 1, 4), "int8", Quantization((0.25,), (3,)), np.array([1, -7, 100, -128], np.int8))
    graph = one_operator("ADD", [replace(small), activation(SHAPE)], [activation(SHAPE)], activation="NONE")
    graph = replace(
        graph,
        tensors=tuple(replace(t, data=None if t.data is None else t.data.reshape(t.shape)) for t in graph.tensors),
    )
    assert simulate(graph, F469, policy).fits
    result = simulate(graph, F469, policy, fidelity="emulate")
    expected = LiteRT(write_tflite(graph)).run(*random_inputs(graph))[0]
    np.testing.assert_array_equal(result.outputs[0].values, expected)


def test_many_outputs() -> None:
    count = 150
    outputs = [activation((1, 1, 1, 1)) for _ in range(count)]
    graph = one_operator("SPLIT", [constant(3), activation((1, 1, 1, count))], outputs, num_splits=count)
    result = simulate(graph, F746, "internal", fidelity="emulate")
    values = random_inputs(graph)[0].reshape(-1)
    assert [int(o.values.reshape(-1)[0]) for o in result.outputs] == values.tolist()


def test_a_trace_planned_for_a_set_is_replayed_and_emulated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.jsonl"
    assert main(["plan", "ds-cnn", "--policy", "tinyops", "--kernels", "cmsis", "-o", str(path)]) == 0
    assert main(["replay", str(path), "--fidelity", "emulate", "--model", "ds-cnn"]) == 0
    assert "kernels cmsis, fidelity emulate" in capsys.readouterr().out

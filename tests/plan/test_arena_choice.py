"""Order, allocator and in-place results in programs: what they record, and that such programs compute the same."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from mcusim import load_machine, load_model
from mcusim.errors import ProgramError, UsageError
from mcusim.model.graph import Graph
from mcusim.plan import plan, plan_options
from mcusim.program import program_graph, read_program, write_program
from mcusim.program.program import Program
from mcusim.run_config.input_tensors import model_inputs
from mcusim.run_config.kernel_choice import resolve
from mcusim.verification.verification import Verification
from mcusim.verification.verified_emulation import Emulation
from mcusim.verification.verifier import Verifier
from tests.support.cases import sampled
from tests.support.graphs.tflm_graphs import random_network

MACHINE = load_machine("stm32f746g-disco")
KERNELS = resolve("reference", "emulate").compiled()
LARGER_INPUT_FIRST = (0, 1, 2, 4, 7, 22)  # seeds


def planned(graph: Graph, policy: str = "internal", **options: object) -> Program:
    return plan(graph, MACHINE, policy, KERNELS, plan_options(**options))  # type: ignore[arg-type]


def verified(program: Program, graph: Graph) -> Verification:
    ours = program_graph(program, graph)
    inputs = model_inputs(ours, None)
    return Verifier(program, MACHINE, lambda: Emulation(program, MACHINE, ours, KERNELS, inputs)).verify()


@pytest.mark.parametrize("policy", sampled(["tinyops", "internal"], 1))
def test_any_order_allocator_and_sharing_is_proved_and_computes_what_litert_does(policy: str) -> None:
    shared = 0
    for seed in LARGER_INPUT_FIRST:
        graph = random_network(4 + seed % 12, seed)
        order, allocator = ("default", "optimal")[seed % 2], ("greedy", "linear", "optimal")[seed % 3]
        program = planned(graph, policy, order=order, allocator=allocator, in_place=True)
        found = verified(program, graph)
        assert not found.wrong, f"seed {seed}: {found.wrong}"
        places = [(b.span.address, b.first, b.last) for b in program.header.buffers if b.kind == "activation"]
        shared += any(a == b and first == last for a, _, last in places for b, first, _ in places)
    assert shared > 2


def test_the_order_is_recorded_and_survives_a_file(tmp_path: Path) -> None:
    graph = load_model("figure-1")
    program = planned(graph, order="optimal", allocator="optimal")
    assert program.header.options["order"] == program.header.options["allocator"] == "optimal"
    assert sorted(program.header.options["operator_order"]) == list(range(len(graph.operators)))
    assert program.header.memory.activations == 4960 < planned(graph).header.memory.activations
    text = io.StringIO()
    write_program(program, text)
    (tmp_path / "p.jsonl").write_text(text.getvalue())
    again = read_program(tmp_path / "p.jsonl")
    assert again == program
    assert program_graph(again, graph).order == tuple(program.header.options["operator_order"])


def test_a_program_without_the_options_records_none_of_them() -> None:
    options = planned(load_model("figure-1")).header.options
    assert not {"order", "operator_order", "allocator", "in_place"} & set(options)


@pytest.mark.parametrize("order", [[0, 1], [0, 0, 1, 2, 3, 4, 5], [7, 1, 2, 3, 4, 5, 6]])
def test_an_order_of_other_operators_is_refused(order: list[int]) -> None:
    graph = load_model("figure-1")
    program = planned(graph, order="optimal")
    program.header.options["operator_order"][:] = order
    with pytest.raises(ProgramError, match="is no order of the 7 operators of figure-1"):
        program_graph(program, graph)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"allocator": "dynamic"}, "the dynamic allocator moves tensors while the network runs, which no program does"),
        ({"allocator": "best"}, "allocator = 'best': must be one of greedy, linear, optimal, offline"),
        ({"order": "best"}, 'unknown order "best"; there are default, optimal'),
        ({"allocator": "offline"}, "--allocator offline: figure-1 has no offline memory plan in its metadata"),
    ],
)
def test_what_cannot_be_planned_is_said(options: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        planned(load_model("figure-1"), **options)

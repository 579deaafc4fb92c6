"""Costs of opaque operators: how they are written, what they come to, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from mcusim.engine import execute
from mcusim.errors import ProgramError, UnsupportedError, UsageError
from mcusim.kernels import load_profile
from mcusim.machine import load_machine
from mcusim.model import Graph, Operator, load_model
from mcusim.model.operators import opaque
from mcusim.plan import plan, plan_options
from mcusim.program import check_program, read_program, write_program
from mcusim.program.program import Program
from mcusim.program.unknown_operators import (
    CostTerm,
    OpaqueCost,
    left_out,
    opaque_cycles,
    parse_costs,
    require_known,
    used_costs,
)
from mcusim.verification.proof import prove
from tests.support.graphs.small_graphs import activation, chain, one_operator
from tests.support.graphs.tflite_writer import write_tflite

MACHINE, PROFILE = load_machine("stm32f746g-disco"), load_profile("cmsis-2021-gcc9")
FOO = opaque("CUSTOM(foo)")
CUSTOM_BOXES = "TFLite_Detection_PostProcess"


def planned(graph: Graph, **costs: str) -> Program:
    named = {name.replace("_", ""): text for name, text in costs.items()}
    return plan(graph, MACHINE, "internal", PROFILE, plan_options(costs=parse_costs(named)))


@pytest.mark.parametrize(
    ("text", "size", "cycles"),
    [
        ("12 cycles/B", 3, 36),
        ("0.5 cycles/B", 3, 2),
        ("5000 cycles", 3, 5000),
        ("1 cycle", 3, 1),
        (" 7cycles / B ", 2, 14),
        ("9 cycles/B of input0 + 2 cycles/B of output0 + 100 cycles", 10, 190),
    ],
)
def test_costs_as_they_are_written(text: str, size: int, cycles: int) -> None:
    assert OpaqueCost.parse("foo", text).of({"input0": size, "output0": 0}) == cycles
    assert OpaqueCost((CostTerm(Fraction(1, 3), True),)).of({"input0": 1, "output0": 3}) == 2  # rounded up


@pytest.mark.parametrize(
    "text",
    ["", "12", "cycles", "-1 cycles", "1e3 cycles", "12 cycles/KiB", "12 ms", "nan cycles", "1,000 cycles", "9" * 30,
     "1000000000001 cycles", "1 cycles/B " * 20, "١ cycles", "1 cycle +", "+".join(["1 cycle"] * 9),
     "1 cycles/B of output", "1 cycles of input0"],
)  # fmt: skip
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"^cost of foo: .{0,80} (is not like|is more than 1,000,000,000,000 cycles)"):
        OpaqueCost.parse("foo", text)


def test_names_with_and_without_custom() -> None:
    types = ("CUSTOM(foo)", "RFFT2D")
    assert used_costs(types, (("foo", "1 cycle"), ("RFFT2D", "2 cycles"))) == {
        "CUSTOM(foo)": "1 cycle", "RFFT2D": "2 cycles",
    }  # fmt: skip
    require_known(types, (("foo", ""), ("CUSTOM(foo)", "")))
    with pytest.raises(UsageError, match=r"--cost RFFT: .* are CUSTOM\(foo\), RFFT2D; did you mean RFFT2D\?"):
        require_known(types, (("RFFT", "1 cycle"),))
    with pytest.raises(UsageError, match="there are no opaque ones"):
        require_known((), (("RFFT", "1 cycle"),))


def test_a_cost_is_what_the_operator_takes() -> None:
    graph = chain("RELU", FOO, "RELU")
    free, costed = planned(graph), planned(graph, foo="12 cycles/B")
    runs = [execute(program, MACHINE, PROFILE) for program in (free, costed)]
    assert [left_out(program.header) for program in (free, costed)] == [("CUSTOM(foo)",), ()]
    assert costed.header.options["costs"] == {"CUSTOM(foo)": "12 cycles/B"} and "costs" not in free.header.options
    assert any("totals are without CUSTOM(foo)" in text for text in free.header.warnings)
    assert not any("totals" in text for text in costed.header.warnings)
    assert runs[0].operators[1].cycles == 0
    overhead = runs[1].operators[1].by_cause["runtime"]
    assert overhead > 0 and runs[1].operators[1].cycles == 12 * 200 + overhead
    assert runs[1].cycles - runs[0].cycles == 12 * 200 + overhead


def test_custom_operators_of_the_interpreter_have_a_cost_by_default(tmp_path: Path) -> None:
    """On each core its own; what a user says goes first. A file with them needs no option."""
    window = opaque("CUSTOM(SignalWindow)")
    graph = chain("RELU", window, "RELU")
    program, other = planned(graph), planned(graph, SignalWindow="1 cycle")
    assert program.header.options["costs"] == {"CUSTOM(SignalWindow)": "5 cycles/B"} and not left_out(program.header)
    assert any("CUSTOM(SignalWindow): 5 cycles/B, emulated (" in text for text in program.header.warnings)
    assert other.header.options["costs"] == {"CUSTOM(SignalWindow)": "1 cycle"} and not other.header.warnings
    assert opaque_cycles(program) == {1: 5 * 200}
    compiled = plan_options(runtime="tinyengine")
    with pytest.raises(UnsupportedError, match=r"^code that tinyengine compiles has no kernel for CUSTOM\(SignalW"):
        plan(graph, MACHINE, "internal", load_profile("tinyengine-gcc12"), compiled)
    own = plan_options(runtime="tinyengine", costs=parse_costs({"SignalWindow": "2 cycles"}))
    assert opaque_cycles(plan(graph, MACHINE, "internal", load_profile("tinyengine-gcc12"), own)) == {1: 2}
    slower = plan(graph, load_machine("stm32f469i-disco"), "internal", PROFILE, plan_options())
    assert opaque_cycles(slower) == {1: 6 * 200}
    boxes = opaque("CUSTOM(TFLite_Detection_PostProcess)")
    both = one_operator(boxes, [activation((1, 10, 4)), activation((1, 10, 3))], [activation((1, 5))])
    relu = Operator(1, "RELU", (2,), (3,))
    tensors = (*both.tensors, replace(both.tensors[2], index=3, name="end"))
    both = replace(both, tensors=tensors, operators=(*both.operators, relu), outputs=(3,))
    assert opaque_cycles(planned(both)) == {0: 310 * 40 + 11 * 30}
    path = tmp_path / "boxes.tflite"
    path.write_bytes(write_tflite(replace(both, operators=(replace(both.operators[0], type=CUSTOM_BOXES), relu))))
    assert load_model(path).operators[0].type == boxes


def test_what_is_opaque_alone_has_no_time() -> None:
    for program in (planned(chain(FOO)), planned(chain(FOO, FOO))):
        with pytest.raises(UnsupportedError, match=r"has opaque operators alone \(CUSTOM\(foo\)\)"):
            execute(program, MACHINE, PROFILE)
    costs = [
        execute(planned(chain(FOO, FOO), foo=text), MACHINE, PROFILE).by_cause for text in ("10 cycles", "0 cycles")
    ]
    assert [cost["compute"] for cost in costs] == [20, 0] and costs[0]["runtime"] == costs[1]["runtime"] > 0
    assert execute(planned(chain(FOO), foo="10 cycles"), MACHINE, PROFILE).by_cause["compute"] == 10


def test_costs_of_a_program_are_checked_again() -> None:
    program = planned(chain("RELU", FOO), foo="1 cycle")

    def costing(text: str) -> Program:
        return replace(program, header=replace(program.header, options={"costs": {"CUSTOM(foo)": text}}))

    with pytest.raises(ProgramError, match="is not like"):
        opaque_cycles(costing("1 second"))
    with pytest.raises(
        ProgramError, match=r"operator 1 CUSTOM\(foo\): its cost is of input7, and a call of it has inp"
    ):
        opaque_cycles(costing("1 cycles/B of input7"))
    with pytest.raises(ProgramError, match="more than 1,000,000,000,000 cycles together"):
        opaque_cycles(costing("1000000000000 cycles/B"))
    first, second = program.tasks
    lying = replace(second, geometry=replace(second.geometry, type=opaque("other")))  # type: ignore[union-attr,call-arg]
    with pytest.raises(ProgramError, match=r"task 1: its geometry is of 'UNKNOWN:other', not 'UNKNOWN:CUSTOM\(foo\)'"):
        opaque_cycles(replace(program, tasks=(first, lying)))


def test_inputs_of_any_sizes(tmp_path: Path) -> None:
    """The first input is not the largest: nothing is known of what an opaque operator reads."""
    graph = one_operator(FOO, [activation((1, 10)), activation((1, 5000))], [activation((1, 7)), activation((1, 900))])
    relu = Operator(1, "RELU", (2,), (4,))
    tensors = (*graph.tensors, replace(graph.tensors[2], index=4, name="end"))
    program = planned(
        replace(graph, tensors=tensors, operators=(*graph.operators, relu), outputs=(3, 4)), foo="1 cycles/B"
    )
    write_program(program, tmp_path / "program.jsonl")
    read = read_program(tmp_path / "program.jsonl")
    check_program(read, MACHINE)
    assert opaque_cycles(read) == {0: 10 + 5000 + 7 + 900}
    assert not prove(read, MACHINE)

"""Odd graphs as files through `mcusim reorder` and `mcusim memory`: the right answer, or one error and no file."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mcusim.commands.app import main
from mcusim.model import Graph, Operator, load_model
from mcusim.plan.liveness.lifetimes import usage_bytes
from mcusim.run_config.input_tensors import random_inputs
from tests.support.cases import only_with_all_cases
from tests.support.graphs.litert import LiteRT
from tests.support.graphs.random_dags import cell_network, wide_network
from tests.support.graphs.small_graphs import activation, constant
from tests.support.graphs.tflite_writer import write_tflite
from tests.support.programs.order_oracles import least_by_enumeration

Op = tuple[str, tuple[int, ...], tuple[int, ...]]
AXIS = 20  # the tensor that holds a SPLIT's axis


def graph(sizes: list[int], operators: list[Op], inputs: tuple[int, ...], outputs: tuple[int, ...]) -> Graph:
    """Tensors 0, 1, ... of ``sizes`` bytes, up to the constant at ``AXIS``."""
    shapes = [*sizes, *([1] * (AXIS - len(sizes)))]
    tensors = [replace(activation((size,)), index=i, name=f"t{i}") for i, size in enumerate(shapes)]
    tensors.append(replace(constant(np.int32(0)), index=AXIS, name="axis"))
    made = [Operator(i, kind, *ends, {"num_splits": len(ends[1])}) for i, (kind, *ends) in enumerate(operators)]
    return Graph("odd", tuple(tensors), tuple(made), inputs, outputs, "")


def empty(index: int, *, at: Graph) -> Graph:
    """``at`` with its tensor ``index`` of no elements."""
    tensors = list(at.tensors)
    tensors[index] = replace(tensors[index], shape=(0,))
    return replace(at, tensors=tuple(tensors))


CHAIN = graph([8, 8, 8], [("RELU", (0,), (1,)), ("RELU", (1,), (2,))], (0,), (2,))
BROKEN: dict[str, tuple[Graph, str]] = {
    "cycle of two": (
        graph([8] * 4, [("ADD", (0, 2), (1,)), ("RELU", (1,), (2,)), ("RELU", (1,), (3,))], (0,), (3,)),
        "operator 0 ADD: reads tensor 2 't2' that operator 1 produces, which needs this operator's result: a cycle",
    ),
    "longer cycle": (
        graph([8] * 5, [("ADD", (0, 4), (1,)), ("RELU", (1,), (2,)), ("RELU", (2,), (3,)), ("RELU", (3,), (4,))],
              (0,), (4,)),
        "operator 0 ADD: reads tensor 4 't4' that operator 3 produces, which needs this operator's result: a cycle",
    ),
    "an order that does not work": (
        graph([8] * 3, [("RELU", (2,), (1,)), ("RELU", (0,), (2,))], (0,), (1,)),
        "operator 0 RELU: reads tensor 2 't2' before operator 1 produces it; operators must be in an order in which",
    ),
    "reads its own output": (
        graph([8] * 2, [("ADD", (0, 1), (1,))], (0,), (1,)),
        "operator 0 ADD: reads tensor 1 't1' before anything produces it: it is its own output",
    ),
    "a tensor that nothing produces": (
        graph([8] * 4, [("ADD", (0, 3), (1,))], (0,), (1,)),
        "operator 0 ADD: reads tensor 3 't3' that nothing produces: it is no graph input, no constant and no operator",
    ),
    "an input out of range": (
        graph([8] * 2, [("ADD", (0, 77), (1,))], (0,), (1,)), "operator 0 ADD: tensor 77 does not exist, there are 21",
    ),
    "an output out of range": (
        graph([8] * 2, [("RELU", (0,), (-1,))], (0,), (1,)), "operator 0 RELU: tensor -1 does not exist, there are 21",
    ),
    "a graph output that nothing produces": (
        replace(CHAIN, outputs=(2, 7)), "no operator produces the graph's output tensor 7 't7'",
    ),
    "a graph output out of range": (replace(CHAIN, outputs=(2, 99)), "graph output 99 does not exist, there are 21"),
    "a graph input out of range": (replace(CHAIN, inputs=(0, -5)), "graph input -5 does not exist, there are 21"),
    "produced twice": (
        graph([8] * 2, [("RELU", (0,), (1,)), ("TANH", (0,), (1,))], (0,), (1,)),
        "operator 1 TANH: writes tensor 1 't1', which is already there: the output of operator 0",
    ),
    "writes an input": (
        graph([8] * 2, [("RELU", (0,), (1,)), ("TANH", (1,), (0,))], (0,), (1,)),
        "operator 1 TANH: writes tensor 0 't0', which is already there: a graph input",
    ),
    "writes a constant": (
        graph([8] * 2, [("RELU", (0,), (AXIS,))], (0,), (0,)),
        "writes tensor 20 'axis', which is already there: a constant",
    ),
    "one tensor for two outputs": (
        graph([8, 4], [("SPLIT", (AXIS, 0), (1, 1))], (0,), (1,)), "writes a tensor twice: outputs [1, 1]",
    ),
    "no output of an operator": (graph([8] * 2, [("RELU", (0,), ())], (0,), (0,)), "operator 0 RELU: it has no output"),
    "an empty result": (empty(1, at=CHAIN), "operator 0 RELU: tensor 1 't1' has no elements"),
    "an empty input": (empty(0, at=CHAIN), "graph input 't0' is a constant or empty"),
    "no operators": (replace(CHAIN, operators=(), outputs=(0,)), "has no operators"),
    "no graph inputs": (replace(CHAIN, inputs=()), "the graph has no input"),
    "no graph outputs": (replace(CHAIN, outputs=()), "the graph has no output"),
}  # fmt: skip


def refused(arguments: list[str], text: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, one line that names the file, and nothing written."""
    before = sorted(folder.iterdir())
    assert main(arguments) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1 and err.startswith(f"error: {arguments[1]}: ")
    assert text in err
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("case", BROKEN)
def test_what_cannot_run_is_one_error(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    broken, text = BROKEN[case]
    path = tmp_path / "odd.tflite"
    path.write_bytes(write_tflite(broken))
    for command in (["reorder", str(path)], ["memory", str(path), "--order", "optimal", "--in-place"]):
        refused([*command, "-o", str(tmp_path / "out.tflite")], text, tmp_path, capsys)


def test_of_several_entry_points_the_first_is_reordered(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "odd.tflite"
    path.write_bytes(write_tflite(CHAIN, subgraphs=2))
    assert main(["reorder", str(path), "-o", str(tmp_path / "out.tflite")]) == 0
    assert (tmp_path / "out.tflite").read_bytes() == path.read_bytes()  # there is one order
    capsys.readouterr()
    refused(["run", str(path)], "has 2 subgraphs, 1 of them other entry points; one is run", tmp_path, capsys)


SPLIT_OFF = [("SPLIT", (AXIS, 0), (1, 2)), ("RELU", (1,), (3,)), ("RELU", (2,), (4,)), ("ADD", (3, 4), (5,))]
# the bytes at each step as stored, and the least peak
ODD: dict[str, tuple[Graph, list[int], int]] = {
    "two parts that share nothing": (
        graph([4, 40, 30, 3, 1], [("a", (0,), (2,)), ("b", (1,), (3,)), ("c", (2,), (4,))], (0, 1), (3, 4)),
        [74, 73, 34], 47,
    ),
    "outputs of one operator": (graph([8, 4, 4, 4, 4, 4], SPLIT_OFF, (0,), (5,)), [16, 12, 12, 12], 16),
    "an output of a SPLIT nobody reads": (
        graph([8, 4, 4, 4], [("SPLIT", (AXIS, 0), (1, 2)), ("RELU", (1,), (3,))], (0,), (3,)), [16, 8], 16,
    ),
    "an input that is an output": (replace(CHAIN, outputs=(2, 0)), [16, 24], 24),
    "only an input is an output": (replace(CHAIN, outputs=(0,)), [16, 24], 24),
    "an output that is read": (replace(CHAIN, outputs=(1, 2)), [16, 16], 16),
    "an output named twice": (replace(CHAIN, outputs=(2, 2)), [16, 16], 16),
    "an input nobody reads": (replace(CHAIN, inputs=(0, 5)), [17, 16], 17),
    "a result nobody reads": (replace(CHAIN, outputs=(1,)), [16, 16], 16),
    "one tensor read twice": (graph([8] * 2, [("ADD", (0, 0), (1,))], (0,), (1,)), [16], 16),
}  # fmt: skip


def answered(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    assert main([*arguments, "--json", "-"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("case", ODD)
def test_what_is_odd_but_runs(case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    odd, usage, peak = ODD[case]
    path, out = tmp_path / "odd.tflite", tmp_path / "out.tflite"
    path.write_bytes(write_tflite(odd))
    found = answered(["reorder", str(path), "-o", str(out)], capsys)
    assert found["usage_before"] == usage
    assert (found["peak_after"], found["optimal"]) == (peak, True)
    assert peak == least_by_enumeration(load_model(path, True)) == max(usage_bytes(load_model(out, True)))
    plan = answered(["memory", str(path), "--order", "optimal"], capsys)
    assert (plan["peak_before"], plan["peak_after"], plan["optimal"]) == (max(usage), peak, True)
    if not any(op.type.startswith("UNKNOWN") for op in load_model(path, True).operators):
        given = random_inputs(odd)
        own, new = (LiteRT(one.read_bytes()).run(*given) for one in (path, out))
        assert all((a == b).all() for a, b in zip(own, new, strict=True))


def as_file(network: Graph, path: Path) -> str:
    """``network`` with its convolutions as custom operators, which have no shape rule."""
    made = (
        replace(op, type="cell" if op.type == "CONV_2D" else op.type, options={"axis": 0}) for op in network.operators
    )
    path.write_bytes(write_tflite(replace(network, operators=tuple(made))))
    return str(path)


@only_with_all_cases
@pytest.mark.parametrize("count", [270, 560])
def test_a_large_cell_network_is_proven(count: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = as_file(cell_network(count, 1), tmp_path / "cells.tflite"), tmp_path / "out.tflite"
    assert main(["reorder", path, "-o", str(out)]) == 0
    shown = capsys.readouterr().out
    found = re.search(r"no order needs less \((\d+\.\d+) s\)", shown)
    assert found is not None and float(found[1]) < 60
    assert len(load_model(out, True).operators) >= count


@only_with_all_cases
def test_out_of_time_the_gap_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = as_file(wide_network(300, 30, 0), tmp_path / "wide.tflite"), tmp_path / "out.tflite"
    assert main(["reorder", path, "-o", str(out), "--seconds", "1"]) == 0
    shown = capsys.readouterr().out
    assert re.search(r"no order needs less than [\d,]+ B: a gap of \d+\.\d% \(\d+\.\d\d s\)", shown)
    assert max(usage_bytes(load_model(out, True))) < max(usage_bytes(load_model(path, True)))

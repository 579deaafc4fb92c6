"""Files with WHILE and IF: read for their memory, which is planned as TensorFlow Lite Micro plans it."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest
import tflite

import mcusim
from mcusim.commands.app import main
from mcusim.errors import ModelError, UnsupportedError
from mcusim.model import Graph, Operator, Tensor, load_model
from tests.support.errors import one_error
from tests.support.graphs.small_graphs import activation, constant
from tests.support.graphs.tflite_writer import Unchecked
from tests.support.graphs.tflm import TFLM

COUNT, FLAG = Tensor(0, "count", (1,), "int32"), Tensor(0, "flag", (1,), "bool")


class Several(Unchecked):
    """Writes each graph as a subgraph; WHILE and IF have the option ``runs``."""

    def __init__(self, parts: list[Graph]) -> None:
        tensors = tuple(tensor for part in parts for tensor in part.tensors)
        super().__init__(replace(parts[0], tensors=tensors), 1, 3, 0)
        self.parts = parts

    def subgraphs(self) -> list[int]:
        result, buffer = [], 1
        for number, part in enumerate(self.parts):
            tensors = [self.table(tensor, buffer + i) for i, tensor in enumerate(part.tensors)]
            operators = [self._operator(op) for op in part.operators]
            result.append(self.subgraph_table(f"s{number}", tensors, operators, part.inputs, part.outputs))
            buffer += len(tensors)
        return result

    def _options(self, op: Operator) -> tuple[str, int]:
        if "runs" not in op.options:
            return super()._options(op)
        b, (first, second) = self.builder, op.options["runs"]
        if op.type == "WHILE":
            tflite.WhileOptionsStart(b)
            tflite.WhileOptionsAddCondSubgraphIndex(b, first)
            tflite.WhileOptionsAddBodySubgraphIndex(b, second)
            return "WhileOptions", int(tflite.WhileOptionsEnd(b))
        tflite.IfOptionsStart(b)
        tflite.IfOptionsAddThenSubgraphIndex(b, first)
        tflite.IfOptionsAddElseSubgraphIndex(b, second)
        return "IfOptions", int(tflite.IfOptionsEnd(b))


class Part:
    """A subgraph that grows."""

    def __init__(self, *inputs: Tensor) -> None:
        self.tensors: list[Tensor] = []
        self.operators: list[Operator] = []
        self.inputs = tuple(self.add(tensor) for tensor in inputs)

    def add(self, tensor: Tensor) -> int:
        index = len(self.tensors)
        self.tensors.append(replace(tensor, index=index, name=f"t{index}"))
        return index

    def op(self, kind: str, sources: tuple[int, ...], *results: Tensor, **options: object) -> tuple[int, ...]:
        outputs = tuple(self.add(result) for result in results)
        self.operators.append(Operator(len(self.operators), kind, sources, outputs, options))
        return outputs

    def graph(self, *outputs: int) -> Graph:
        return Graph("several", tuple(self.tensors), tuple(self.operators), self.inputs, outputs, "")


def chained(part: Part, source: int, rng: random.Random) -> int:
    """A few operators on a row; some results are read twice."""
    row = part.tensors[source]
    for _ in range(rng.randrange(4)):
        [relu] = part.op("RELU", (source,), row)
        [source] = part.op("ADD", (source, relu), row, activation="NONE") if rng.random() < 0.5 else (relu,)
    return source


def network(seed: int) -> list[Graph]:
    """A loop, and in its body a branch; rows before, in and behind them, one across all."""
    rng = random.Random(seed)
    row = activation((1, rng.randrange(20, 400)))
    top, cond, body = Part(row, FLAG), Part(COUNT, row, FLAG), Part(COUNT, row, FLAG)
    start = top.add(constant([0]))
    before = chained(top, 0, rng)
    runs = top.op("WHILE", (start, before, 1), COUNT, row, FLAG, runs=(1, 2))
    after = chained(top, runs[1], rng)
    [end] = top.op("ADD", (after, before), row, activation="NONE")
    [less] = cond.op("LESS", (0, cond.add(constant([3]))), FLAG)
    [count] = body.op("ADD", (0, body.add(constant([1]))), COUNT, activation="NONE")
    branch = body.op("IF", (2, chained(body, 1, rng)), row, runs=(3, 4))
    sides = []
    for _ in range(2):
        side = Part(row)
        sides.append(side.graph(chained(side, side.op("RELU", (0,), row)[0], rng)))
    return [top.graph(end), cond.graph(less), body.graph(count, chained(body, branch[0], rng), 2), *sides]


@pytest.mark.parametrize("seed", range(6))
def test_the_head_of_loops_and_branches(seed: int, tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(Several(network(seed)).write())
    assert mcusim.plan_memory(path).tflm_head == TFLM(path.read_bytes()).head


def test_what_a_user_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(Several(network(1)).write())
    assert main(["run", str(path)]) == 2
    error = one_error(capsys)
    assert "WHILE: runs subgraphs 1 and 2; a network of one subgraph is run: unroll loops when converting" in error
    for command in (["inspect"], ["memory", "--machine", "nucleo-g474re"]):
        assert main([command[0], str(path), *command[1:]]) == 0
        captured = capsys.readouterr()
        text = " ".join(captured.out.split())
        assert "warning: what a WHILE repeats, and both sides of an IF, count once in MACs" in text
        assert "UNKNOWN" not in text and max(map(len, captured.out.splitlines())) <= 80
    for words in (["memory", "--order", "optimal"], ["reorder", "-o", "x.tflite"], ["memory", "--in-place", "-o", "x"]):
        assert main([words[0], str(path), *words[1:]]) == 2
        assert "runs subgraphs: " in one_error(capsys)
    assert main(["memory", str(path), "--runtime", "tinyengine"]) == 2
    assert "WHILE: runs subgraphs 1 and 2" in one_error(capsys)


def test_other_entry_points_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "model.tflite"
    [main_part, *_], side = network(2), Part(activation((1, 50)))
    plain = Part(activation((1, 100)))
    graph = plain.graph(*plain.op("RELU", (0,), activation((1, 100))))
    path.write_bytes(Several([graph, side.graph(*side.op("RELU", (0,), activation((1, 50))))]).write())
    with pytest.raises(UnsupportedError, match="has 2 subgraphs, 1 of them other entry points; one is run"):
        load_model(path)
    read = load_model(path, strict=False)
    assert len(read.operators) == 1 and read.warnings == ("subgraphs that nothing runs are left out: 1",)
    assert main_part.operators


@pytest.mark.parametrize(
    ("runs", "error"),
    [
        ((1, 9), "it runs subgraph 9; the file has 1 to 4 besides its own"),
        ((0, 2), "it runs subgraph 0"),
        ((1, 1), "subgraph 1 is run by several operators"),
        ((3, 2), "subgraph 3 is run by several operators"),
    ],
)
def test_subgraphs_that_cannot_be(runs: tuple[int, int], error: str, tmp_path: Path) -> None:
    top, *others = network(3)
    operators = tuple(replace(op, options={"runs": runs}) if op.type == "WHILE" else op for op in top.operators)
    path = tmp_path / "model.tflite"
    path.write_bytes(Several([replace(top, operators=operators), *others]).write())
    with pytest.raises(ModelError, match=error):
        load_model(path, strict=False)

"""Resource variables: handles and a second subgraph become state of the graph, and are written again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from mcusim.errors import ModelError, UnsupportedError
from mcusim.model import Graph, Operator, Tensor, load_model
from mcusim.model.graph import initial_values
from mcusim.model.reordered import file_order, with_order
from mcusim.model.tflite.offline_plan import with_offline_plan
from mcusim.model.tflite.tflite_writer import VariablesWriter, Writer, write_tflite
from mcusim.plan.arena import arena_head
from mcusim.plan.ordering import optimal_order
from tests.support.graphs.round_trip import assert_round_trip
from tests.support.graphs.streaming_graphs import Stream, ring, wake_word
from tests.support.graphs.tflm import TFLM
from tests.support.paths import shared_model


def read(data: bytes, folder: Path) -> Graph:
    path = folder / "x.tflite"
    path.write_bytes(data)
    return load_model(path)


def test_a_written_network_reads_back(tmp_path: Path) -> None:
    graph = wake_word()
    assert_round_trip(graph, tmp_path)
    found = read(write_tflite(graph), tmp_path)
    assert found.evaluated == (0, 1, 2), "CALL_ONCE and two handles"
    for mine, theirs in zip(graph.tensors, found.tensors, strict=True):
        if mine.variable:
            assert np.array_equal(initial_values(mine), initial_values(theirs))


def test_a_real_network() -> None:
    graph = load_model(shared_model("mww1_okay_nabu.tflite"))
    states = [t for t in graph.tensors if t.variable]
    assert (len(graph.operators), len(graph.evaluated), len(states)) == (78, 12, 11)
    assert sum(t.bytes for t in states) == 8024 and all((initial_values(t) == -128).all() for t in states)
    assert arena_head(graph) == 21_216


def test_tflm_runs_reordered_and_planned_files_as_before(tmp_path: Path) -> None:
    """Reads stay before the assignment that follows them, the first subgraph's evaluated operators come first."""
    graph = wake_word(3)
    data = write_tflite(graph)
    order = optimal_order(graph, 5).order
    assert order != tuple(range(len(order))), "there is something to see"
    planned = with_offline_plan(data, "x", (-1,) * len(graph.tensors))
    runs = [TFLM(d) for d in (data, with_order(data, "x", file_order(read(data, tmp_path), order)), planned)]
    rng, seen = np.random.default_rng(0), set()
    for _ in range(5):
        values = rng.integers(-128, 128, (1, 1, 1, 8), np.int8)
        first, *others = (run.run(values)[0].tobytes() for run in runs)
        assert others == [first, first]
        seen.add(first)
    assert len(seen) == 5 and runs[0].head == arena_head(graph)


def test_operators_of_one_variable_keep_their_order() -> None:
    s = Stream()
    source = s.tensor((1, 2, 1, 4))
    state = s.variable((1, 2, 1, 4), None)
    first = s.op("READ_VARIABLE", [state], (1, 2, 1, 4))
    s.op("ASSIGN_VARIABLE", [source], out=state)
    second = s.op("READ_VARIABLE", [state], (1, 2, 1, 4))
    out = s.op("SUB", [first, second], (1, 2, 1, 4), activation="NONE")
    assert optimal_order(s.graph((source,), (out,)), 5).order == (0, 1, 2, 3)


class Odd(Writer):
    """A file whose second subgraph is not one that fills variables."""

    def __init__(self, graph: Graph, target: int = 1, run: str = "", drop: bool = False) -> None:
        super().__init__(graph)
        self.variables = OddVariables(self, target, run, drop)


class OddVariables(VariablesWriter):
    def __init__(self, writer: Writer, target: int, run: str, drop: bool) -> None:
        super().__init__(writer)
        self.target, self.run, self.drop = target, run, drop

    def call(self, target: int) -> int:
        return super().call(self.target)

    def second_operators(self, value: Tensor, place: int) -> list[int]:
        found = super().second_operators(value, place)
        if self.run:
            found.append(self.writer.operator((self.run, 1), (2 * place + 1,), (2 * place + 1,)))
        return found[:1] if self.drop else found


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": 0}, "operator 0 CALL_ONCE: it calls subgraph 0, which it is part of"),
        ({"target": 7}, "operator 0 CALL_ONCE: subgraph 7 does not exist, the file has 2"),
        ({"target": -1}, "subgraph -1 does not exist"),
        ({"run": "RELU"}, "subgraph 1, which CALL_ONCE runs, has operator 2 RELU; only constants"),
        ({"run": "CALL_ONCE"}, "operator 2 CALL_ONCE: has the inputs"),
    ],
)
def test_second_subgraphs_that_are_refused(options: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as error:
        read(Odd(wake_word(), **options).write(), tmp_path)  # type: ignore[arg-type]
    assert message in str(error.value) and "\n" not in str(error.value)


def test_a_variable_without_an_initial_value_begins_with_its_zero_point(tmp_path: Path) -> None:
    found = read(Odd(wake_word(), drop=True).write(), tmp_path)
    states = [t for t in found.tensors if t.variable]
    assert [t.initial for t in states] == [None, None] and (initial_values(states[0]) == -3).all()


def changed(graph: Graph, index: int, **changes: object) -> Graph:
    operators = list(graph.operators)
    operators[index] = replace(operators[index], **changes)
    return replace(graph, operators=tuple(operators))


def test_variables_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    s = Stream()
    source = s.tensor((1, 1, 1, 4))
    state = s.variable((1, 3, 1, 4), None)
    read_only = s.op("READ_VARIABLE", [state], (1, 3, 1, 4))
    with pytest.raises(ModelError, match=r"variable 'state1' is read and never assigned"):
        read(Odd(s.graph((source,), (read_only,)), drop=True).write(), tmp_path)
    s.operators.append(Operator(1, "ASSIGN_VARIABLE", (source,), (state,)))
    with pytest.raises(ModelError, match=r"variable 'state1' is int8\[1, 3, 1, 4\] and int8\[1, 1, 1, 4\]"):
        read(Odd(s.graph((source,), (read_only,)), drop=True).write(), tmp_path)


def test_state_is_no_data_for_other_operators() -> None:
    s = Stream()
    source = s.tensor((1, 1, 1, 4))
    both = ring(s, source, 2, 4, None)
    state = next(t.index for t in s.tensors if t.variable)
    for ends in (((state,), (both,)), ((source,), (state,))):
        with pytest.raises(ModelError, match="is a variable"):
            write_tflite(s.graph(*ends))
    s.op("RELU", [state], (1, 2, 1, 4))
    with pytest.raises(ModelError, match=r"operator 4 RELU: reads tensor \d+ 'state\d', a variable \(state\), as data"):
        write_tflite(s.graph((source,), (both,)))


def test_several_entry_points_are_refused_as_before(tmp_path: Path) -> None:
    from tests.support.graphs.small_graphs import activation, one_operator
    from tests.support.graphs.tflite_writer import write_tflite as unchecked

    data = unchecked(one_operator("RELU", [activation((1, 8))], [activation((1, 8))]), subgraphs=2)
    with pytest.raises(UnsupportedError, match="has 2 subgraphs"):
        read(data, tmp_path)

"""Timelines: in place, views, weights in RAM; and whatever the allocators make of them is sound at every step."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcusim.errors import UsageError
from mcusim.model import Graph, Operator, Tensor, load_model
from mcusim.plan.allocators import ALLOCATORS, Placed, allocate
from mcusim.plan.allocators.greedy import ArenaBlock
from mcusim.plan.liveness.accounting import WEIGHTS, Accounting, sharing
from mcusim.plan.liveness.lifetimes import lifetimes
from mcusim.plan.liveness.timeline import Timeline, timeline
from mcusim.plan.ordering import optimal_order
from tests.support.cases import sample_size
from tests.support.graphs.random_dags import random_dag
from tests.support.paths import shared_model

IN_PLACE = Accounting(in_place=True)


def network(
    shapes: list[tuple[int, ...]], rows: list[tuple[str, tuple[int, ...], int]], outputs: tuple[int, ...]
) -> Graph:
    """int8 tensors of ``shapes``, the first an input; operators (type, inputs, output)."""
    tensors = tuple(Tensor(i, f"t{i}", shape, "int8") for i, shape in enumerate(shapes))
    operators = tuple(Operator(i, kind, inputs, (output,)) for i, (kind, inputs, output) in enumerate(rows))
    return Graph("by hand", tensors, operators, (0,), outputs, "")


def shares(graph: Graph) -> list[tuple[int, ...]]:
    return [r.tensors for r in timeline(graph, None, IN_PLACE).residents]


def test_add_takes_the_place_of_the_input_that_dies() -> None:
    rows = [("CONV_2D", (0,), 1), ("CONV_2D", (1,), 2), ("ADD", (1, 2), 3), ("RELU", (3,), 4)]
    graph = network([(8,), (10,), (10,), (10,), (10,)], rows, (4,))
    assert timeline(graph).usage == (18, 20, 30, 20)
    found = timeline(graph, None, IN_PLACE)
    assert found.usage == (18, 20, 20, 10) and found.bottleneck == 1
    assert [r.tensors for r in found.residents] == [(0,), (1, 3, 4), (2,)]


@pytest.mark.parametrize(
    ("shapes", "kind", "outputs"),
    [
        ([(8,), (10,), (10,)], "RELU", (1, 2)),  # the input is an output of the network
        ([(8,), (10,), (5,)], "RELU", (2,)),  # other bytes
        ([(8,), (2, 5), (5, 2)], "ADD", (2,)),  # another shape
        ([(8,), (10,), (10,)], "SOFTMAX", (2,)),  # not element by element
    ],
)
def test_what_is_not_done_in_place(shapes: list[tuple[int, ...]], kind: str, outputs: tuple[int, ...]) -> None:
    graph = network(shapes, [("CONV_2D", (0,), 1), (kind, (1,), 2)], outputs)
    assert shares(graph) == [(0,), (1,), (2,)]


def test_an_input_that_is_read_later_is_not_overwritten() -> None:
    graph = network([(9,), (9,), (9,)], [("RELU", (0,), 1), ("ADD", (0, 1), 2)], (2,))
    assert shares(graph) == [(0, 2), (1,)]


def test_a_broadcast_reader_of_the_same_bytes_forbids_it() -> None:
    """The view of the host is read at other places than it is overwritten."""
    rows = [("CONV_2D", (0,), 1), ("RESHAPE", (1,), 2), ("ADD", (1, 2), 3)]
    assert shares(network([(4,), (4, 1), (1, 4), (4, 4)], rows, (3,))) == [(0,), (1, 2), (3,)]
    assert shares(network([(4,), (4,), (1, 4), (1, 4)], rows, (3,)))[1:] == [(1, 2), (3,)]


def test_a_view_lives_as_long_as_any_reader_of_its_bytes() -> None:
    rows = [("CONV_2D", (0,), 1), ("RESHAPE", (1,), 2), ("CONV_2D", (2,), 3), ("CONCATENATION", (1, 3), 4)]
    graph = network([(7,), (2, 5), (10,), (3,), (13,)], rows, (4,))
    assert timeline(graph).usage == (17, 20, 23, 26)
    found = timeline(graph, None, IN_PLACE)
    assert found.usage == (17, 10, 13, 26) and found.residents[1].tensors == (1, 2)


def test_a_view_of_a_view_that_is_overwritten() -> None:
    rows = [("RESHAPE", (0,), 1), ("RESHAPE", (1,), 2), ("RELU", (2,), 3), ("RESHAPE", (3,), 4)]
    graph = network([(6,), (2, 3), (3, 2), (3, 2), (6,)], rows, (4,))
    assert shares(graph) == [(0, 1, 2, 3, 4)]
    assert timeline(graph, None, IN_PLACE).usage == (6, 6, 6, 6)


def test_weights_count_where_they_are() -> None:
    graph = load_model("figure-1")
    each = [sum(graph.tensors[t].bytes for t in set(op.inputs) if graph.tensors[t].constant) for op in graph.operators]
    plain = timeline(graph).usage
    assert timeline(graph, None, Accounting(weights="streamed")).usage == tuple(map(sum, zip(plain, each, strict=True)))
    assert timeline(graph, None, Accounting(weights="resident")).usage == tuple(used + sum(each) for used in plain)
    order = (0, 3, 5, 1, 2, 4, 6)
    found = [r for r in timeline(graph, order, Accounting(weights="streamed")).residents if r.kind == "weights"]
    assert [(r.operator, r.bytes, r.first) for r in found] == [(i, each[i], s) for s, i in enumerate(order) if each[i]]
    with pytest.raises(UsageError, match="weights 'sram': must be one of flash, streamed, resident"):
        Accounting(weights="sram")


def test_nothing_is_shared_unless_asked_for() -> None:
    graph = load_model("mnasnet-w1.00-r128")
    assert sharing(graph, False).storage_of == tuple(range(len(graph.tensors)))
    assert all(not life.shared for life in lifetimes(graph)) and any(
        life.shared for life in lifetimes(graph, None, True)
    )


def assert_sound(found: Timeline, placed: Placed) -> None:
    """At every step all that is in use lies at aligned offsets, apart from each other, within the arena; the moves turn
    the offsets of one step into those of the next."""
    top = 0
    for step in range(len(found.order)):
        here = [(placed.offset(i, step), found.residents[i].bytes) for i in found.alive(step)]
        assert all(offset % placed.align == 0 <= offset for offset, _ in here)
        for (a, m), (b, n) in combinations([(a, m) for a, m in here if m], 2):
            assert a + m <= b or b + n <= a, (step, placed.allocator)
        top = max([top, *(offset + size for offset, size in here)])
        moved = {m.block: (m.source, m.target) for m in placed.moves if m.step == step}
        for i in set(found.alive(step)) & set(found.alive(step + 1)):
            if found.residents[i].bytes:
                stays = (placed.offset(i, step),) * 2
                assert moved.get(i, stays) == (placed.offset(i, step), placed.offset(i, step + 1))
    assert top <= placed.bytes < top + placed.align or (top == 0 == placed.bytes)
    assert placed.bytes >= placed.bound >= found.peak
    assert placed.tops(found.blocks, len(found.order)) == tuple(
        max((placed.offset(i, s) + found.residents[i].bytes for i in found.alive(s)), default=0)
        for s in range(len(found.order))
    )


@given(st.integers(1, 14), st.integers(0, 10**6), st.booleans(), st.sampled_from(WEIGHTS), st.sampled_from([1, 16, 64]))
@settings(max_examples=sample_size(60, 20))
def test_allocations_of_random_graphs_are_sound(
    count: int, seed: int, in_place: bool, weights: str, align: int
) -> None:
    graph, accounting = random_dag(count, seed), Accounting(in_place, weights)
    for order in (None, optimal_order(graph, 5, accounting).order):
        found = timeline(graph, order, accounting)
        for name in ALLOCATORS:
            assert_sound(found, allocate(found.blocks, name, align, 2))


@pytest.mark.parametrize("name", ["person_detect", "pretrainedResnet_quant", "swiftnet_vwwc19_uint8"])
@pytest.mark.parametrize("accounting", [Accounting(), IN_PLACE, Accounting(True, "streamed")])
def test_allocations_of_models_are_sound(name: str, accounting: Accounting) -> None:
    graph = load_model(shared_model(f"{name}.tflite"))
    found = timeline(graph, optimal_order(graph, 20, accounting).order, accounting)
    for allocator in ALLOCATORS:
        assert_sound(found, allocate(found.blocks, allocator))


def test_allocators_by_name() -> None:
    blocks = [ArenaBlock(10, 0, 1), ArenaBlock(20, 1, 2), ArenaBlock(30, 2, 2)]
    assert {name: allocate(blocks, name, 1).bytes for name in ALLOCATORS} == {
        "linear": 60, "greedy": 50, "dynamic": 50, "optimal": 50,
    }  # fmt: skip
    torn = [(3, 0, 0), (1, 0, 2), (2, 1, 1), (1, 1, 4), (1, 2, 2), (1, 2, 6), (2, 3, 4), (3, 5, 6)]
    proven = allocate([ArenaBlock(*row) for row in torn], "optimal", 1)
    assert (proven.bytes, proven.bound, proven.gap) == (5, 5, 0)  # 4 B are alive at most
    moved = allocate(blocks, "dynamic", 1)
    assert moved.moved_bytes == 20 and (moved.offset(1, 1), moved.offset(1, 2)) == (10, 0)
    with pytest.raises(UsageError, match="the dynamic allocator moves tensors"):
        _ = moved.offsets
    with pytest.raises(UsageError, match="allocator 'best': must be one of linear, greedy, dynamic, optimal"):
        allocate(blocks, "best")
    with pytest.raises(UsageError, match="an alignment of 12 B: must be a power of two"):
        allocate(blocks, "greedy", 12)

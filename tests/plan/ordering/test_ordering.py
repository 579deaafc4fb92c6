"""The order of least peak, against enumeration, a recursion of its own and published figures."""

from __future__ import annotations

import random

import pytest

from mcusim.model import load_model
from mcusim.plan.liveness.lifetimes import peak_bytes, usage_bytes
from mcusim.plan.ordering import Ordering, optimal_order
from mcusim.plan.ordering import order_search as search
from tests.support.cases import only_with_all_cases, sample_size, sampled
from tests.support.graphs.random_dags import Sketch, cell_network, nasnet, random_dag, wide_network
from tests.support.other_processes import LONGEST_WAIT
from tests.support.paths import shared_model
from tests.support.programs.order_oracles import least_by_enumeration, least_by_subsets, usage_by_walk

FILES = ("swiftnet_vwwc19_uint8", "kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8",
         "person_detect", "hello_world_int8")  # fmt: skip


def least(graph: object) -> Ordering:
    found = optimal_order(graph, LONGEST_WAIT)  # type: ignore[arg-type]
    assert found.peak == peak_bytes(graph, found.order) <= peak_bytes(graph)  # type: ignore[arg-type]
    assert found.bound <= found.peak
    assert usage_bytes(graph, found.order) == tuple(usage_by_walk(graph, found.order))  # type: ignore[arg-type]
    return found


def test_figure_1_and_appendix_a() -> None:
    """Liberis and Lane 2019: 5216 and 4960 B, and the bytes at every operator of both orders."""
    graph = load_model("figure-1")
    found = least(graph)
    assert (peak_bytes(graph), found.peak, found.optimal) == (5216, 4960, True)
    assert usage_bytes(graph) == (4704, 4704, 5216, 4160, 1280, 1024, 1024)
    papers = (0, 3, 5, 1, 2, 4, 6)
    assert usage_bytes(graph, papers) == (4704, 3648, 3904, 4960, 2336, 1024, 1024)
    assert peak_bytes(graph, papers) == found.peak


@pytest.mark.parametrize("name", FILES)
def test_every_model_has_a_proven_order(name: str) -> None:
    found = least(load_model(shared_model(f"{name}.tflite")))
    assert found.optimal
    if name == "swiftnet_vwwc19_uint8":  # 351 and 301 KB in the paper's Table 1
        assert found.peak == 301_056


@pytest.mark.parametrize("block", range(sample_size(10, 3)))
def test_random_graphs_against_all_orders(block: int) -> None:
    for seed in range(60 * block, 60 * block + 60):
        graph = random_dag(random.Random(seed).randint(1, 8), seed)
        found = least(graph)
        assert (found.peak, found.optimal) == (least_by_enumeration(graph), True), seed


@pytest.mark.parametrize("block", range(sample_size(10, 3)))
def test_random_graphs_against_a_recursion_over_subsets(block: int) -> None:
    for seed in range(1000 + 40 * block, 1040 + 40 * block):
        graph = random_dag(random.Random(seed).randint(7, 14), seed)
        found = least(graph)
        assert (found.peak, found.optimal) == (least_by_subsets(graph), True), seed


def test_the_two_oracles_agree() -> None:
    for seed in range(2000, 2050):
        graph = random_dag(random.Random(seed).randint(1, 7), seed)
        assert least_by_enumeration(graph) == least_by_subsets(graph), seed


@pytest.mark.parametrize("count", sampled([270, 560], 1))
def test_large_cell_networks_are_ordered_in_seconds(count: int) -> None:
    for seed in range(3):
        found = least(cell_network(count, seed))
        assert found.optimal


@only_with_all_cases
@pytest.mark.parametrize(("cells", "operators"), [(7, 302), (13, 560)])
def test_nasnet_has_a_proven_order(cells: int, operators: int) -> None:
    graph = nasnet(cells)
    found = optimal_order(graph, LONGEST_WAIT)
    assert len(graph.operators) == operators and found.optimal
    assert found.peak == max(usage_by_walk(graph, found.order)) < peak_bytes(graph)


def test_no_time_gives_the_best_so_far_and_a_bound() -> None:
    graph = cell_network(120, 2)
    hurried, proven = optimal_order(graph, 0), least(graph)
    assert hurried.peak <= peak_bytes(graph)
    assert hurried.bound <= proven.peak <= hurried.peak


@only_with_all_cases
@pytest.mark.parametrize(("count", "width"), [(100, 10), (300, 30), (3000, 30), (5_000, 2_500)])
def test_the_best_so_far_and_a_bound_where_the_search_cannot_end(count: int, width: int) -> None:
    graph = wide_network(count, width, 0)
    found = optimal_order(graph, 1)
    assert 0 < found.bound < found.peak <= peak_bytes(graph)
    assert max(usage_by_walk(graph, found.order)) == found.peak


@only_with_all_cases
def test_the_memory_of_the_search_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = wide_network(100, 10, 0)
    monkeypatch.setattr(search, "WIDE_BEAMS", ())
    monkeypatch.setattr(search, "BEAMS", (8,))
    bounds = []
    for most in (0, 1_000_000, 20_000_000):
        monkeypatch.setattr(search, "MOST_BYTES", most)
        found = optimal_order(graph, LONGEST_WAIT)
        assert found.states < 200_000 and not found.optimal
        bounds.append(found.bound)
    assert bounds == sorted(bounds) and bounds[0] < bounds[2]  # what it has seen by then still counts


def test_equal_peaks_keep_the_order_as_stored() -> None:
    sketch = Sketch(10)
    sketch.op([sketch.op([0], 10)], 10)
    assert optimal_order(sketch.graph()).order == (0, 1)


def test_odd_graphs() -> None:
    alone = Sketch(5, 7)
    first, second = alone.op([0], 100), alone.op([1], 3)
    assert least(alone.graph((first, second))).peak == 5 + 7 + 3 + 100 - 7  # the small one first
    assert least(Sketch(4).graph()).order == ()
    unread = Sketch(9)
    unread.op([0], 50, 0)
    unread.op([0], 20)
    assert least(unread.graph((3,))).peak == 59  # a result that nobody reads lives while it is made
    other = Sketch(8, 6)  # nobody reads the first input: whichever operator runs first ends it
    small, hidden = other.op([1], 2), other.op([1], 5)
    assert least(other.graph((1, small, other.op([hidden], 7)))).order == (1, 2, 0)
    twice = Sketch(8)
    out = twice.op([0, 0], 8)
    assert least(twice.graph((out, 0))).peak == 16  # an input that is an output stays

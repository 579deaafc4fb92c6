"""The order of least peak when operators run in place or weights need RAM, against all orders and all sets."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from mcusim.model import Graph, load_model
from mcusim.plan.liveness.accounting import Accounting, weights_bytes
from mcusim.plan.liveness.timeline import timeline
from mcusim.plan.ordering import Ordering, optimal_order
from tests.support.cases import few, sample_size, sampled
from tests.support.graphs.random_dags import Sketch, cell_network, random_dag
from tests.support.paths import shared_model
from tests.support.programs.order_oracles import least_by_enumeration, least_by_subsets, usage_by_walk

FILES = ("swiftnet_vwwc19_uint8", "kws_ref_model", "vww_96_int8", "pretrainedResnet_quant", "ad01_int8",
         "person_detect", "hello_world_int8")  # fmt: skip
COUNTED = [Accounting(True), Accounting(False, "streamed"), Accounting(True, "streamed")]
PLAIN = Accounting()


def least(graph: Graph, accounting: Accounting) -> Ordering:
    """The order found, whose every step has the bytes that a walk through it counts."""
    found = optimal_order(graph, 20, accounting)
    walked = usage_by_walk(graph, found.order, accounting.in_place, accounting.weights == "streamed")
    assert timeline(graph, found.order, accounting).usage == tuple(walked)
    assert found.bound <= found.peak == max(walked) <= timeline(graph, None, accounting).peak
    return found


def agrees(graph: Graph, oracle: Callable[[Graph, bool, bool], int], note: object) -> None:
    for accounting in COUNTED:
        found = least(graph, accounting)
        peak = oracle(graph, accounting.in_place, accounting.weights == "streamed")
        assert (found.peak, found.optimal) == (peak, True), (note, accounting)


@few(2)
@pytest.mark.parametrize("block", range(5))
def test_300_random_graphs_against_all_orders(block: int) -> None:
    for seed in range(60 * block, 60 * block + 60):
        agrees(random_dag(random.Random(seed).randint(1, 7), seed), least_by_enumeration, seed)


@pytest.mark.parametrize("block", range(sample_size(5, 2)))
def test_random_graphs_against_a_recursion_over_subsets(block: int) -> None:
    for seed in range(3000 + 40 * block, 3040 + 40 * block):
        agrees(random_dag(random.Random(seed).randint(7, 12), seed), least_by_subsets, seed)


@pytest.mark.parametrize("name", [*FILES, "figure-1"])
def test_every_model_has_a_proven_order(name: str) -> None:
    graph = load_model(name if name == "figure-1" else shared_model(f"{name}.tflite"))
    for accounting in COUNTED:
        assert least(graph, accounting).optimal


def test_the_random_graphs_show_what_sharing_saves() -> None:
    saved = []
    for seed in range(120):
        graph = random_dag(8, seed)
        plain, shared, streamed = (least(graph, one).peak for one in (PLAIN, *COUNTED[:2]))
        resident = optimal_order(graph, 20, Accounting(weights="resident")).peak
        assert shared <= plain <= streamed <= resident == plain + weights_bytes(graph)
        saved.append(shared < plain)
    assert sum(saved) > 40


def test_an_input_dies_at_the_sum_only_when_nobody_reads_it_later() -> None:
    sketch = Sketch(10)
    left, right = sketch.op([0], 10), sketch.op([0], 10)
    total = sketch.op([left, right], kind="ADD", shape=(10,))
    read = sketch.graph((sketch.op([total, left], 1),))
    assert timeline(read, None, Accounting(True)).usage == (20, 30, 20, 21)  # the sum lies where the right one was
    assert timeline(sketch.graph((total, left, right)), None, Accounting(True)).usage[2] == 30


def test_a_view_lives_as_long_as_what_it_shows() -> None:
    sketch = Sketch(10)
    view = sketch.op([0], kind="RESHAPE", shape=(1, 10))
    other = sketch.op([0], 4)
    relu = sketch.op([view], kind="RELU", shape=(1, 10))
    graph = sketch.graph((other, relu))
    assert timeline(graph, None, Accounting(True)).usage == (10, 14, 14)
    assert timeline(graph, (0, 2, 1), Accounting(True)).usage == (10, 20, 24)  # its bytes are still to be read
    assert least(graph, Accounting(True)).peak == 14


@few(1)
@pytest.mark.parametrize("accounting", COUNTED)
@pytest.mark.parametrize("count", sampled([270, 560], 1))
def test_large_cell_networks(count: int, accounting: Accounting) -> None:
    assert least(cell_network(count, 1), accounting).optimal

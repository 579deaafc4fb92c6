"""Lifetimes and the peak of live activations."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcusim.errors import UsageError
from mcusim.model import Graph, Operator, Tensor, load_model
from mcusim.plan import lifetimes, peak_bytes, usage_bytes
from tests.support.paths import shared_model

PEAKS = {
    "kws_ref_model.tflite": 16_000,
    "vww_96_int8.tflite": 55_296,
    "pretrainedResnet_quant.tflite": 49_152,
    "ad01_int8.tflite": 768,
    "swiftnet_vwwc19_uint8.tflite": 351_232,
}


def chain(sizes: list[int], edges: list[tuple[int, ...]], outputs: tuple[int, ...]) -> Graph:
    """Operator ``i`` writes tensor ``i + 1`` and reads the tensors ``edges[i]``; tensor 0 is the graph's input."""
    tensors = tuple(Tensor(i, f"t{i}", (size,), "int8") for i, size in enumerate(sizes))
    operators = tuple(Operator(i, "ADD", reads, (i + 1,)) for i, reads in enumerate(edges))
    return Graph("chain", tensors, operators, (0,), outputs, "0" * 64)


@pytest.mark.parametrize("name", PEAKS)
def test_peak_of_real_models(name: str) -> None:
    assert peak_bytes(load_model(shared_model(name))) == PEAKS[name]


def test_figure_1_of_liberis_and_lane() -> None:
    graph = load_model("figure-1")
    assert usage_bytes(graph) == (4704, 4704, 5216, 4160, 1280, 1024, 1024)
    order = (0, 3, 5, 1, 2, 4, 6)  # 1, 4, 6, 2, 3, 5, 7 in the paper's numbers
    assert usage_bytes(graph, order) == (4704, 3648, 3904, 4960, 2336, 1024, 1024)
    assert peak_bytes(graph, order) == 4960


def test_inputs_live_from_the_start_and_outputs_to_the_end() -> None:
    graph = chain([10, 20, 40, 80], [(0,), (1,), (0, 2)], (1, 3))
    assert [(x.tensor, x.first, x.last) for x in lifetimes(graph)] == [(0, 0, 2), (1, 0, 2), (2, 1, 2), (3, 2, 2)]
    assert usage_bytes(graph) == (30, 70, 150)


def test_a_result_that_no_operator_reads_lives_while_it_is_produced() -> None:
    graph = chain([1, 2, 4, 8], [(0,), (0,), (1,)], (3,))
    assert usage_bytes(graph) == (3, 7, 10)


@pytest.mark.parametrize(
    ("order", "reason"), [((0, 0, 1), "each of the 3 operators once"), ((2, 0, 1), "before it is produced")]
)
def test_an_impossible_order_is_refused(order: tuple[int, ...], reason: str) -> None:
    with pytest.raises(UsageError, match=reason):
        usage_bytes(chain([1, 2, 4, 8], [(0,), (1,), (2,)], (3,)), order)


@given(st.data())
def test_usage_is_what_is_needed_now_or_later(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 12))
    sizes = data.draw(st.lists(st.integers(1, 1000), min_size=count + 1, max_size=count + 1))
    edges = [tuple(data.draw(st.sets(st.integers(0, i), min_size=1, max_size=3))) for i in range(count)]
    graph = chain(sizes, edges, (count,))
    for step, used in enumerate(usage_bytes(graph)):
        born = {0, *range(1, step + 2)}
        later = {t for reads in edges[step:] for t in reads} | {step + 1, count}
        also = {0} if step == 0 else set()  # the input is there before anyone reads it
        assert used == sum(sizes[t] for t in born & (later | also))

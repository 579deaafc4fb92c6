"""Loads that a loop need not make one by one: a film has all of them made, and the run is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mcusim
from mcusim.model import Graph, Quantization
from tests.support.graphs.small_graphs import activation, convolution, one_operator, zeros

F746, F469, G474, L4R5 = "stm32f746g-disco", "stm32f469i-disco", "nucleo-g474re", "nucleo-l4r5zi"


def in_bytes(graph: Graph, kind: str) -> Graph:
    """The same of uint8, or of int8, with scales."""
    tensors = []
    for tensor in graph.tensors:
        if tensor.dtype == "int8":
            data = None if tensor.data is None else tensor.data.astype(kind)
            tensor = replace(tensor, dtype=kind, data=data, quantization=Quantization((0.1,), (0,)))  # noqa: PLW2901
        tensors.append(tensor)
    return replace(graph, tensors=tuple(tensors), sha256=kind)


GRAPHS = {
    "pointwise": convolution((1, 6, 5, 70), (9, 1, 1, 70), (1, 6, 5, 9)),
    "window": convolution((1, 7, 6, 20), (5, 3, 3, 20), (1, 7, 6, 5)),
    "fully connected": one_operator(
        "FULLY_CONNECTED", [activation((1, 300)), zeros((11, 300)), zeros((11,), "int32")], [activation((1, 11))]
    ),
    "matrices": one_operator(
        "BATCH_MATMUL", [activation((2, 4, 90)), zeros((2, 90, 6))], [activation((2, 4, 6))], adj_x=False, adj_y=False
    ),
}


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("replacement", ["lru", "random"])
@pytest.mark.parametrize(
    ("machine", "policy"),
    [(F746, "internal"), (F746, "external"), (F469, "external"), (G474, "internal"), (L4R5, "internal")],
)
@pytest.mark.parametrize("kind", ["uint8", "int8"])
def test_a_film_has_them_made_and_the_run_is_the_same(
    kind: str, machine: str, policy: str, replacement: str, name: str
) -> None:
    graph = in_bytes(GRAPHS[name], "int8" if name == "matrices" else kind)  # of which there are none of uint8
    keys = {"cache.data.replacement": replacement, "cache.data.size": "512 B"} if machine == F746 else {}
    plain, filmed = (
        mcusim.simulate(graph, machine, policy, kernels="reference-gcc12", overrides=keys, film=film)
        for film in (None, "0 ms to 20 ms")
    )
    assert plain.run is not None and filmed.film is not None and filmed.film.lost is None
    assert filmed.run == plain.run

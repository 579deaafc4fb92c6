"""The kernels of a compiled runtime against LiteRT's, byte for byte: random shapes, in place, by their own names."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pytest

from mcusim.kernels.calls import call_bytes as P
from mcusim.kernels.calls.filter_bytes import filter_bytes
from mcusim.kernels.kernel_set import load_set
from mcusim.model import Graph, Operator, geometry
from tests.support.kernels.kernel_case import Case
from tests.support.kernels.kernel_cases import inputs_for
from tests.support.kernels.kernel_guest import Guest, run_litert
from tests.support.kernels.wide_cases import wide

CORES = ("cortex-m4", "cortex-m7")
KINDS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED", "ADD")


class Loose(Guest):
    """Operands at odd addresses; a depthwise convolution over its input where it may; functions called by their own
    names. The scratch buffer is at a multiple of four."""

    loose, in_place = 0, False
    left_out: tuple[str, ...] = ()

    def reserve(self, size: int) -> int:
        self.loose -= 1
        return super().reserve(size + 4) + 1 + self.loose % 3 if self.loose >= 0 else super().reserve(size)

    def run(self, graph: Graph, data: list[Any], tile: Any = None, op: Operator | None = None) -> list[Any]:
        self.loose = len(graph.inputs) + 1
        return super().run(graph, data, tile, op)

    def _place(self, graph: Graph, op: Operator, data: list[Any], tile: Any) -> Any:
        places, outputs, scratch = super()._place(graph, op, data, tile)
        kernel = self.kernels.kernel(op.type, P.types(graph, op))
        if self.in_place and kernel.runs_in_place(geometry(graph, op)):
            size, low = outputs[0][1] - outputs[0][0], places.inputs[0]
            if size <= graph.tensors[op.inputs[0]].bytes:
                places = P.Places(
                    places.call, places.inputs, [low], places.filter, places.bias, places.multiplier, places.shift,
                    places.scratch,
                )  # fmt: skip
                self.core.poke(places.call, P.call_bytes(graph, op, places, tile))
                outputs = [(low, low + size)]
        return places, outputs, scratch

    def _calls(self, graph: Graph, op: Operator, places: P.Places, tile: Any) -> None:
        kernel = self.kernels.kernel(op.type, P.types(graph, op))
        called = kernel.without(self.left_out).called_for(geometry(graph, op)) if self.in_place else kernel
        self.call(called.symbol, places.call)


@cache
def guest(isa: str) -> Loose:
    return Loose(load_set("tinyengine"), isa)


WAYS: tuple[tuple[str, ...], ...] = ((), ("tiling",), ("unrolling", "tiling"))  # to call it straight, without these


def agree(graph: Graph, seed: int, isa: str, ways: Sequence[tuple[str, ...]] = WAYS[:1]) -> bool:
    """Whether LiteRT runs the graph; if so, all ways to call the kernel must give its bytes."""
    data = inputs_for(graph, seed)
    try:
        wanted = run_litert(graph, data)
    except (RuntimeError, ValueError):  # it refuses the scales
        return False
    for straight, left_out in ((False, ()), *((True, way) for way in ways)):
        guest(isa).in_place, guest(isa).left_out = straight, left_out
        for got, want in zip(guest(isa).run(graph, data), wanted, strict=True):
            shape = graph.tensors[graph.inputs[0]].shape
            how = f"in place: {straight}, without {left_out}"
            assert np.array_equal(got, want), f"{graph.operators[0]} of {shape}, seed {seed}, {how}"
    return True


@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("kind", KINDS)
def test_random_shapes_are_those_of_litert(kind: str, isa: str) -> None:
    ran = sum(agree(wide(kind, seed), seed, isa) for seed in range(24))
    assert ran >= 16


SHAPES = {  # kernel, stride, input, channels
    "1x1": (1, 1, (5, 7), 8, 10),
    "1x1 of 16": (1, 1, (4, 5), 16, 9),
    "1x1 of 24": (1, 1, (3, 3), 24, 6),
    "1x1 of 48": (1, 1, (3, 5), 48, 5),
    "1x1 of 13": (1, 1, (5, 5), 13, 7),
    "1x1 of stride 2": (1, 2, (7, 6), 12, 4),
    "3x3 of 3": (3, 2, (11, 10), 3, 6),
    "5x5 of 3": (5, 1, (9, 8), 3, 7),
    "3x3 of 8": (3, 1, (6, 9), 8, 5),
    "taps": (3, 1, (6, 5), 33, 3),
    "taps of 1x1, stride 2": (1, 2, (6, 5), 301, 3),
}


def window(kind: str, size: int, stride: int, shape: tuple[int, int], depth: int, channels: int, seed: int) -> Graph:
    """One convolution, every other one with outputs of the whole range of a byte."""
    c = Case(kind, "int8", 20_000 + seed)
    depthwise = kind == "DEPTHWISE_CONV_2D"
    source = c.activation((1, *shape, depth))
    weights = c.weights((1, size, size, depth) if depthwise else (channels, size, size, depth), channels, 3 * depthwise)
    options = {"padding": "SAME" if min(shape) < size else c.pick("SAME", "VALID"), "dilation_h": 1, "dilation_w": 1}
    options |= {"stride_h": stride, "stride_w": stride, "activation": "NONE" if seed % 2 else "RELU6"}
    options |= {"depth_multiplier": 1} if depthwise else {}
    scale = float(c.scales(source)[0] * max(c.scales(weights)) * 40 * size)
    return c.graph([source, weights, c.bias(source, weights, channels)], options, scale=scale)


@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("name", SHAPES)
def test_each_function_of_a_convolution(name: str, isa: str) -> None:
    for seed in range(4):
        assert agree(window("CONV_2D", *SHAPES[name], seed), seed, isa, WAYS[::2])


@pytest.mark.parametrize("isa", CORES)
@pytest.mark.parametrize("size", [3, 5, 7, 4])
@pytest.mark.parametrize("stride", [1, 2, 3])
def test_each_function_of_a_depthwise_convolution(size: int, stride: int, isa: str) -> None:
    for seed, shape in enumerate([(9, 12), (7, 7), (12, 3), (2, 11)]):
        assert agree(window("DEPTHWISE_CONV_2D", size, stride, shape, 5, 5, seed), seed, isa, WAYS)


def test_a_filter_with_channels_in_front() -> None:
    graph = window("DEPTHWISE_CONV_2D", 3, 1, (4, 4), 3, 3, 0)
    op = graph.operators[0]
    data = np.frombuffer(filter_bytes(graph, op, load_set("tinyengine").kernel(op.type)), np.int8).reshape(3, 3, 3)
    stored = graph.tensors[op.inputs[1]].data
    assert stored is not None and np.array_equal(data, np.moveaxis(stored[0], -1, 0))
    assert filter_bytes(graph, op, load_set("cmsis").kernel(op.type)) == stored.tobytes()

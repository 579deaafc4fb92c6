"""Channels that no input can change get figures for a kernel's quick way; what it gives is LiteRT's, sum by sum."""

from __future__ import annotations

import random
from dataclasses import replace
from fractions import Fraction
from math import floor

import numpy as np
import pytest

from mcusim.errors import ModelError
from mcusim.kernels.calls.call_bytes import channel_arrays
from mcusim.kernels.calls.rescaling import parameters, slow_channels
from mcusim.kernels.kernel_set import load_set
from mcusim.model import Graph, Operator, Quantization, Tensor, geometry
from tests.support.kernels.odd_channels import with_odd_channels

DEPTH, OUT = 24, 40
SET = load_set("tinyengine")


def network(seed: int, kind: str = "CONV_2D") -> Graph:
    """One convolution of OUT channels."""
    rng = np.random.default_rng(seed)
    channels = OUT if kind == "CONV_2D" else DEPTH
    shape = (OUT, 1, 1, DEPTH) if kind == "CONV_2D" else (1, 3, 3, DEPTH)
    scales = tuple(float(scale) for scale in np.float32(2.0 ** rng.uniform(-9, -7, channels)))
    options = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "dilation_h": 1, "dilation_w": 1, "activation": "NONE"}
    tensors = (
        Tensor(0, "in", (1, 4, 4, DEPTH), "int8", Quantization((0.05,), (int(rng.integers(-128, 128)),))),
        Tensor(1, "w", shape, "int8", Quantization(scales, (0,) * channels), rng.integers(-127, 128, shape, np.int8)),
        Tensor(2, "b", (channels,), "int32", None, rng.integers(-3000, 3000, channels, np.int32)),
        Tensor(3, "out", (1, 4, 4, channels), "int8", Quantization((0.1,), (7,))),
    )
    op = Operator(0, kind, (0, 1, 2), (3,), options | ({"depth_multiplier": 1} if kind != "CONV_2D" else {}))
    return Graph("one", tensors, (op,), (0,), (3,), "")


def litert(value: int, multiplier: int, shift: int) -> int:
    """``MultiplyByQuantizedMultiplier``, from its definition."""
    product = floor(Fraction(value * 2 ** max(shift, 0) * multiplier, 2**31) + Fraction(1, 2))
    size = floor(Fraction(abs(product), 2 ** max(-shift, 0)) + Fraction(1, 2))
    return size if product >= 0 else -size


def quick(value: int, multiplier: int, shift: int) -> int:
    """``finished()`` of tinyengine.h without the output's offset."""
    assert -(2**30) < value < 2**30 and -31 < shift < 0
    product = floor(Fraction(2 * value * multiplier, 2**32) + Fraction(1, 2))
    return floor(Fraction((product + (-1 if product < 0 else 0)) // 2 ** (-shift - 1) + 1, 2))


def byte(value: int) -> int:
    return max(-128, min(127, value + 7))


@pytest.mark.parametrize("kind", ["CONV_2D", "DEPTHWISE_CONV_2D"])
def test_every_channel_gives_what_litert_gives(kind: str) -> None:
    kernel, draw, changed, away = SET.kernel(kind), random.Random(kind), 0, 0
    for seed in range(60):
        graph = with_odd_channels(network(seed, kind), seed)
        op = graph.operators[0]
        own, theirs = parameters(graph, op, kernel), channel_arrays(graph, op)
        assert own is not None and theirs is not None
        if own.bias is None:
            continue
        ours = zip(*(np.frombuffer(part, "<i4").tolist() for part in own[:3]), strict=True)
        before = zip(*(np.frombuffer(part, "<i4").tolist() for part in theirs), strict=True)
        weights, zero = graph.tensors[1].data, graph.tensors[0].quantization
        assert weights is not None and zero is not None and graph.tensors[2].data is not None
        for channel, (mine, its) in enumerate(zip(ours, before, strict=True)):
            bias, taps = (
                int(graph.tensors[2].data[channel]),
                weights[..., channel] if kind[0] == "D" else weights[channel],
            )
            if own.slow == 0:  # what quick_channel() of tinyengine.h asks for
                assert -31 < mine[2] < 0 and abs(mine[0]) < 1 << 29
            if mine == (bias, *its):
                continue
            changed, away = changed + 1, away + (mine[1] > 0)
            ends = np.where(taps > 0, 127, -128), np.where(taps > 0, -128, 127)
            inputs = [*ends, *(np.array([draw.randint(-128, 127) for _ in range(taps.size)]) for _ in range(20))]
            for values in inputs:
                products = int((taps.astype(int).ravel() * (values.ravel() - zero.zero_points[0])).sum())
                assert byte(quick(mine[0] + products, *mine[1:])) == byte(litert(bias + products, *its)), (
                    seed,
                    channel,
                )
    assert changed > 100 and away > 20  # many of them away from the zero point


def test_channels_outside_of_the_quick_way_are_counted() -> None:
    def slow(graph: Graph, kind: str) -> int:
        op = graph.operators[0]
        return slow_channels(graph, op, SET.kernel(kind), geometry(graph, op))

    def scaled(graph: Graph, count: int, real: float) -> Graph:
        filters = graph.tensors[1]
        assert filters.quantization is not None
        scales = (real * 0.1 / 0.05,) * count + filters.quantization.scales[count:]
        found = Quantization(scales, (0,) * len(scales))
        return replace(graph, tensors=(graph.tensors[0], replace(filters, quantization=found), *graph.tensors[2:]))

    conv, depthwise = network(1), network(1, "DEPTHWISE_CONV_2D")
    assert slow(conv, "CONV_2D") == slow(depthwise, "DEPTHWISE_CONV_2D") == 0
    for real in (2.0**-80, 2.0**-33, 2.0**-31.5):  # dead ones
        assert slow(scaled(conv, 3, real), "CONV_2D") == slow(scaled(depthwise, 3, real), "DEPTHWISE_CONV_2D") == 0
    for real in (0.6, 1.0, 3.9):  # all filters of a convolution take the same way
        assert slow(scaled(conv, 3, real), "CONV_2D") == OUT
        assert slow(scaled(depthwise, 3, real), "DEPTHWISE_CONV_2D") == 3
    bare = replace(conv, operators=(replace(conv.operators[0], inputs=(0, 1)),))
    assert slow(bare, "CONV_2D") == OUT
    # the plain function of a set without a quick way
    op = conv.operators[0]
    assert slow_channels(scaled(conv, 3, 2.0), op, load_set("cmsis").kernel("CONV_2D"), geometry(conv, op)) == 0


def test_a_bias_that_other_scales_share_stays() -> None:
    graph = with_odd_channels(network(3), 3)
    filters = graph.tensors[1]
    assert filters.quantization is not None
    dead = replace(filters, quantization=Quantization((2.0**-60,) * OUT, (0,) * OUT))
    first = graph.operators[0]
    tensors = (graph.tensors[0], dead, *graph.tensors[2:], replace(graph.tensors[3], index=4, name="more"))
    other = replace(filters, index=5)
    second = replace(first, index=1, inputs=(0, 5, 2), outputs=(4,))
    both = replace(graph, tensors=(*tensors, other), operators=(replace(first, inputs=(0, 1, 2)), second))
    own = parameters(both, both.operators[0], SET.kernel("CONV_2D"))
    assert own is not None and graph.tensors[2].data is not None
    assert own.bias == graph.tensors[2].data.tobytes() and own.slow == OUT


def test_a_bias_that_an_operator_of_one_input_reads_stays() -> None:
    graph = with_odd_channels(network(3), 3)
    filters = graph.tensors[1]
    dead = replace(filters, quantization=Quantization((2.0**-60,) * OUT, (0,) * OUT))
    tensors = (graph.tensors[0], dead, *graph.tensors[2:], replace(graph.tensors[2], index=4, name="same", data=None))
    reader = Operator(1, "RESHAPE", (2,), (4,), {})
    both = replace(graph, tensors=tensors, operators=(replace(graph.operators[0], inputs=(0, 1, 2)), reader))
    own = parameters(both, both.operators[0], SET.kernel("CONV_2D"))
    assert own is not None and own.slow == OUT


@pytest.mark.parametrize("count", [0, 1, OUT + 1])
def test_a_bias_of_another_length_is_refused(count: int) -> None:
    graph = network(3)
    bias = replace(graph.tensors[2], shape=(count,), data=np.zeros(count, np.int32))
    graph = replace(graph, tensors=(*graph.tensors[:2], bias, *graph.tensors[3:]))
    with pytest.raises(ModelError, match=f"has {count} elements for {OUT} output channels"):
        parameters(graph, graph.operators[0], SET.kernel("CONV_2D"))


def test_a_depthwise_window_of_many_taps_has_the_plain_way() -> None:
    """Of 128 pairs of taps at most the quick way's sums fit."""
    graph = network(3, "DEPTHWISE_CONV_2D")
    op, kernel = graph.operators[0], SET.kernel("DEPTHWISE_CONV_2D")
    g = replace(geometry(graph, op), kernel_h=16, kernel_w=16)
    assert slow_channels(graph, op, kernel, g) == 0
    assert slow_channels(graph, op, kernel, replace(g, kernel_w=17)) == g.out_c

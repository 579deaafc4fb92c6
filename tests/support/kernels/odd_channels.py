"""Networks with output channels as training leaves them: dead ones, and others that a quick rescaling may not take."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from mcusim.model.graph import Graph, Operator, Quantization, Tensor

MOST_BIAS = (1 << 31) - 1
# of real multipliers, as powers of two: what of the scale is lost, what is shifted by 31, what is enlarged
FAINT, BY_31, ENLARGED = (-80.0, -32.5), (-32.0, -31.0), (-1.0, 2.0)


class Channel:
    """What a channel is to have: a real multiplier (None: its own), a bias (None: its own), and whether its weights are
    zero."""

    def __init__(self, multiplier: float | None = None, bias: int | None = None, zero: bool = False) -> None:
        self.multiplier, self.bias, self.zero = multiplier, bias, zero


def _scaled(draw: random.Random, powers: tuple[float, float]) -> Channel:
    return Channel(2.0 ** draw.uniform(*powers))


def _faint(draw: random.Random) -> Channel:
    return _scaled(draw, FAINT)


def _by_31(draw: random.Random) -> Channel:
    return _scaled(draw, BY_31)


def _enlarged(draw: random.Random) -> Channel:
    return _scaled(draw, ENLARGED)


def _by_0(draw: random.Random) -> Channel:
    return _scaled(draw, (-1.0, 0.0))


def _biased(draw: random.Random) -> Channel:
    """A bias around 2^29 or 2^30, as a converter's limit leaves it, and a multiplier that brings it to a byte."""
    bias = draw.choice((1 << 29, 1 << 30, draw.randint(1 << 28, MOST_BIAS >> 1))) + draw.choice((-1, 0, 1))
    return Channel(draw.uniform(0.2, 150) / bias, bias * draw.choice((-1, 1)))


def _without_weights(draw: random.Random) -> Channel:
    return Channel(zero=True)


KINDS: tuple[Callable[[random.Random], Channel], ...] = (
    _faint, _faint, _by_31, _by_0, _enlarged, _biased, _biased, _without_weights,
)  # fmt: skip


def with_odd_channels(graph: Graph, seed: int) -> Graph:
    """``graph`` with such channels in about two of three convolutions: one, some or all of them; a depthwise one
    in ten has no bias, which LiteRT's CONV_2D has to have."""
    draw, tensors, operators = random.Random(f"channels {seed}"), list(graph.tensors), list(graph.operators)
    for op in graph.operators:
        if op.type not in ("CONV_2D", "DEPTHWISE_CONV_2D") or tensors[op.inputs[0]].dtype != "int8":
            continue
        if draw.random() < 0.65:
            count = tensors[op.inputs[2]].elements
            kind = draw.choice(KINDS)
            chosen = draw.sample(range(count), draw.choice((1, 1, min(3, count), count // 3 + 1, count)))
            for channel in chosen:
                same = kind if draw.random() < 0.7 else draw.choice(KINDS)
                _put(tensors, op, channel, same(draw))
        if op.traits.depthwise and draw.random() < 0.1:
            operators[op.index] = replace(op, inputs=op.inputs[:2])
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), sha256=f"{graph.sha256} {seed}")


def _put(tensors: list[Tensor], op: Operator, channel: int, wanted: Channel) -> None:
    source, filters, bias = (tensors[t] for t in op.inputs[:3])
    output = tensors[op.outputs[0]]
    assert source.quantization and filters.quantization and output.quantization
    assert filters.data is not None and bias.data is not None
    axis = 3 if op.traits.depthwise else 0
    scales = [*filters.quantization.scales] * (bias.elements // len(filters.quantization.scales))
    weights, biases = filters.data.copy(), bias.data.copy()
    if wanted.multiplier is not None:
        scales[channel] = float(
            np.float32(wanted.multiplier * output.quantization.scales[0] / source.quantization.scales[0])
        )
    if wanted.bias is not None:
        biases[channel] = wanted.bias
    if wanted.zero:
        weights[(slice(None),) * axis + (channel,)] = 0
    found = Quantization(tuple(scales), (0,) * len(scales), axis)
    tensors[filters.index] = replace(filters, data=weights, quantization=found)
    products = tuple(float(np.float32(source.quantization.scales[0] * scale)) for scale in scales)
    tensors[bias.index] = replace(bias, data=biases, quantization=Quantization(products, (0,) * len(scales), 0))

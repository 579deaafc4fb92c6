"""Random int8 networks of all that a compiled runtime specialises or absorbs, quantised as the zoo's are."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from mcusim.model.geometry import geometry, graph_macs
from mcusim.model.graph import Graph, Operator, Quantization, Tensor
from mcusim.model.zoo.architectures import Architecture
from mcusim.model.zoo.builder import build_layers
from mcusim.model.zoo.explicit_pads import with_pads
from mcusim.model.zoo.names import ZooName
from mcusim.model.zoo.quantization import ZooQuantizer

Layers = list[tuple[Any, ...]]
PADS = ("none", "strided", "all", "exact")  # which windows have a PAD of their own before them
MOST_MACS = 4_000_000
SAME = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "RESHAPE", "MEAN", "CONCATENATION")


@dataclass(frozen=True)
class _Drawn(ZooName):
    layers: tuple[tuple[Any, ...], ...] = field(default=())
    size: tuple[int, int, int] = (24, 24, 3)
    activation: str = "RELU6"

    @property
    def architecture(self) -> Architecture:
        return Architecture("random", self.layers, self.activation, rounding="up-1", input=self.size)


def random_network(seed: int) -> Graph:
    """One of at most 4 M multiply-accumulates: inverted blocks, any windows one after the other, or SmallCifar's form.

    Channels may be odd, filters of a convolution 1x1 to 7x7; PADs as exporters write them or none, zero points of
    activations anywhere near those of the zoo, a MEAN for the global pool in every other network, and in every third
    some activations as float32 on their way.
    """
    for attempt in range(99):
        draw = random.Random(f"{seed}/{attempt}")
        layers = draw.choice((_blocks, _blocks, _windows, _windows, _cifar))(draw)
        size = draw.randint(9, 40), draw.randint(9, 40), draw.choice((1, 3, 3, 3, 4, 5))
        name = _Drawn(f"random-{seed}", layers=tuple(layers), size=size, activation=draw.choice(("RELU6", "RELU")))
        bare = _without_zeros(build_layers(name))
        if graph_macs(bare) <= MOST_MACS:
            graph = _shifted(ZooQuantizer(bare).run(), draw)
            graph = _with_means(graph) if draw.random() < 0.5 else graph
            graph = _padded(graph, draw.choice(PADS))
            return with_floats(graph, draw) if seed % 3 == 1 else graph
    raise AssertionError(f"no small network of seed {seed}")


def _without_zeros(graph: Graph) -> Graph:
    """``graph`` with ones for zeros in filters: a channel of zeros has no scale."""
    tensors = list(graph.tensors)
    for t in graph.tensors:
        if t.data is not None and t.dtype == "int8":
            values = np.where(t.data == 0, np.int8(1), t.data)
            values.setflags(write=False)
            tensors[t.index] = replace(t, data=values)
    return replace(graph, tensors=tuple(tensors))


def _channels(draw: random.Random) -> int:
    return draw.choice((4, 8, 8, 16, 16, 24, 48, draw.randint(1, 40), 2 * draw.randint(1, 12) + 1))


def _end(draw: random.Random) -> Layers:
    last: Layers = [("softmax",)] if draw.random() < 0.3 else []
    classes = draw.choice((2, 3, 10, draw.randint(2, 33)))
    if draw.random() < 0.6:
        head: Layers = [("global_pool",), ("classes", classes), ("flatten",)]
        return head + last if draw.random() < 0.5 else [("global_pool",), ("flatten",), ("dense", classes), *last]
    return [("flatten",), ("dense", classes), *last]


def _pool(draw: random.Random) -> tuple[Any, ...]:
    return draw.choice(("max_pool", "average_pool")), draw.choice((2, 2, 3)), draw.choice((1, 2, 2))


def _blocks(draw: random.Random) -> Layers:
    layers: Layers = [("conv", draw.choice((3, 3, 3, 5)), draw.choice((1, 2, 2)), _channels(draw))]
    for _ in range(draw.randint(2, 5)):
        expand, kernel = draw.choice("13346"), draw.choice((3, 3, 5, 7))
        layers.append(("block", expand, kernel, _channels(draw), draw.choice((1, 1, 2)), draw.randint(1, 2)))
        if draw.random() < 0.15:
            layers.append(_pool(draw))
    return layers + _end(draw)


def _windows(draw: random.Random) -> Layers:
    layers: Layers = []
    for _ in range(draw.randint(3, 8)):
        kind = draw.choice(("conv", "conv", "conv", "depthwise", "depthwise", "pool", "join"))
        if kind == "conv":
            kernel = draw.choice((1, 1, 3, 3, 5, 7, (draw.randint(1, 7), draw.randint(1, 7))))
            layers.append(("conv", kernel, draw.choice((1, 1, 1, 2, 3)), _channels(draw)))
        elif kind == "depthwise":
            layers.append(("depthwise", draw.choice((1, 2, 3, 3, 5, 7)), draw.choice((1, 1, 2, 3))))
        elif kind == "join":
            name = f"at {len(layers)}"
            layers += [("save", name), ("conv", draw.choice((1, 3)), 1, _channels(draw)), ("concatenate", name)]
        else:
            layers.append(_pool(draw))
    return layers + _end(draw)


def _cifar(draw: random.Random) -> Layers:
    layers: Layers = []
    for _ in range(draw.randint(2, 3)):
        layers += [
            ("conv", draw.choice((3, 5, 5, 7)), 1, draw.choice((8, 16, 32))),
            ("max_pool", draw.choice((2, 3)), 2),
        ]
    return [*layers, ("flatten",), ("dense", draw.choice((10, 10, 7)))]


def _shifted(graph: Graph, draw: random.Random) -> Graph:
    """``graph`` with other zero points of activations; tensors between which values are copied have one quantisation,
    that of the widest."""
    group = list(range(len(graph.tensors)))
    for op in graph.operators:
        if op.type in SAME:
            ends = {group[t] for t in (*op.inputs, *op.outputs) if not graph.tensors[t].constant}
            group = [min(ends) if one in ends else one for one in group]
    fixed = {t for op in graph.operators if op.type == "SOFTMAX" for t in op.outputs}
    shifts = [draw.randint(0, 9) if draw.random() < 0.7 else 0 for _ in group]
    tensors, operators = list(graph.tensors), graph.operators
    for t in graph.tensors:
        if t.quantization and not t.constant and t.index not in fixed:
            members = [one.quantization for one in graph.tensors if group[one.index] == group[t.index]]
            scale, zero = max((q.scales[0], q.zero_points[0]) for q in members if q)
            found = Quantization((scale,), (zero + shifts[group[t.index]],))
            tensors[t.index] = replace(t, quantization=found)
    for op in operators:
        if op.traits.parametric:
            _rescale_bias(tensors, op)
    return _changed(graph, tensors, operators, f"shifted {shifts}")


def _rescale_bias(tensors: list[Tensor], op: Operator) -> None:
    source, filters, bias = (tensors[t] for t in op.inputs)
    assert source.quantization and filters.quantization
    scales = tuple(float(np.float32(source.quantization.scales[0] * one)) for one in filters.quantization.scales)
    found = Quantization(scales, (0,) * len(scales), 0)
    tensors[bias.index] = replace(bias, quantization=found)


def _with_means(graph: Graph) -> Graph:
    """``graph`` with MEANs over height and width for pools of the whole map."""
    tensors, operators = list(graph.tensors), list(graph.operators)
    for op in graph.operators:
        shape = tensors[op.outputs[0]].shape
        if op.type == "AVERAGE_POOL_2D" and shape[1:3] == (1, 1) and op.options["padding"] == "VALID":
            axes = _constant(tensors, [1, 2])
            operators[op.index] = Operator(op.index, "MEAN", (op.inputs[0], axes), op.outputs, {"keep_dims": True})
    return _changed(graph, tensors, operators, "with means")


def _padded(graph: Graph, form: str) -> Graph:
    if form == "exact":
        return _with_exact_pads(graph)
    if form == "none":
        return graph
    last = [geometry(graph, op) for op in graph.operators if op.traits.parametric and op.traits.windowed][-1:]
    bare = all(g.kernel_h == g.kernel_w == g.stride_h == g.stride_w == 1 for g in last)  # a classifier, which has none
    return with_pads(graph, everywhere=form == "all" and bare)


def _with_exact_pads(graph: Graph) -> Graph:
    """``graph`` with what SAME pads as a PAD, one row more at the end than at the beginning where that is odd."""
    tensors, operators = list(graph.tensors), list[Operator]()
    for op in graph.operators:
        source, options = op.inputs[0], dict(op.options)
        g = geometry(graph, op) if op.traits.parametric and op.traits.windowed else None
        if g and g.pad_top + g.pad_bottom + g.pad_left + g.pad_right:
            first = tensors[source]
            n, h, w, c = first.shape
            amounts = [[0, 0], [g.pad_top, g.pad_bottom], [g.pad_left, g.pad_right], [0, 0]]
            table = _constant(tensors, amounts)
            shape = (n, h + sum(amounts[1]), w + sum(amounts[2]), c)
            source = len(tensors)
            tensors.append(replace(first, index=source, name=f"pad_{len(operators)}", shape=shape))
            operators.append(Operator(len(operators), "PAD", (first.index, table), (source,), {}))
            options["padding"] = "VALID"
        operators.append(replace(op, index=len(operators), inputs=(source, *op.inputs[1:]), options=options))
    return _changed(graph, tensors, operators, "with exact pads")


def with_floats(graph: Graph, draw: random.Random) -> Graph:
    """``graph`` with two of its activations dequantised, and quantised again as they were, while an input with an odd
    number of bytes, more than theirs, waits for the last operator."""
    tensors, operators = list(graph.tensors), list[Operator]()
    inner = [op.index for op in graph.operators[:-1] if tensors[op.outputs[0]].dtype == "int8"]
    chosen = draw.sample(inner, min(2, len(inner)))
    for op in graph.operators:
        if op.index not in chosen:
            operators.append(replace(op, index=len(operators)))
            continue
        made = tensors[op.outputs[0]]
        same = _appended(tensors, replace(made, name=f"{made.name[:40]}_before"))
        words = _appended(tensors, replace(made, name=f"{made.name[:40]}_words", dtype="float32", quantization=None))
        ends = (op.inputs, (same,)), ((same,), (words,)), ((words,), (made.index,))
        for name, (sources, targets) in zip((op.type, "DEQUANTIZE", "QUANTIZE"), ends, strict=True):
            options = op.options if name == op.type else {}
            operators.append(Operator(len(operators), name, sources, targets, options))
    longest = max(tensors[graph.operators[index].outputs[0]].elements for index in chosen)
    waits = replace(tensors[graph.inputs[0]], name="waits", shape=(1, 1, 1, 4 * longest + 2 * draw.randint(1, 9) + 1))
    ends = _appended(tensors, waits), _appended(tensors, replace(waits, name="waited"))
    operators.append(Operator(len(operators), "RELU", ends[:1], ends[1:], {}))
    both = replace(graph, inputs=(*graph.inputs, ends[0]), outputs=(*graph.outputs, ends[1]))
    return _changed(both, tensors, operators, f"with floats after {sorted(chosen)}")


def _appended(tensors: list[Tensor], tensor: Tensor) -> int:
    tensors.append(replace(tensor, index=len(tensors)))
    return len(tensors) - 1


def _constant(tensors: list[Tensor], values: Any) -> int:
    data = np.array(values, np.int32)
    data.setflags(write=False)
    tensors.append(Tensor(len(tensors), f"constant_{len(tensors)}", data.shape, "int32", data=data))
    return len(tensors) - 1


def _changed(graph: Graph, tensors: Sequence[Tensor], operators: Sequence[Operator], how: str) -> Graph:
    digest = hashlib.sha256(f"{graph.sha256} {how}".encode()).hexdigest()
    return replace(graph, tensors=tuple(tensors), operators=tuple(operators), sha256=digest)

"""Graphs with random connections, sizes and types, and networks of cells."""

from __future__ import annotations

import random

import numpy as np

from mcusim.model import Graph, Operator, Tensor

FORMS = ("mixed", "chain", "fan", "branches", "parts", "layers")


class Sketch:
    """Tensors and operators, one after the other."""

    def __init__(self, *inputs: int) -> None:
        self.tensors: list[Tensor] = []
        self.inputs = tuple(self._tensor((size,)) for size in inputs)
        self.operators: list[Operator] = []

    def _tensor(self, shape: tuple[int, ...], constant: bool = False) -> int:
        data = np.zeros(shape, np.int8) if constant else None
        self.tensors.append(Tensor(len(self.tensors), f"t{len(self.tensors)}", shape, "int8", data=data))
        return len(self.tensors) - 1

    @property
    def activations(self) -> list[int]:
        return [t.index for t in self.tensors if not t.constant]

    def op(
        self, sources: list[int], *sizes: int, kind: str = "CONV_2D", weights: int = 0, shape: tuple[int, ...] = ()
    ) -> int:
        """An operator with outputs of ``sizes``, or one of ``shape``; the index of its last output."""
        constants = [self._tensor((weights,), constant=True)] if weights else []
        outputs = [self._tensor(one) for one in ([shape] if shape else [(size,) for size in sizes])]
        self.operators.append(Operator(len(self.operators), kind, (*sources, *constants), tuple(outputs)))
        return outputs[-1]

    def any_op(self, rng: random.Random, sources: list[int], pool: list[int]) -> int:
        """An operator of any type on ``sources``, half of them of a type that can share bytes; an ADD takes its second
        input from ``pool``."""
        shape = self.tensors[sources[0]].shape
        other = (1, *shape) if len(shape) == 1 else shape[1:]
        choice = rng.random()
        if choice < 0.15:
            return self.op(sources[:1], kind="RESHAPE", shape=other)
        if choice < 0.3:
            return self.op(sources[:1], kind=rng.choice(("RELU", "TANH")), shape=shape)
        if choice < 0.5:
            same = [t for t in pool if self.tensors[t].shape in (shape, other)] or sources[:1]
            second = rng.choice(same)
            return self.op([sources[0], second], kind="ADD", shape=max(shape, self.tensors[second].shape, key=len))
        if choice < 0.65:
            return self.op(sources, *(rng.randint(0, 60) for _ in range(rng.randint(2, 3))), kind="SPLIT")
        size = rng.choice((0, self.tensors[sources[0]].bytes, rng.randint(1, 60), rng.randint(1, 60)))
        return self.op(sources, size, weights=rng.choice((0, rng.randint(1, 40))))

    def graph(self, outputs: tuple[int, ...] | None = None) -> Graph:
        read = {t for op in self.operators for t in op.inputs}
        ends = outputs if outputs is not None else tuple(t for t in self.activations if t not in read)
        return Graph("sketch", tuple(self.tensors), tuple(self.operators), self.inputs, ends, "")


def random_dag(count: int, seed: int) -> Graph:
    """``count`` operators in one of the forms; some tensors are empty, some results and inputs nobody reads, some
    outputs are read as well, some inputs are outputs."""
    rng = random.Random(seed)
    form = FORMS[seed % len(FORMS)]
    sketch = Sketch(*(rng.randint(1, 50) for _ in range(3 if form == "parts" else rng.randint(1, 2))))
    parts = [[t] for t in sketch.inputs]
    for i in range(count):
        known = parts[i % 3] if form == "parts" else sketch.activations
        before = len(sketch.tensors)
        sketch.any_op(rng, _sources(rng, form, known, i), known)
        if form == "parts":  # they share nothing
            known += [t for t in sketch.activations if t >= before]
    ends = sketch.graph().outputs
    more = [t for t in sketch.activations if rng.random() < 0.08]
    return sketch.graph(tuple(dict.fromkeys([*(t for t in ends if rng.random() < 0.8), *more])) or ends[-1:])


def _sources(rng: random.Random, form: str, known: list[int], i: int) -> list[int]:
    """What operator ``i`` of a graph of that form reads, of the tensors ``known``."""
    if form == "chain":  # one after the other, now and then with one from before
        return list(dict.fromkeys([known[-1], *rng.sample(known, rng.choice((0, 0, 1)))]))
    if form == "fan":  # all read one result, every fifth joins what there is
        return known[1:2] or known[:1] if i % 5 < 4 else rng.sample(known, min(4, len(known)))
    near = {"branches": 3, "layers": 5}.get(form, len(known))
    return rng.sample(known[-near:], min(near, len(known), rng.choice((1, 1, 2, 3))))


def wide_network(count: int, width: int, seed: int) -> Graph:
    """Layers of ``width`` operators, each on one to three results of the layer before: too many sets to look at."""
    rng = random.Random(seed)
    sketch = Sketch(100)
    layer = [0]
    while len(sketch.operators) < count:
        sources = [rng.sample(layer, min(len(layer), rng.randint(1, 3))) for _ in range(width)]
        layer = [sketch.op(one, rng.randint(1, 1000)) for one in sources]
    return sketch.graph()


def cell_network(count: int, seed: int) -> Graph:
    """Cells of five blocks on the two results before, as NASNet has them; at least ``count`` operators."""
    rng = random.Random(seed)
    sketch = Sketch(32 * 32 * 16)
    side, channels, last, older = 32, 16, 0, 0
    while len(sketch.operators) < count:
        if rng.random() < 0.2 and side > 4:
            side, channels = side // 2, channels * 2
        size, weights = side * side * channels, channels * channels
        hidden = [sketch.op([one], size, weights=weights) for one in (last, older)]
        used: set[int] = set()
        for _ in range(5):
            pair = [rng.choice(hidden), rng.choice(hidden)]
            used.update(pair)
            ends = []
            for branch in pair:
                ends.append(branch)
                for _ in range(rng.choice((0, 1, 2, 4))):
                    ends[-1] = sketch.op([ends[-1]], size, weights=weights)
            hidden.append(sketch.op(ends, size, kind="ADD"))
        rest = [t for t in hidden if t not in used]
        last, older = sketch.op(rest, size * len(rest), kind="CONCATENATION"), last
    return sketch.graph()


def nasnet(cells: int) -> Graph:
    """Normal cells of NASNet-A (Zoph et al. 2018, figure 4) one after the other, of half the size after each third."""
    sketch, side, channels = Sketch(32 * 32 * 3), 32, 16

    def conv(source: int, kind: str = "CONV_2D") -> int:
        return sketch.op([source], side * side * channels, kind=kind, weights=channels if kind == "CONV_2D" else 0)

    def relu(source: int) -> int:
        return sketch.op([source], kind="RELU", shape=sketch.tensors[source].shape)

    def separable(source: int) -> int:
        for _ in range(2):
            source = conv(conv(relu(source)))
        return source

    before = last = conv(0)
    for cell in range(cells):
        if cell % max(1, cells // 3) == max(1, cells // 3) - 1:
            side, channels = side // 2, channels * 2
        h, older = conv(relu(last)), conv(relu(before))
        pool = "AVERAGE_POOL_2D"
        pairs = [(separable(h), h), (separable(older), separable(h)), (conv(h, pool), older)]
        pairs += [(conv(older, pool), conv(older, pool)), (separable(older), separable(older))]
        sums = [sketch.op(list(pair), kind="ADD", shape=(side * side * channels,)) for pair in pairs]
        before, last = last, sketch.op([older, *sums], 6 * side * side * channels, kind="CONCATENATION")
    return sketch.graph()
